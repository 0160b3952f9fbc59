//! Graph Management of the driver API reference.

use super::driver_functions;
use crate::abi::{Handle, Out};
use crate::codes::Code;
use crate::state;

/// The four `CUDA_GRAPH_INSTANTIATE_FLAG_*`.
const FLAGS: u64 = 15;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` with `_DEVICE_LAUNCH`, which exclude each other.
const EXCLUSIVE: u64 = 1 | 4;

driver_functions! {
    fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: Handle, flags: u64) {
        if flags & !FLAGS != 0 || flags & EXCLUSIVE == EXCLUSIVE {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = state::ready()?;
        let graph = state.graphs.get(graph)?.clone();
        out.put(state.executables.insert(graph))
    }

    /// Replays the nodes. On a capturing stream they are captured as nodes of that capture.
    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let mut state = state::ready()?;
        let stream = state.stream_of_current(stream)?;
        let nodes = state.executables.get(executable)?.nodes.clone();
        nodes.into_iter().try_for_each(|node| state.issue(stream, node))
    }

    fn cuGraphUpload(executable: Handle, stream: Handle) {
        let mut state = state::ready()?;
        state.stream_of_current(stream)?;
        state.executables.get(executable).map(drop)
    }

    fn cuGraphExecDestroy(executable: Handle) {
        state::ready()?.executables.remove(executable).map(drop)
    }

    fn cuGraphDestroy(graph: Handle) {
        state::ready()?.graphs.remove(graph).map(drop)
    }
}
