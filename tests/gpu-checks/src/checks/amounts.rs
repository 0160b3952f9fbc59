//! Promise: a stated amount that is not a number, negative or infinite is counted and left out, and
//! rates are those of the other calls.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::gpu_profile;

use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::known_durations::{function, measured};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "amounts",
    promise: "Invalid amounts are counted and left out of rates.",
    limit: Duration::from_secs(60),
    run,
}];

const BYTES: f64 = 1e6;
const KERNEL_NS: u64 = 1_000_000;

#[gpu_profile(name = "states its bytes", bytes = bytes)]
fn states(gpu: &Gpu, stream: &Arc<CudaStream>, bytes: f64) -> Result<(), DriverError> {
    gpu.spin(stream, KERNEL_NS)
}

fn run(_: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("the device");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let stated = [BYTES, f64::NAN, BYTES, -5.0, f64::INFINITY, BYTES];
    let profile = measured(&[(&gpu, &stream)], |_| {
        let mut stated = stated.iter();
        stated.try_for_each(|bytes| states(&gpu, &stream, *bytes))
    })?;
    let found = function(&profile, "states its bytes");
    let gpu_stats = found.and_then(|found| found.gpu.as_ref());
    let bytes = gpu_stats.and_then(|gpu| gpu.timed_bytes);
    let timed = gpu_stats.map_or(0, |gpu| gpu.timed_calls);
    let invalid = profile.diagnostics.invalid_amounts;
    Ok(vec![Row::judged(
        "6 calls, 3 of them with 1 MB, the others with NaN, -5 and infinity",
        format!("{timed} timed, {invalid} invalid, {bytes:?} B"),
        "6 timed, 3 invalid, Some(3000000.0) B",
        (timed, invalid, bytes) == (6, 3, Some(3.0 * BYTES)),
    )])
}
