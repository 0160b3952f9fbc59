//! Steps of a program under a schedule, with work in each; those that count have shorter calls than
//! all others, so that a call which is booked wrongly shows.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gpuprof::{Profile, Schedule, Session};

use super::varies;
use crate::check::{Row, World};
use crate::checks::known_durations::{self, function};
use crate::checks::statistics::time;
use crate::device::{Gpu, while_doing};

/// A cycle: steps that are left alone, steps that are measured and forgotten, steps that count.
const CYCLE: [u32; 3] = [3, 1, 4];
const CYCLES: u32 = 3;
/// Calls of each step.
const A_STEP: u64 = 20;
/// What the program does in a step that is left alone: other things.
const PAUSE: Duration = Duration::from_millis(20);
/// Of calls in steps that count, and of all other calls, in ns.
const COUNTS: u64 = 100_000;
const FORGOTTEN: u64 = 900_000;

pub(super) fn run(_: &World) -> Result<Vec<Row>, String> {
    let doing = while_doing("the steps");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = gpu.context.new_stream().map_err(&doing)?;
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
    let session = Session::builder().schedule(schedule).start();
    let session = session.map_err(while_doing("a session"))?;
    let length = wait + warmup + active;
    // And one cycle more, which does not count.
    for step in 0..(CYCLES + 1) * length {
        let at = step % length;
        let counts = at >= wait + warmup && step < CYCLES * length;
        for _ in 0..A_STEP {
            let ns = if counts { COUNTS } else { FORGOTTEN };
            varies(&gpu, &stream, ns).map_err(&doing)?;
        }
        if at < wait {
            stream.synchronize().map_err(&doing)?;
            thread::sleep(PAUSE);
        }
        gpuprof::step();
    }
    stream.synchronize().map_err(&doing)?;
    let profile = session.finish();
    let cycles = cycles.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(steps(&profile, &cycles, (CYCLES + 1) * length))
}

fn steps(profile: &Profile, cycles: &[Profile], steps: u32) -> Vec<Row> {
    let [_, _, active] = CYCLE.map(u64::from);
    let of_cycle = active * A_STEP;
    let all = u64::from(CYCLES) * of_cycle;
    let counted = |profile: &Profile| {
        function(profile, "varies").map_or((0, 0), |varies| {
            let timed = varies.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
            (varies.calls, timed)
        })
    };
    let (calls, timed) = counted(profile);
    let told = profile.schedule.unwrap_or_default();
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
    // Spans begin with the function here, on a stream that may be idle: a call of another step is
    // far longer still.
    let gpu = function(profile, "varies").and_then(|varies| varies.gpu.as_ref());
    let mean = gpu.map_or(0, |gpu| gpu.times.p50_ns);
    vec![
        Row::held(
            format!(
                "{CYCLES} cycles of 3 steps left alone, 1 forgotten and {active} that count, \
                 {A_STEP} calls in each"
            ),
            format!(
                "{calls} calls, {timed} timed, {} of {} steps in {} cycles; {}",
                told.measured_steps,
                told.steps,
                told.cycles,
                known_durations::errors(profile)
            ),
            format!(
                "{all} calls, {all} timed, {} of {steps} steps in {CYCLES} cycles; no error",
                u64::from(CYCLES) * active
            ),
            (calls, timed) == (all, all)
                && (told.measured_steps, told.steps, told.cycles)
                    == (
                        u64::from(CYCLES) * active,
                        u64::from(steps),
                        u64::from(CYCLES),
                    )
                && profile.diagnostics.errors.is_empty(),
        ),
        Row::held(
            "what each cycle was handed over with",
            shown.join("; "),
            format!("{CYCLES} times {of_cycle} calls, {of_cycle} timed"),
            cycles.len() == CYCLES as usize && each,
        ),
        Row::held(
            "the median time of the calls that count",
            time(mean as f64),
            format!(
                "under {}, which is half of that of all others",
                time(FORGOTTEN as f64 / 2.0)
            ),
            (1..FORGOTTEN / 2).contains(&mean),
        ),
    ]
}
