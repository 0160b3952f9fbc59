//! Promise: partial measurements represent the whole. Under sampling the true total lies in the
//! reported interval.

mod equal_layers;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::function;
use serde::{Deserialize, Serialize};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::device::{self, Gpu, TOLERANCE, failed_in};
use crate::statistics::time;
use crate::{process, runner};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "sampling",
        promise: "With GPUPROF_SAMPLE counts are exact and intervals contain the total.",
        limit: Duration::from_secs(180),
        run: sampling,
    },
    Check {
        name: "equal-layers",
        promise: "With nothing set, rows of equal work are equal.",
        limit: Duration::from_secs(300),
        run: equal_layers::run,
    },
];

pub(crate) const PROGRAMS: &[TestProgram] = &[
    ("sampled", sampled),
    ("layers", equal_layers::model),
    ("server", equal_layers::server),
];

const LIMIT: Duration = Duration::from_secs(80);
/// One call in this many is timed.
const SAMPLE: u64 = 10;
/// Each window has its own 95 % interval, so by chance not every one contains the total.
const WINDOWS: usize = 10;
/// Fewer intervals contain the total only once in 10,000 runs.
const ENOUGH: usize = 6;
/// Accepted distance in half widths, five standard deviations: exceeded once in a million windows.
const FAR: f64 = 2.5;
/// Calls that may wait for the GPU: fewer than the driver's queues hold and gpuprof has events for.
const QUEUED: u64 = 250;
/// Duration in ns of the kernel behind which calls are queued, doubled up to `MAX_KERNEL_NS` if the
/// host was too slow.
const FIRST_KERNEL_NS: u64 = 20_000_000;
const MAX_KERNEL_NS: u64 = 16 * FIRST_KERNEL_NS;

/// Durations of the calls in turn, ns. They vary enough for an interval to be meaningful.
const LENGTHS: [u64; 3] = [40_000, 80_000, 150_000];

