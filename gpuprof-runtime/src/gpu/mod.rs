//! All CUDA: the driver table, streams, events and the resolver.

mod adaptive_sampling;
mod child_time;
mod driver;
mod events;
mod frame;
pub(crate) mod frame_stack;
mod gpu_thread;
#[cfg(all(test, loom))]
mod loom_tests;
mod nesting;
mod resolver;
mod sampling;
mod stream;
mod timer;

pub(crate) use driver::initialized::is_initialized;
pub(crate) use driver::table::Driver;
pub use driver::table::replace as replace_functions;
pub(crate) use frame::Open;
pub(crate) use gpu_thread::GpuThread;
pub use stream::parameter_search::{
    Carried, CarrierNo, CarrierYes, IsStream, Probe, StreamNo, StreamYes,
};
pub(crate) use stream::resolve::Held;
pub use stream::resolve::Streams;
pub use stream::stream_ref::{HasStream, StreamRef};
pub(crate) use timer::{Place, Timing};
