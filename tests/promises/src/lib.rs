//! Promises that are tested on two devices: on the simulated one under a virtual clock, where every
//! time has one exact value, and on a GPU.
//!
//! Each is one function. It takes a [`World`] and a [`Tolerance`], and returns what it
//! [observed](Observation). `tests/suite` asserts that every observation is as promised;
//! `tests/gpu-checks` makes a row of each.

// Test code: the names say what the items are.
#![allow(missing_docs)]

pub mod attribution;
mod blocked_streams;
pub mod captures;
pub mod contexts;
mod cupti_records;
pub mod devices;
pub mod graph_nodes;
pub mod graphs;
mod known_spans;
pub mod late_records;
pub mod memory;
mod observation;
pub mod open_calls;
pub mod shared_streams;
pub mod stream_choice;
pub mod streams;
pub mod timed_streams;
mod tolerance;
mod two_threads;
mod world;

pub use blocked_streams::measured;
pub use cupti_records::{Kernels, kernels_of};
pub use known_spans::{KnownSpans, errors, function, observe, times};
pub use observation::{Observation, Observed, assert_kept, time};
pub use tolerance::Tolerance;
pub use two_threads::on_two_threads;
pub use world::{Done, World, failed_in};
