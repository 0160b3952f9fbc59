//! The resolver: the thread that reads the times of event pairs once the GPU has passed them.

mod anchors;
pub(in crate::gpu) mod complete;
mod context_clocks;
mod event_times;
mod handle;
mod open_spans;
mod passed;
mod recorded_spans;
pub(in crate::gpu) mod span_receiver;
mod stream_order;
pub(in crate::gpu) mod thread;
