//! What runs on the program's threads: the streams that a thread has used, its open calls, and both
//! ends of a timed call.

pub(in crate::gpu) mod call_streams;
pub(crate) mod frame_stack;
pub(in crate::gpu) mod gpu_thread;
pub(in crate::gpu) mod hold_streams;
pub(in crate::gpu) mod inherit;
pub(in crate::gpu) mod local_streams;
pub(in crate::gpu) mod open_gpu_span;
pub(in crate::gpu) mod parameter_search;
pub(in crate::gpu) mod recent_costs;
pub(in crate::gpu) mod span_streams;
pub(in crate::gpu) mod span_timing;
pub(in crate::gpu) mod start_events;

pub(crate) use call_streams::CallStreams;
pub(crate) use gpu_thread::GpuThread;
pub use hold_streams::Streams;
pub(crate) use open_gpu_span::OpenGpuSpan;
pub use parameter_search::{
    Carried, CarrierNo, CarrierYes, IsStream, ParameterProbe, StreamNo, StreamYes,
};
pub(crate) use start_events::SiteAndPath;
