//! The profile of gpuprof and everything that is made from it: the [`profile`] and the settings
//! are plain data, and each output is a function of a [`profile::Profile`].
//!
//! Nothing in this crate measures or needs CUDA. Programs use the crate `gpuprof`, which re-exports
//! what they need.

#![forbid(unsafe_code)]
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

mod call_paths;
pub mod collectives;
#[doc(hidden)]
pub mod columns;
#[cfg(feature = "analysis")]
pub mod compare;
pub mod csv;
#[cfg(feature = "demangle")]
pub mod demangle;
pub mod diagnostic;
#[cfg(feature = "html")]
mod escape;
mod figures;
#[cfg(feature = "table")]
pub mod findings;
pub mod folded;
pub mod histogram;
#[cfg(feature = "html")]
pub mod html;
pub mod json;
mod json_writer;
pub mod libcupti_paths;
pub mod live;
#[cfg(feature = "analysis")]
pub mod merge;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod occupancy;
#[cfg(feature = "table")]
#[doc(hidden)]
pub mod peak_shares;
#[cfg(feature = "pprof")]
pub mod pprof;
pub mod profile;
pub mod sanitize;
pub mod setting_values;
#[doc(hidden)]
pub mod sorting;
pub mod sparse_histogram;
#[cfg(feature = "table")]
#[doc(hidden)]
pub mod stall_reasons;
#[cfg(feature = "table")]
pub mod table;
pub mod trace;
pub mod variables;
#[cfg(any(feature = "analysis", feature = "html", feature = "pprof"))]
mod wall_clock;
