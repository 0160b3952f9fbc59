//! CUDA graphs: calls captured into them, and timing their replays.

pub(in crate::gpu) mod call_nodes;
pub(in crate::gpu) mod capture;
pub(in crate::gpu) mod event_pair;
pub(in crate::gpu) mod replay;
