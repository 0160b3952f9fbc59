//! The run time of gpuprof. Programs use the crate `gpuprof`, which re-exports what is public here.
//!
//! For each call, the guard in `span` updates the thread's counters in `stats`. If the call has a
//! stream, `gpu` also records an event pair, which the resolver reads. The `collector` builds a
//! [`profile::Profile`] from both; `session` returns it to the program or writes it as a report at
//! exit.

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

pub use gpuprof_report::diagnostic::{Diagnostic, Severity};
pub use gpuprof_report::profile;
pub use gpuprof_report::setting_values::{
    Counters, CuptiMode, Mode, Output, Sampling, SessionError, WrongCounters,
};
pub use gpuprof_report::trace;

mod clock;
mod collector;
mod cupti;
mod diagnostic_lines;
mod driver;
mod gpu;
#[doc(hidden)]
pub use gpu::bench_support;
#[cfg(feature = "inject")]
#[doc(hidden)]
pub mod injection;
#[doc(hidden)]
pub mod macro_support;
#[doc(hidden)]
pub mod nvml;
mod nvtx;
#[cfg(feature = "inject")]
mod nvtx_ranges;
mod os;
mod recorder;
mod session;
mod settings;
mod site;
mod span;
mod stats;
mod sync;
#[cfg(feature = "tracing")]
mod tracing_layer;

/// Metrics for Prometheus.
#[cfg(feature = "metrics")]
pub mod metrics {
    pub use crate::session::metrics_api::{Collector, prometheus_text};
}

/// Spans of `tracing` as functions.
#[cfg(feature = "tracing")]
pub mod tracing {
    pub use crate::tracing_layer::{
        CallRule, FilteredLayer, Layer, LayerBuilder, SpanFilter, layer,
    };
}

pub use gpu::{HasStream, StreamRef};
pub use session::{
    Session, SessionBuilder, collect, collect_trace, on_diagnostic, reset, set_default_stream,
    set_recording, snapshot, step, with_stream,
};
pub use span::thread_state::current_span::{CurrentSpan, current};
