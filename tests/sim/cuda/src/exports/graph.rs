//! Graph Management of the driver API reference.

use super::driver_functions;
use crate::abi::{Destructor, Handle, Host, Out};
use crate::capture::Node;
use crate::codes::Code;
use crate::{state, stream_queue};

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
        out.put(state::ready()?.instantiate(graph)?)
    }

    /// Replays the nodes. On a capturing stream the graph is captured as one node.
    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let mut state = stream_queue::ready_for(stream, |state| state.launch_operations(executable))?;
        let stream = state.stream_of_current(stream)?;
        state.replay(executable, stream)
    }

    fn cuGraphUpload(executable: Handle, stream: Handle) {
        let mut state = state::ready()?;
        state.stream_of_current(stream)?;
        state.executables.get(executable).map(drop)
    }

    fn cuGraphExecDestroy(executable: Handle) {
        state::ready()?.remove_executable(executable)
    }

    fn cuGraphDestroy(graph: Handle) {
        let mut state = state::ready()?;
        state.whole(graph)?;
        state.remove_graph(graph)
    }

    /// The number of nodes where there is no room given, else the nodes and how many were written.
    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, number: Out<usize>) {
        let mut all = state::ready()?.nodes_of(graph)?;
        if nodes.is_null() {
            return number.put(all.len());
        }
        number.exchange(|room| {
            all.truncate(room);
            let written = all.len();
            nodes.put_all(all);
            Ok(written)
        })
    }

    fn cuGraphNodeGetType(node: Handle, kind: Out<i32>) {
        let state = state::ready()?;
        kind.put(match state.node(node)? {
            Node::Launch(_) => 0,
            Node::Upload { .. } | Node::Download { .. } | Node::Copy { .. } => 1,
            Node::Fill { .. } => 2,
            Node::Child(_) => 4,
            Node::Stamp(_) => 7,
        })
    }

    /// INVALID_VALUE for a node of another kind.
    fn cuGraphEventRecordNodeGetEvent(node: Handle, event: Out<Handle>) {
        let state = state::ready()?;
        match state.node(node)? {
            Node::Stamp(of) => event.put(*of),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        state::ready()?.set_event(executable, node, event)
    }

    /// The one flag, `CU_GRAPH_USER_OBJECT_MOVE`, gives the caller's own references away.
    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        if flags > 1 || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        state::ready()?.give_object(graph, object, count, flags == 1)
    }

    /// The one flag, `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, must be set.
    fn cuUserObjectCreate(
        out: Out<Handle>,
        data: Host,
        destroy: Option<extern "C" fn(Host)>,
        references: u32,
        flags: u32,
    ) {
        if destroy.is_none() || references == 0 || flags != 1 {
            return Err(Code::INVALID_VALUE);
        }
        out.put(state::ready()?.create_object(Destructor(destroy, data), references))
    }

    fn cuUserObjectRelease(object: Handle, count: u32) {
        let mut state = state::ready()?;
        state.objects.get(object)?;
        state.release_later(vec![object; count as usize], 0);
        Ok(())
    }
}
