//! Promise: under a schedule exactly the active steps count, each of their calls is timed, and each
//! cycle is handed over.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Sampling, Schedule, Session, gpu_profile};

use crate::known_spans::{errors, function};
use crate::observation::{Observation, Observed, time};
use crate::tolerance::Tolerance;
use crate::world::{Done, World, failed_in};

/// The kernel of a call in the first step. Those of later steps are as many times as long, so that
/// a call that counts for the wrong step is visible.
const FIRST_NS: u64 = 100_000;
/// How long a waiting step lasts if the times of the active steps are not read before.
const PAUSE: Duration = Duration::from_secs(5);

#[gpu_profile(name = "in a step")]
fn in_a_step(world: &dyn World, stream: &Arc<CudaStream>, ns: u64) -> Done {
    world.spin(stream, ns)
}

/// The steps of a program.
#[derive(Clone, Copy)]
pub struct Steps {
    pub wait: u32,
    pub warmup: u32,
    pub active: u32,
    pub cycles: u32,
    /// Steps after the last cycle, which do not count.
    pub more: u32,
    pub calls_per_step: u64,
}

impl Steps {
    fn of_a_cycle(&self) -> u32 {
        self.wait + self.warmup + self.active
    }

    fn all(&self) -> u32 {
        self.cycles * self.of_a_cycle() + self.more
    }

    /// `(calls, kernel time)` of the active steps of a cycle, which is numbered from 0.
    fn expected(&self, cycle: u32) -> (u64, u64) {
        let before = cycle * self.of_a_cycle() + self.wait + self.warmup;
        let numbers = (1..=self.active).map(|active| u64::from(before + active));
        let calls = u64::from(self.active) * self.calls_per_step;
        (calls, numbers.sum::<u64>() * FIRST_NS * self.calls_per_step)
    }
}

/// A program that makes its steps under a schedule.
///
/// # Errors
/// A driver error as text.
pub fn active_steps_count(world: &dyn World, steps: Steps, within: Tolerance) -> Observed {
    let stream = &world.stream()?;
    let cycles = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&cycles);
    gpuprof::on_profile_ready(move |profile| {
        into.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(profile);
    });
    let schedule = Schedule {
        wait: steps.wait,
        warmup: steps.warmup,
        active: steps.active,
        repeat: NonZeroU32::new(steps.cycles),
    };
    let session = Session::builder()
        .sampling(Sampling::EveryCall)
        .schedule(schedule);
    let session = session.start().map_err(failed_in("a session"))?;
    make_steps(world, stream, steps, &session).map_err(failed_in("the steps"))?;
    let profile = session.finish();
    world.accept(&profile);
    let cycles = cycles.lock().unwrap_or_else(PoisonError::into_inner);
    cycles.iter().for_each(|cycle| world.accept(cycle));
    Ok(observe(&profile, &cycles, steps, within))
}

fn make_steps(
    world: &dyn World,
    stream: &Arc<CudaStream>,
    steps: Steps,
    session: &Session,
) -> Done {
    for number in 1..=steps.all() {
        for _ in 0..steps.calls_per_step {
            in_a_step(world, stream, u64::from(number) * FIRST_NS)?;
        }
        stream.synchronize()?;
        let cycles = (number - 1) / steps.of_a_cycle();
        if (number - 1) % steps.of_a_cycle() < steps.wait {
            pause(
                session,
                u64::from(cycles.min(steps.cycles)) * steps.expected(0).0,
            );
        }
        gpuprof::step();
    }
    Ok(())
}

/// Waits for the times of this many calls, as a program does that has other work in between.
fn pause(session: &Session, calls: u64) {
    let began = Instant::now();
    while session.snapshot().diagnostics.timed_calls < calls && began.elapsed() < PAUSE {
        thread::sleep(Duration::from_millis(1));
    }
}

/// What a profile has of the steps.
#[derive(PartialEq, Eq)]
struct Counted {
    calls: u64,
    timed: u64,
    measured_steps: u64,
    cycles: u64,
}

impl Counted {
    fn of(profile: &Profile) -> (Self, u64) {
        let found = function(profile, "in a step");
        let gpu = found.and_then(|found| found.gpu.as_ref());
        let progress = profile.schedule.unwrap_or_default();
        let counted = Self {
            calls: found.map_or(0, |found| found.calls),
            timed: gpu.map_or(0, |gpu| gpu.timed_calls),
            measured_steps: progress.measured_steps,
            cycles: progress.cycles,
        };
        (counted, gpu.map_or(0, |gpu| gpu.times.total_ns))
    }

    fn text(&self, ns: u64) -> String {
        let Self {
            calls,
            timed,
            measured_steps,
            cycles,
        } = self;
        let total = time(ns as f64);
        format!("{calls} calls, {timed} timed, {total} in {measured_steps} steps, cycles: {cycles}")
    }
}

fn observe(
    profile: &Profile,
    cycles: &[Profile],
    steps: Steps,
    within: Tolerance,
) -> Vec<Observation> {
    let expected = |(calls, ns): (u64, u64), cycles: u32| {
        let counted = Counted {
            calls,
            timed: calls,
            measured_steps: u64::from(steps.active) * u64::from(cycles),
            cycles: u64::from(cycles),
        };
        (counted, ns)
    };
    let of_cycles: Vec<_> = (0..steps.cycles)
        .map(|cycle| steps.expected(cycle))
        .collect();
    let all = of_cycles
        .iter()
        .fold((0, 0), |(calls, ns), one| (calls + one.0, ns + one.1));
    let is_met = |found: &(Counted, u64), wanted: &(Counted, u64)| {
        found.0 == wanted.0 && within.accepts(found.1, wanted.1)
    };
    let (found, wanted) = (Counted::of(profile), expected(all, steps.cycles));
    let made = profile.schedule.unwrap_or_default().steps;
    let Steps {
        wait,
        warmup,
        active,
        calls_per_step,
        ..
    } = steps;
    let text = |(counted, ns): &(Counted, u64)| counted.text(*ns);
    let texts = |all: &[(Counted, u64)]| all.iter().map(text).collect::<Vec<_>>().join("; ");
    let handed: Vec<_> = cycles.iter().map(Counted::of).collect();
    let wanted_cycles: Vec<_> = of_cycles.iter().map(|one| expected(*one, 1)).collect();
    let mut pairs = handed.iter().zip(&wanted_cycles);
    vec![
        Observation::new(
            format!(
                "{} cycles of {wait} waiting, {warmup} warm-up and {active} active steps, \
                 {calls_per_step} calls each",
                steps.cycles
            ),
            format!("{}; {made} steps made; {}", text(&found), errors(profile)),
            format!(
                "{}; {} steps made; {within}, no error",
                text(&wanted),
                steps.all()
            ),
            is_met(&found, &wanted)
                && made == u64::from(steps.all())
                && profile.diagnostics.errors.is_empty(),
        ),
        Observation::new(
            "the profile delivered for each cycle",
            texts(&handed),
            format!("{}; {within}", texts(&wanted_cycles)),
            handed.len() == wanted_cycles.len()
                && pairs.all(|(found, wanted)| is_met(found, wanted)),
        ),
    ]
}
