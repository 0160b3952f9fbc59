//! Promise: what is measured of a part tells of the whole: under sampling the total lies in the
//! interval that is shown, and under a schedule the active steps count and no others, each call of
//! them timed.

mod schedule;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use serde::{Deserialize, Serialize};

use super::Scene;
use super::known_durations::{as_spun, function};
use super::statistics::time;
use crate::check::{Check, Row, World};
use crate::device::{self, Gpu, while_doing};
use crate::process;
use crate::runner::itself;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "sampling",
        promise: "With GPUPROF_SAMPLE the counts are exact and the intervals hold the total that \
            all calls have.",
        limit: Duration::from_secs(180),
        run: sampling,
    },
    Check {
        name: "schedule",
        promise: "Under a schedule the active steps count and no others, and every call of them is \
            timed.",
        limit: Duration::from_secs(60),
        run: schedule::run,
    },
];

pub(crate) const SCENES: &[Scene] = &[("sampled", sampled)];

const LIMIT: Duration = Duration::from_secs(80);
/// One call in so many is timed.
const SAMPLE: u64 = 10;
/// Each with an interval of its own: 95 % of them are to hold the total, by chance not each.
const WINDOWS: usize = 10;
/// So many hold it but once in ten thousand runs.
const ENOUGH: usize = 6;
/// No total is further away than so many half widths, five standard deviations: once in a million
/// windows.
const FAR: f64 = 2.5;
/// How many calls may wait for the GPU: fewer than the driver's queues hold and gpuprof has events
/// for.
const QUEUED: u64 = 250;
/// How long the kernel runs behind which these are queued, in ns; doubled where the host was too
/// slow, up to the other.
const HOLD: u64 = 20_000_000;
const LONGEST_HOLD: u64 = 16 * HOLD;

/// What calls last, in turn, in ns: they differ as much as an interval needs to say something.
const LENGTHS: [u64; 3] = [40_000, 80_000, 150_000];

#[gpu_profile(name = "varies")]
fn varies(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

/// Calls of one window.
fn calls(world: &World) -> u64 {
    if world.short { 1_500 } else { 20_000 }
}

/// What a window came to.
#[derive(Serialize, Deserialize)]
struct Window {
    calls: u64,
    timed: u64,
    sampled_out: u64,
    untimed: u64,
    total_ns: u64,
    /// Half the interval; none where nothing was estimated.
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
            half_ns: gpu.estimate.as_ref().map(|estimate| estimate.total_ci95_ns),
        })
    }
}

/// One window of the environment's after the other, with the same calls in each.
fn sampled(world: &World) -> Result<ExitCode, String> {
    device::open(world)?;
    let doing = while_doing("the calls");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = gpu.context.new_stream().map_err(&doing)?;
    let mut windows = Vec::new();
    let (mut tries, mut hold) = (3 * WINDOWS, HOLD);
    // What happens once is in no window.
    varies(&gpu, &stream, 0).map_err(&doing)?;
    while windows.len() < WINDOWS {
        if tries == 0 {
            return Err("this machine is too slow to keep a stream busy".into());
        }
        tries -= 1;
        gpuprof::reset();
        if window(&gpu, &stream, hold, calls(world)).map_err(&doing)? {
            windows.push(Window::of(&gpuprof::collect()));
        } else {
            hold = LONGEST_HOLD.min(2 * hold);
        }
    }
    let windows = serde_json::to_string(&windows).map_err(while_doing("windows"))?;
    println!("{windows}");
    Ok(ExitCode::SUCCESS)
}

/// Makes the calls, as many at a time as may wait, each time behind a kernel; whether all were
/// queued before it was over. An idle stream would be the host's time, and not the same in any two
/// windows.
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

fn windows(world: &World, sample: u64) -> Result<Vec<Window>, String> {
    let mut command = itself(&["play", "sampled"], world)?;
    command
        .env("GPUPROF_SAMPLE", sample.to_string())
        .env("GPUPROF_REPORT", "none");
    let ended = process::run(command, LIMIT).map_err(while_doing("the program with the calls"))?;
    if let Some(trouble) = ended.trouble() {
        return Err(format!(
            "GPUPROF_SAMPLE={sample}: {trouble}\n{}",
            ended.tail()
        ));
    }
    let last = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(while_doing("its windows"))
}

fn sampling(world: &World) -> Result<Vec<Row>, String> {
    let (whole, estimated) = (windows(world, 1)?, windows(world, SAMPLE)?);
    let calls = calls(world);
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
        Row::held(
            format!("{WINDOWS} windows of {calls} calls, each timed"),
            told(&whole),
            format!("{calls} calls, {calls} timed in each"),
            good,
        ),
        // Each call's share of the total, as a span around its kernel should read.
        Row::held(
            "the mean total of these windows",
            time(truth),
            format!(
                "{} of the kernels, within 2 % + 20 µs a call",
                time(spun as f64)
            ),
            as_spun(truth as u64 / calls, spun / calls),
        ),
    ];
    rows.push(counted(&estimated, calls));
    rows.push(covered(&estimated, truth));
    Ok(rows)
}

/// How often the calls were timed, from window to window.
fn told(windows: &[Window]) -> String {
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

/// Every call, and a random tenth of them timed.
fn counted(windows: &[Window], calls: u64) -> Row {
    let wanted = calls / SAMPLE;
    // Of the binomial distribution, eight standard deviations.
    let share = 1.0 / SAMPLE as f64;
    let far = (8.0 * (calls as f64 * share * (1.0 - share)).sqrt()) as u64;
    let good = windows.iter().all(|window| {
        window.calls == calls
            && window.timed + window.sampled_out == calls
            && window.untimed == window.sampled_out
            && window.timed.abs_diff(wanted) < far
    });
    Row::held(
        format!("{WINDOWS} windows with GPUPROF_SAMPLE={SAMPLE}"),
        told(windows),
        format!("{calls} calls, {wanted} ± {far} timed, all others sampled out"),
        good && windows.len() == WINDOWS,
    )
}

/// The true total lies in the intervals.
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
    Row::held(
        "their 95 % intervals and the total of all calls",
        format!(
            "{holds} of {} hold {}; the worst is {worst:.2} half widths away; the first: {example}",
            away.len(),
            time(truth)
        ),
        format!("{ENOUGH} or more of {WINDOWS} (95 % of many), none {FAR} half widths away"),
        // A window without an interval is NaN, and not under anything.
        away.len() == WINDOWS && holds >= ENOUGH && away.iter().all(|away| *away < FAR),
    )
}
