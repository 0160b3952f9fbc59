//! What the driver answers where its documents say nothing, and what its calls cost.
//!
//! gpuprof rests on some of these answers: those are wanted, and the check fails where a driver
//! gives others. The rest is told, for whoever builds on it next. No span is open here but where
//! one is asked about.

mod calls;
mod capturing;
mod costs;
mod events;
mod gone;
mod handlers;
pub(super) mod replays;

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
        run: capturing::run,
    },
    Check {
        name: "events",
        promise: "What events answer that were not recorded as they should be.",
        limit: Duration::from_secs(60),
        run: events::run,
    },
    Check {
        name: "gone-contexts",
        promise: "What an event answers once its context is destroyed.",
        limit: Duration::from_secs(120),
        run: gone::run,
    },
    Check {
        name: "exit-handlers",
        promise: "An exit handler that was registered after cuInit finds the driver alive.",
        limit: Duration::from_secs(60),
        run: handlers::run,
    },
    Check {
        name: "driver-costs",
        promise: "What the event calls cost, how fine they measure, and how much a queue holds.",
        limit: Duration::from_secs(120),
        run: costs::run,
    },
    Check {
        name: "graph-costs",
        promise: "Giving a graph other events to record waits for no launch; what launches cost, \
            and how many a queue holds.",
        limit: Duration::from_secs(120),
        run: replays::run,
    },
];

/// The programs of these checks.
pub(crate) const SCENES: &[Scene] = &[
    ("exit-handlers", handlers::scene),
    ("gone-query", |world| gone::scene(world, gone::QUERY)),
    ("gone-elapsed", |world| gone::scene(world, gone::ELAPSED)),
    ("gone-record", |world| gone::scene(world, gone::RECORD)),
    ("gone-destroy", |world| gone::scene(world, gone::DESTROY)),
    ("gone-query-pending", |world| {
        gone::scene(world, gone::QUERY_PENDING)
    }),
    ("gone-destroy-pending", |world| {
        gone::scene(world, gone::DESTROY_PENDING)
    }),
];

/// The raw handle of a stream.
fn handle(stream: &Arc<CudaStream>) -> calls::Handle {
    stream.cu_stream() as calls::Handle
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
