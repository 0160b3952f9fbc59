//! All CUDA: the driver table, streams, events, the resolver. Must not import span, collector or report.

mod backlog;
mod booking;
mod calls;
mod captured;
mod context;
mod contexts;
mod device;
mod doze;
mod driver;
mod durations;
mod floor;
mod graph_calls;
mod handover;
mod inside;
mod kept;
mod lanes;
mod lent;
#[cfg(all(test, loom))]
mod loom_tests;
mod met;
mod open;
mod pending;
mod rates;
mod record;
mod replay;
mod resolver;
mod stream;
mod sys;
mod thread_context;
mod timing;

pub(crate) use driver::Driver;
pub use driver::replace as replace_functions;
pub(crate) use lanes::Held;
pub use lanes::Streams;
pub(crate) use open::{GpuThread, Open};
pub(crate) use replay::{Replay, Replays};
pub use stream::{HasStream, StreamRef};
pub(crate) use timing::{Late, Place, Timing};
