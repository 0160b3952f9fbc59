//! Spans on another stream than their kernels', and helpers that launch nothing.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile, with_stream};

use super::{function, refusal, run_with_cupti};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::statistics::{off, time};

pub(super) const NAME: &str = "kernels-streams";

const CALLS: u64 = 20;
const SPIN_NS: u64 = 2_000_000;
/// Accepted difference of each call, ns: a slow host lengthens the span on the idle stream.
const MARGIN_NS: u64 = SPIN_NS / 4;
/// The same if the span is on the stream of its kernel.
const INSIDE_NS: u64 = 50_000;
/// The beginning of the note on a function, after its name.
const NOTE: &str = "may be timed on the wrong stream";

type Done = Result<(), DriverError>;

#[gpu_profile(name = "set up for streams")]
fn set_up() -> Result<(Gpu, [Arc<CudaStream>; 2]), DriverError> {
    let gpu = Gpu::new()?;
    let streams = [gpu.context.new_stream()?, gpu.context.new_stream()?];
    Ok((gpu, streams))
}

#[gpu_profile(name = "timed on another stream", stream = timed)]
fn on_another(gpu: &Gpu, timed: &Arc<CudaStream>, used: &Arc<CudaStream>) -> Done {
    let _ = timed;
    gpu.spin(used, SPIN_NS)
}

#[gpu_profile(name = "timed on its stream")]
fn on_its_own(gpu: &Gpu, used: &Arc<CudaStream>) -> Done {
    gpu.spin(used, SPIN_NS)
}

/// Inherits a stream.
#[gpu_profile(name = "inherits, launches nothing")]
fn helper(inside: impl FnOnce() -> Done) -> Done {
    inside()
}

/// Inherits a stream.
#[gpu_profile(name = "inherits, launches")]
fn launching_helper(inside: impl FnOnce() -> Done) -> Done {
    inside()
}

pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let (gpu, [a, b]) = set_up().map_err(&failed)?;
    for _ in 0..CALLS {
        on_another(&gpu, &a, &b).map_err(&failed)?;
        on_its_own(&gpu, &b).map_err(&failed)?;
        b.synchronize().map_err(&failed)?;
        with_stream(&a, || {
            helper(|| Ok(()))?;
            launching_helper(|| gpu.spin(&a, SPIN_NS))
        })
        .map_err(&failed)?;
    }
    gpu.context.synchronize().map_err(&failed)?;
    let profile = serde_json::to_string(&gpuprof::collect());
    println!("{}", profile.map_err(|error| error.to_string())?);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let profile: Profile = run_with_cupti(NAME, run_mode)?;
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable("streams of kernels", why)]);
    }
    let spun_ns = CALLS * SPIN_NS;
    Ok(vec![
        outside(&profile, "timed on another stream", spun_ns),
        outside(&profile, "timed on its stream", 0),
        launched(&profile, "inherits, launches nothing", 0),
        launched(&profile, "inherits, launches", CALLS),
    ])
}

/// The time of kernels outside the function's spans, and whether the report says so.
fn outside(profile: &Profile, name: &str, wanted_ns: u64) -> Row {
    let found = function(profile, name);
    let outside_ns = found.map_or(u64::MAX, |found| found.activity.outside_span_ns);
    let span_ns = found.and_then(|found| found.gpu.as_ref());
    let span_ns = span_ns.map_or(0, |gpu| gpu.times.total_ns);
    let notes = profile.diagnostics.notes.iter();
    let mut notes = notes.filter(|note| note.starts_with(name) && note.contains(NOTE));
    let is_noted = notes.next().is_some();
    let margin_ns = if wanted_ns > 0 { MARGIN_NS } else { INSIDE_NS };
    Row::judged(
        format!("{name}: {CALLS} calls with a kernel of 2 ms"),
        format!(
            "GPU span {}, kernels outside it {}, {}",
            time(span_ns as f64),
            time(outside_ns as f64),
            if is_noted { "a note" } else { "no note" }
        ),
        match wanted_ns {
            0 => "less than 50 µs a call outside, no note".into(),
            _ => format!("{} within 25 %, a note", time(wanted_ns as f64)),
        },
        outside_ns.abs_diff(wanted_ns) < CALLS * margin_ns && is_noted == (wanted_ns > 0),
    )
}

/// What CUPTI knows of a function that inherits a stream.
fn launched(profile: &Profile, name: &str, kernels: u64) -> Row {
    let Some(found) = function(profile, name) else {
        return Row::judged(name, "missing", "a function", false);
    };
    let work = &found.activity;
    let busy_ns = work.busy_ns.unwrap_or(u64::MAX);
    let spun_ns = (kernels * SPIN_NS) as f64;
    let is_busy = match kernels {
        0 => busy_ns == 0,
        _ => off(busy_ns as f64, spun_ns).abs() < 0.01,
    };
    Row::judged(
        format!("{name}: work of {CALLS} calls"),
        format!(
            "{} calls recorded, {} kernels, {} activities, busy {}",
            work.busy_calls,
            work.launches,
            work.activities,
            time(busy_ns as f64)
        ),
        format!(
            "{CALLS} calls, {kernels} kernels, {kernels} activities, busy {}{}",
            time(spun_ns),
            if kernels > 0 { " within 1 %" } else { "" }
        ),
        (work.busy_calls, work.launches, work.activities) == (CALLS, kernels, kernels) && is_busy,
    )
}
