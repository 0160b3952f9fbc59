//! All CUDA: the driver table, streams, events, the resolver. Must not import span, collector or report.

mod calls;
mod context;
mod device;
mod doze;
mod driver;
mod durations;
mod floor;
mod lanes;
#[cfg(all(test, loom))]
mod loom_tests;
mod open;
mod pending;
mod record;
mod resolver;
mod stream;
mod sys;
mod timing;

pub(crate) use driver::Driver;
pub(crate) use lanes::Held;
pub use lanes::Streams;
pub(crate) use open::{GpuThread, Open};
pub use stream::{HasStream, StreamRef};
pub(crate) use timing::{Late, Place, Timing};
