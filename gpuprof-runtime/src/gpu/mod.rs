//! GPU time: streams, events and the resolver.

pub mod bench_support;
mod events;
mod frame;
pub(crate) mod frame_stack;
mod gpu_thread;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod pool_memory;
mod pool_readings;
mod recent_costs;
mod resolver;
mod span_timing;
mod start_events;
mod stream;
mod timing;

pub(crate) use frame::OpenSpan;
pub(crate) use gpu_thread::GpuThread;
pub(crate) use start_events::Place;
pub(crate) use stream::call_streams::CallStreams;
pub use stream::parameter_search::{
    Carried, CarrierNo, CarrierYes, IsStream, Probe, StreamNo, StreamYes,
};
pub use stream::resolve::Streams;
pub use stream::stream_ref::{HasStream, StreamRef};
pub(crate) use timing::Timing;