#[gpu_profile(name = "varies")]
fn varies(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

/// Calls per window.
fn calls(run_mode: &RunMode) -> u64 {
    if run_mode.short { 1_500 } else { 20_000 }
}

/// The result of a window.
#[derive(Serialize, Deserialize)]
struct Window {
    calls: u64,
    timed: u64,
    sampled_out: u64,
    untimed: u64,
    total_ns: u64,
    /// Half the interval; `None` if nothing was estimated.
    half_ns: Option<u64>,
}

impl Window {
    fn of(profile: &Profile) -> Option<Window> {
        let found = function(profile, "varies")?;
        let gpu = found.gpu.as_ref()?;
        Some(Window {
            calls: found.calls,
            timed: gpu.timed_calls,
            sampled_out: found.untimed.sampled_out,
            untimed: found.untimed.sum(),
            total_ns: gpu.times.total_ns,
            half_ns: gpu
                .estimate
                .as_ref()
                .and_then(|estimate| estimate.total_ci95_ns),
        })
    }
}

/// Runs the windows with the settings of the environment, with the same calls in each.
fn sampled(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("the calls");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let mut windows = Vec::new();
    let (mut tries, mut hold) = (3 * WINDOWS, FIRST_KERNEL_NS);
    // One-time work is outside every window.
    varies(&gpu, &stream, 0).map_err(&failed)?;
    while windows.len() < WINDOWS {
        if tries == 0 {
            return Err("this machine is too slow to keep a stream busy".into());
        }
        tries -= 1;
        gpuprof::reset();
        if window(&gpu, &stream, hold, calls(run_mode)).map_err(&failed)? {
            windows.push(Window::of(&gpuprof::collect()));
        } else {
            hold = MAX_KERNEL_NS.min(2 * hold);
        }
    }
    process::print(&windows)
}

/// Makes the calls in batches of [`QUEUED`], each behind a kernel. Returns whether all were queued
/// before that kernel ended. On an idle stream the spans would contain host time, which differs
/// between windows.
fn window(gpu: &Gpu, stream: &Arc<CudaStream>, hold: u64, calls: u64) -> Result<bool, DriverError> {
    let mut busy = true;
    for first in (0..calls).step_by(QUEUED as usize) {
        gpu.spin(stream, hold)?;
        let held = stream.record_event(None)?;
        for call in first..calls.min(first + QUEUED) {
            varies(gpu, stream, LENGTHS[call as usize % LENGTHS.len()])?;
        }
        busy &= !held.try_is_complete()?;
        stream.synchronize()?;
    }
    Ok(busy)
}

fn windows(run_mode: &RunMode, sample: u64) -> Result<Vec<Window>, String> {
    let settings = [("GPUPROF_SAMPLE", &*sample.to_string())];
    runner::answer("sampled", run_mode, LIMIT, &settings)
}

fn sampling(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let (whole, estimated) = (windows(run_mode, 1)?, windows(run_mode, SAMPLE)?);
    let calls = calls(run_mode);
    let mean = |windows: &[Window]| {
        let totals = windows.iter().map(|window| window.total_ns as f64);
        totals.sum::<f64>() / windows.len() as f64
    };
    let truth = mean(&whole);
    let spun = (0..calls).map(|call| LENGTHS[call as usize % LENGTHS.len()]);
    let spun: u64 = spun.sum();
    let good = whole
        .iter()
        .all(|window| (window.calls, window.timed, window.half_ns) == (calls, calls, None));
    let mut rows = vec![
        Row::judged(
            format!("{WINDOWS} windows of {calls} calls, each timed"),
            timed_range(&whole),
            format!("{calls} calls, {calls} timed in each"),
            good,
        ),
        // Each call's share of the total, as a span around its kernel.
        Row::judged(
            "the mean total of these windows",
            time(truth),
            format!(
                "{} of the kernels, within 2 % + 20 µs a call",
                time(spun as f64)
            ),
            TOLERANCE.accepts(truth as u64 / calls, spun / calls),
        ),
    ];
    rows.push(counted(&estimated, calls));
    rows.push(covered(&estimated, truth));
    Ok(rows)
}

/// The number of timed calls per window.
fn timed_range(windows: &[Window]) -> String {
    let least = |of: fn(&Window) -> u64| windows.iter().map(of).min().unwrap_or(0);
    let most = |of: fn(&Window) -> u64| windows.iter().map(of).max().unwrap_or(0);
    format!(
        "{} windows; {} to {} calls, {} to {} timed",
        windows.len(),
        least(|window| window.calls),
        most(|window| window.calls),
        least(|window| window.timed),
        most(|window| window.timed)
    )
}

/// Every call is counted, and a random tenth is timed.
fn counted(windows: &[Window], calls: u64) -> Row {
    let wanted = calls / SAMPLE;
    // Eight standard deviations of the binomial distribution.
    let share = 1.0 / SAMPLE as f64;
    let far = (8.0 * (calls as f64 * share * (1.0 - share)).sqrt()) as u64;
    let good = windows.iter().all(|window| {
        window.calls == calls
            && window.timed + window.sampled_out == calls
            && window.untimed == window.sampled_out
            && window.timed.abs_diff(wanted) < far
    });
    Row::judged(
        format!("{WINDOWS} windows with GPUPROF_SAMPLE={SAMPLE}"),
        timed_range(windows),
        format!("{calls} calls, {wanted} ± {far} timed, all others not sampled"),
        good && windows.len() == WINDOWS,
    )
}

/// The intervals contain the true total.
fn covered(windows: &[Window], truth: f64) -> Row {
    let away = windows.iter().map(|window| {
        let half = window.half_ns.map_or(f64::NAN, |half| half as f64);
        (window.total_ns as f64 - truth).abs() / half
    });
    let away: Vec<f64> = away.collect();
    let holds = away.iter().filter(|away| **away <= 1.0).count();
    let worst = away.iter().copied().fold(0.0, f64::max);
    let example = windows.first().map_or("none".into(), |window| {
        format!(
            "{} ± {}",
            time(window.total_ns as f64),
            time(window.half_ns.unwrap_or(0) as f64)
        )
    });
    Row::judged(
        "their 95 % intervals and the total of all calls",
        format!(
            "{holds} of {} contain {}; the worst is {worst:.2} half widths off; first: {example}",
            away.len(),
            time(truth)
        ),
        format!("{ENOUGH} or more of {WINDOWS} (95 % of many), none {FAR} half widths away"),
        // A window without an interval is NaN, which fails every comparison.
        away.len() == WINDOWS && holds >= ENOUGH && away.iter().all(|away| *away < FAR),
    )
}
