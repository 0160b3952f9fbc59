//! GPU time: streams, events and the resolver.

pub mod bench_support;
mod events;
#[cfg(all(test, loom))]
mod loom_tests;
mod resolver;
mod stream;
mod thread;
mod timing;

pub use stream::stream_ref::{HasStream, StreamRef};
pub(crate) use thread::frame_stack;
pub(crate) use thread::{CallStreams, GpuThread, OpenGpuSpan, SiteAndPath};
pub use thread::{
    Carried, CarrierNo, CarrierYes, IsStream, ParameterProbe, StreamNo, StreamYes, Streams,
};
pub(crate) use timing::Timing;
