//! Driver behaviour that the documentation does not specify.
//!
//! gpuprof relies on some of these results: those are required, and the check fails if a driver
//! differs. The others are only reported; the simulated driver (tests/sim/cuda/OPEN.md) repeats
//! what they found on a device. No span is open here, except where its effect is the question.

mod capture_rules;
mod event_states;
mod exit_handlers;
mod function_table;
mod initialization;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DriverError};

use super::TestProgram;
use crate::check::Check;
use crate::device::Gpu;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "capture-rules",
        promise: "gpuprof's calls beside a GLOBAL capture succeed and leave it valid.",
        limit: Duration::from_secs(60),
        run: capture_rules::run,
    },
    Check {
        name: "events",
        promise: "Status codes for events recorded in a capture, never recorded, or created \
                  without timing; a stream's own handle needs no current context.",
        limit: Duration::from_secs(60),
        run: event_states::run,
    },
    Check {
        name: "exit-handlers",
        promise: "The driver works in an exit handler registered after cuInit.",
        limit: Duration::from_secs(60),
        run: exit_handlers::run,
    },
    Check {
        name: "cpu-run",
        promise: "A run counts as one on the CPU until it initializes CUDA.",
        limit: Duration::from_secs(60),
        run: initialization::run,
    },
];

/// The test programs of these checks.
pub(crate) const PROGRAMS: &[TestProgram] = &[
    ("exit-handlers", exit_handlers::program),
    ("cpu-run", initialization::program),
];

/// The raw stream handle.
fn handle(stream: &Arc<CudaStream>) -> function_table::Handle {
    stream.cu_stream() as function_table::Handle
}

/// Duration of the kernel behind which a queue is filled.
const BUSY: Duration = Duration::from_millis(400);
/// A call that takes at least this long has waited. More than a scheduling delay, less than
/// [`BUSY`].
const WAITED: Duration = Duration::from_millis(30);

/// The number of times that `operation` can be queued on `stream` behind a running kernel before it
/// waits for that kernel; at most `enough`.
///
/// # Errors
/// The driver's.
pub(super) fn measure_queue_room(
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
