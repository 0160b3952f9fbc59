//! All CUDA: the driver table, streams, events, graphs and the resolver.

mod adaptive_sampling;
mod child_time;
mod driver;
mod events;
mod frame;
pub(crate) mod frame_stack;
mod graph;
#[cfg(all(test, loom))]
mod loom_tests;
mod resolver;
mod stream;
mod timer;

pub(crate) use driver::table::Driver;
pub use driver::table::replace as replace_functions;
pub(crate) use frame::{GpuThread, Open};
pub(crate) use graph::replay::{Replay, Replays};
pub(crate) use stream::resolve::Held;
pub use stream::resolve::Streams;
pub use stream::stream_ref::{HasStream, StreamRef};
pub(crate) use timer::{Place, Timing};
