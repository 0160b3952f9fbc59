//! What the driver answers where its documents say nothing, and what its calls cost.
//!
//! gpuprof rests on some of these answers: those are wanted, and the check fails where a driver
//! gives others. The rest is told, for whoever builds on it next. No span is open here but where
//! one is asked about.

mod capture_rules;
mod destroyed_context;
mod event_costs;
mod event_states;
mod exit_handlers;
mod functions;
pub(super) mod graph_costs;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DriverError};

use super::Scene;
use crate::check::Check;
use crate::device::Gpu;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "capture-rules",
        promise: "The calls that gpuprof makes beside a GLOBAL capture are answered and leave it \
            whole.",
        limit: Duration::from_secs(60),
        run: capture_rules::run,
    },
    Check {
        name: "events",
        promise: "What events answer that were not recorded as they should be.",
        limit: Duration::from_secs(60),
        run: event_states::run,
    },
    Check {
        name: "gone-contexts",
        promise: "What an event answers once its context is destroyed.",
        limit: Duration::from_secs(120),
        run: destroyed_context::run,
    },
    Check {
        name: "exit-handlers",
        promise: "An exit handler that was registered after cuInit finds the driver alive.",
        limit: Duration::from_secs(60),
        run: exit_handlers::run,
    },
    Check {
        name: "driver-costs",
        promise: "What the event calls cost, how fine they measure, and how much a queue holds.",
        limit: Duration::from_secs(120),
        run: event_costs::run,
    },
    Check {
        name: "graph-costs",
        promise: "Giving a graph other events to record waits for no launch; what launches cost, \
            and how many a queue holds.",
        limit: Duration::from_secs(120),
        run: graph_costs::run,
    },
];

/// The programs of these checks.
pub(crate) const SCENES: &[Scene] = &[
    ("exit-handlers", exit_handlers::scene),
    ("gone-query", |world| {
        destroyed_context::scene(world, destroyed_context::QUERY)
    }),
    ("gone-elapsed", |world| {
        destroyed_context::scene(world, destroyed_context::ELAPSED)
    }),
    ("gone-record", |world| {
        destroyed_context::scene(world, destroyed_context::RECORD)
    }),
    ("gone-destroy", |world| {
        destroyed_context::scene(world, destroyed_context::DESTROY)
    }),
    ("gone-query-pending", |world| {
        destroyed_context::scene(world, destroyed_context::QUERY_PENDING)
    }),
    ("gone-destroy-pending", |world| {
        destroyed_context::scene(world, destroyed_context::DESTROY_PENDING)
    }),
];

/// The raw handle of a stream.
fn handle(stream: &Arc<CudaStream>) -> functions::Handle {
    stream.cu_stream() as functions::Handle
}

/// How long the kernel runs behind which a queue is filled.
const BUSY: Duration = Duration::from_millis(400);
/// A call that takes this long has waited. Above what a scheduler takes away, and below [`BUSY`].
const WAITED: Duration = Duration::from_millis(30);

/// How often `operation` can be put on `stream` behind a kernel that runs before it waits for that
/// kernel; at most `enough`.
///
/// # Errors
/// The driver's.
pub(super) fn room(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    enough: usize,
    mut operation: impl FnMut() -> Result<(), DriverError>,
) -> Result<usize, DriverError> {
    stream.synchronize()?;
    gpu.spin(stream, BUSY.as_nanos() as u64)?;
    let mut count = 0;
    while count < enough {
        let began = Instant::now();
        operation()?;
        if began.elapsed() > WAITED {
            break;
        }
        count += 1;
    }
    stream.synchronize()?;
    Ok(count)
}

/// The value in the middle; NaN where there is none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
