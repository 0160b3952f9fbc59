//! All CUDA: the driver table, streams, events, the resolver. Must not import span, collector or report.

mod context;
mod device;
mod driver;
mod floor;
mod pending;
mod resolver;
mod stream;
mod sys;
mod timing;

pub(crate) use driver::Driver;
pub use stream::{HasStream, StreamRef};
pub use timing::Streams;
pub(crate) use timing::{Begun, GpuThread, Held, Place, Scope, Timing};
