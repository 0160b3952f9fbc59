//! The resolver: the thread that reads the times of event pairs once the GPU has passed them.

pub(in crate::gpu) mod channel;
pub(in crate::gpu) mod complete;
pub(in crate::gpu) mod event_overhead;
mod handle;
pub(in crate::gpu) mod handshake;
pub(in crate::gpu) mod queue;
pub(in crate::gpu) mod thread;
