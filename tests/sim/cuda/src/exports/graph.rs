//! Graph Management of the driver API reference.

use super::driver_functions;
use crate::abi::{Destructor, Handle, HostPointer, Out};
use crate::graph_copies::UpdateResult;
use crate::objects::Operation;
use crate::result_codes::Code;
use crate::state::{self, State};
use crate::stream_queue;

/// The four `CUDA_GRAPH_INSTANTIATE_FLAG_*`.
const FLAGS: u64 = 15;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` with `_DEVICE_LAUNCH`, which exclude each
/// other.
const EXCLUSIVE: u64 = 1 | 4;

driver_functions! {
    fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: Handle, flags: u64) {
        if flags & !FLAGS != 0 || flags & EXCLUSIVE == EXCLUSIVE {
            return Err(Code::INVALID_VALUE);
        }
        out.write(state::lock_initialized()?.instantiate(graph)?)
    }

    fn cuGraphClone(out: Out<Handle>, original: Handle) {
        out.write(state::lock_initialized()?.clone_graph(original)?)
    }

    /// GRAPH_EXEC_UPDATE_FAILURE if the two graphs do not have the same kinds of nodes in the same
    /// order; the result says why.
    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Out<UpdateResult>) {
        let found = state::lock_initialized()?.update_executable(executable, graph)?;
        result.write(found)?;
        if found.is_success() { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    /// Nodes run in the order in which they were added: the dependencies are not looked at.
    fn cuGraphAddChildGraphNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: HostPointer,
        count: usize,
        child: Handle,
    ) {
        let _ = (dependencies, count);
        node.write(state::lock_initialized()?.add_child_graph(graph, child)?)
    }

    /// Not on a capturing stream.
    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let operations = |state: &State| state.launch_operations(executable);
        let mut state = stream_queue::lock_with_room_for(stream, operations)?;
        let stream = state.resolve_stream_of_current_context(stream)?;
        state.launch_graph(executable, stream)
    }

    fn cuGraphUpload(executable: Handle, stream: Handle) {
        let mut state = state::lock_initialized()?;
        state.resolve_stream_of_current_context(stream)?;
        state.executables.get(executable).map(drop)
    }

    fn cuGraphExecDestroy(executable: Handle) {
        state::lock_initialized()?.remove_executable(executable)
    }

    fn cuGraphDestroy(graph: Handle) {
        let mut state = state::lock_initialized()?;
        state.check_graph_is_complete(graph)?;
        state.remove_graph(graph)
    }

    /// The number of nodes if `nodes` is null, else the nodes and how many were written.
    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, number: Out<usize>) {
        let mut all = state::lock_initialized()?.create_node_handles(graph)?;
        if nodes.is_null() {
            return number.write(all.len());
        }
        number.exchange(|capacity| {
            all.truncate(capacity);
            let written = all.len();
            nodes.write_all(all);
            Ok(written)
        })
    }

    fn cuGraphNodeGetType(node: Handle, kind: Out<i32>) {
        let state = state::lock_initialized()?;
        kind.write(match state.graph_node(node)? {
            Operation::Launch(_) => 0,
            Operation::Upload { .. } | Operation::Download { .. } | Operation::Copy { .. } => 1,
            Operation::Memset { .. } => 2,
            Operation::ChildGraph { .. } => 4,
            Operation::EventRecord(_) => 7,
        })
    }

    /// INVALID_VALUE for a node of another kind.
    fn cuGraphEventRecordNodeGetEvent(node: Handle, event: Out<Handle>) {
        let state = state::lock_initialized()?;
        match state.graph_node(node)? {
            Operation::EventRecord(recorded) => event.write(*recorded),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        state::lock_initialized()?.set_node_event(executable, node, event)
    }

    /// The only flag, `CU_GRAPH_USER_OBJECT_MOVE`, moves the caller's own references.
    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        if flags > 1 || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        state::lock_initialized()?.retain_for_graph(graph, object, count, flags == 1)
    }

    /// The only flag, `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, must be set.
    fn cuUserObjectCreate(
        out: Out<Handle>,
        data: HostPointer,
        destroy: Option<extern "C" fn(HostPointer)>,
        references: u32,
        flags: u32,
    ) {
        if destroy.is_none() || references == 0 || flags != 1 {
            return Err(Code::INVALID_VALUE);
        }
        let destructor = Destructor(destroy, data);
        out.write(state::lock_initialized()?.create_user_object(destructor, references))
    }

    fn cuUserObjectRelease(object: Handle, count: u32) {
        let mut state = state::lock_initialized()?;
        state.user_objects.get(object)?;
        state.release_later(vec![object; count as usize], 0);
        Ok(())
    }
}
