//! Benchmarks of CUDA code. Programs use the crate `gpuprof` with its feature `bench`, which
//! re-exports this one.
//!
//! A benchmark is a closure that launches work on one stream. It is called until the median of its
//! GPU time is known well enough:
//!
//! - *cold*: one call a sample, with the L2 cache overwritten before it;
//! - *hot*: as many calls in a row as make the cost of two events small;
//! - *graph*: the same calls, captured once and replayed.
//!
//! In each, the stream waits until everything of the sample is queued, so that no time of the host
//! is in it.

#![deny(unsafe_code)]

mod bench;
mod clocks;
mod closure_return;
mod compare;
mod error;
mod gate;
mod harness;
mod measure;
mod measurement;
mod memory_meter;
mod output_agreement;
mod profile;
#[doc(hidden)]
pub mod registry;
mod sampler;
mod statistics;
mod stopping;
mod table;
mod variant;

pub use bench::{Bench, bench};
pub use closure_return::ClosureReturn;
pub use compare::{Comparing, Comparison, Requirement, Speedup};
pub use error::BenchError;
pub use harness::main;
pub use measurement::{CallMode, Measurement, Results, Stopped};
pub use output_agreement::{Agreement, Tolerance, ValuePair};
pub use profile::to_profile;
pub use stopping::StoppingRule;
pub use variant::Variant;
