//! A program under a schedule. Calls in active steps are shorter than all others, so that a call
//! counted for the wrong step is visible.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gpuprof::{Profile, Schedule};
use promises::{errors, function};

use super::varies;
use crate::check::{Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::session::every_call;
use crate::statistics::time;

/// A cycle: waiting, warm-up and active steps.
const CYCLE: [u32; 3] = [3, 1, 4];
const CYCLES: u32 = 3;
/// Calls per step.
const CALLS_PER_STEP: u64 = 20;
/// The program's own work in a waiting step.
const PAUSE: Duration = Duration::from_millis(20);
/// Durations of calls in active steps and of all other calls, in ns.
const COUNTS: u64 = 100_000;
const FORGOTTEN: u64 = 900_000;

pub(super) fn run(_: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("the steps");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let cycles = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&cycles);
    gpuprof::on_profile_ready(move |profile| {
        into.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(profile);
    });
    let [wait, warmup, active] = CYCLE;
    let schedule = Schedule {
        wait,
        warmup,
        active,
        repeat: NonZeroU32::new(CYCLES),
    };
    let session = every_call().schedule(schedule).start();
    let session = session.map_err(failed_in("a session"))?;
    let length = wait + warmup + active;
    // One more cycle, which does not count.
    for step in 0..(CYCLES + 1) * length {
        let index = step % length;
        let counts = index >= wait + warmup && step < CYCLES * length;
        for _ in 0..CALLS_PER_STEP {
            let ns = if counts { COUNTS } else { FORGOTTEN };
            varies(&gpu, &stream, ns).map_err(&failed)?;
        }
        if index < wait {
            stream.synchronize().map_err(&failed)?;
            thread::sleep(PAUSE);
        }
        gpuprof::step();
    }
    stream.synchronize().map_err(&failed)?;
    let profile = session.finish();
    let cycles = cycles.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(steps(&profile, &cycles, (CYCLES + 1) * length))
}

fn steps(profile: &Profile, cycles: &[Profile], steps: u32) -> Vec<Row> {
    let [_, _, active] = CYCLE.map(u64::from);
    let of_cycle = active * CALLS_PER_STEP;
    let all = u64::from(CYCLES) * of_cycle;
    let counted = |profile: &Profile| {
        function(profile, "varies").map_or((0, 0), |varies| {
            let timed = varies.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
            (varies.calls, timed)
        })
    };
    let (calls, timed) = counted(profile);
    let progress = profile.schedule.unwrap_or_default();
    let shown: Vec<_> = cycles
        .iter()
        .map(|cycle| {
            let (calls, timed) = counted(cycle);
            format!("{calls} calls, {timed} timed")
        })
        .collect();
    let each = cycles
        .iter()
        .all(|cycle| counted(cycle) == (of_cycle, of_cycle));
    // A span begins with its function, on a stream that may be idle. Calls of other steps are still
    // far longer.
    let gpu = function(profile, "varies").and_then(|varies| varies.gpu.as_ref());
    let mean = gpu.map_or(0, |gpu| gpu.times.p50_ns);
    vec![
        Row::judged(
            format!(
                "{CYCLES} cycles of 3 waiting, 1 warm-up and {active} active steps, \
                 {CALLS_PER_STEP} calls each"
            ),
            format!(
                "{calls} calls, {timed} timed, {} of {} steps in {} cycles; {}",
                progress.measured_steps,
                progress.steps,
                progress.cycles,
                errors(profile)
            ),
            format!(
                "{all} calls, {all} timed, {} of {steps} steps in {CYCLES} cycles; no error",
                u64::from(CYCLES) * active
            ),
            (calls, timed) == (all, all)
                && (progress.measured_steps, progress.steps, progress.cycles)
                    == (
                        u64::from(CYCLES) * active,
                        u64::from(steps),
                        u64::from(CYCLES),
                    )
                && profile.diagnostics.errors.is_empty(),
        ),
        Row::judged(
            "the profile delivered for each cycle",
            shown.join("; "),
            format!("{CYCLES} times {of_cycle} calls, {of_cycle} timed"),
            cycles.len() == CYCLES as usize && each,
        ),
        Row::judged(
            "the median time of calls in active steps",
            time(mean as f64),
            format!(
                "under {}, half of that of all other calls",
                time(FORGOTTEN as f64 / 2.0)
            ),
            (1..FORGOTTEN / 2).contains(&mean),
        ),
    ]
}
