//! The run time of gpuprof. Programs use the crate `gpuprof`, which re-exports what is public here.
//!
//! The way of a call: `span` (guard) → the thread's counters (`stats`) and, with a stream, `gpu` (events, resolver) →
//! `collector` (the one global) → [`profile`] (plain data) → `report` (outputs), at `exit` or when asked.

// The profiled program must never fail because of gpuprof.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::print_stdout,
        clippy::print_stderr
    )
)]

pub use gpuprof_report::profile;

#[cfg(feature = "enable")]
mod clock;
#[cfg(feature = "enable")]
mod collector;
#[cfg(feature = "enable")]
mod cupti;
#[cfg(feature = "enable")]
mod gpu;
#[cfg(feature = "enable")]
#[doc(hidden)]
pub mod macro_support;
#[cfg(feature = "enable")]
#[doc(hidden)]
pub mod nvml;
#[cfg(feature = "enable")]
mod nvtx;
#[cfg(feature = "enable")]
mod os;
#[cfg(feature = "enable")]
mod session;
#[cfg(feature = "enable")]
mod settings;
#[cfg(feature = "enable")]
mod site;
#[cfg(feature = "enable")]
mod span;
#[cfg(feature = "enable")]
mod stats;
#[cfg(feature = "enable")]
mod sync;

#[cfg(feature = "enable")]
pub use gpu::{HasStream, StreamRef};
#[cfg(feature = "enable")]
pub use session::{
    Session, SessionBuilder, SessionError, collect, on_profile_ready, reset, snapshot, step,
};
#[cfg(feature = "enable")]
pub use settings::Schedule;
#[cfg(feature = "enable")]
pub use settings::{Mode, Output, Sort};
#[cfg(feature = "enable")]
pub use span::graph_launch::Graph;
#[cfg(feature = "enable")]
pub use span::scope::with_stream;
