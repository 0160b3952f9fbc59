//! Spans on another stream than their kernels', and helpers that launch nothing.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::Tolerance;
use promises::timed_streams::{self, SpanMargins};

use super::{refusal, with_cupti};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, TOLERANCE, failed_in};
use crate::process;

pub(super) const NAME: &str = "kernels-streams";

const CALLS: u64 = 20;
/// A slow host lengthens a span on an idle stream by a quarter of its kernel at most.
const SPAN_MARGINS: SpanMargins = SpanMargins {
    outside: 500_000,
    inside: 50_000,
};
/// Of busy times.
const WITHIN: Tolerance = Tolerance {
    longer: 0.01,
    longer_ns: 0,
    shorter_ns: 400_000,
    ..TOLERANCE
};

#[gpu_profile(name = "set up for streams")]
fn set_up() -> Result<(Gpu, [Arc<CudaStream>; 2]), DriverError> {
    let gpu = Gpu::new()?;
    let streams = [gpu.context.new_stream()?, gpu.context.new_stream()?];
    Ok((gpu, streams))
}

pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let (gpu, [a, b]) = set_up().map_err(&failed)?;
    timed_streams::work(&gpu, [&a, &b], CALLS).map_err(&failed)?;
    process::print(&gpuprof::collect())
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let profile: Profile = with_cupti(NAME, run_mode)?;
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable("streams of kernels", why)]);
    }
    let observed = timed_streams::observe(&profile, CALLS, WITHIN, SPAN_MARGINS);
    Ok(observed.into_iter().map(Row::from).collect())
}
