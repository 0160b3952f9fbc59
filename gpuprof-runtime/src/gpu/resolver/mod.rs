//! The resolver: the thread that reads the times of event pairs once the GPU has passed them.

mod anchors;
pub(in crate::gpu) mod complete;
pub(in crate::gpu) mod event_overhead;
mod event_times;
mod handle;
pub(in crate::gpu) mod handshake;
mod open_spans;
mod passed;
mod places;
mod recorded_spans;
pub(in crate::gpu) mod source;
pub(in crate::gpu) mod thread;
mod timeline;
