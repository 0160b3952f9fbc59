//! Promise: with a schedule, only the active steps count, a step never waits, and outside them a
//! span costs no more than with gpuprof switched off.

use std::num::NonZeroU32;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Schedule, Session, gpu_profile};
use promises::schedules::{Steps, active_steps_count};
use promises::{Tolerance, assert_kept};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, gpu_times, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        only_active_steps_count_and_each_cycle_is_handed_over,
        a_window_has_the_time_of_its_active_steps,
        a_cycle_that_the_end_cuts_short_is_handed_over_as_well,
        cycles_without_a_pause_lose_nothing,
        outside_active_steps_no_driver_call_is_made_and_nothing_is_booked,
        a_step_never_waits_for_the_gpu,
        a_pause_gives_late_gpu_times_a_chance,
        a_gpu_that_is_several_cycles_behind_loses_no_time,
        a_reset_forgets_what_was_measured_and_the_schedule_goes_on,
        without_a_schedule_steps_change_nothing,
        the_profile_has_the_time_of_each_step,
        step_times_begin_anew_with_the_window,
        who_is_called_may_use_gpuprof,
        cycles_that_end_while_one_is_handed_over_are_handed_over_next,
        a_panic_of_who_is_called_costs_no_later_cycle,
        who_is_called_may_step_on,
    ]],
);

#[gpu_profile]
fn train(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

/// The cycles that the callback has received so far.
fn cycles() -> Arc<Mutex<Vec<Profile>>> {
    let cycles = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&cycles);
    gpuprof::on_profile_ready(move |profile| {
        assert_consistent(&profile);
        into.lock().expect("lock").push(profile);
    });
    cycles
}

fn scheduled(schedule: Schedule) -> Session {
    let session = Session::builder().schedule(schedule).start();
    session.expect("no other session is open")
}

fn settle(w: &World) {
    w.gpu.context.synchronize().expect("synchronize");
}

/// Steps number 1 to `steps`, each with one call of 100 ns times its number.
fn steps(w: &World, steps: u64) {
    for number in 1..=steps {
        train(w, &w.gpu.stream, 100 * number);
        settle(w);
        gpuprof::step();
    }
}

fn only_active_steps_count_and_each_cycle_is_handed_over() {
    let steps = Steps {
        wait: 1,
        warmup: 1,
        active: 2,
        cycles: 2,
        more: 3,
        calls_per_step: 1,
    };
    assert_kept(active_steps_count(&world().gpu, steps, Tolerance::EXACT));
}

fn a_window_has_the_time_of_its_active_steps() {
    let w = world();
    let session = scheduled(Schedule {
        wait: 1,
        warmup: 1,
        active: 2,
        repeat: NonZeroU32::new(2),
    });
    // Each cycle is wait, warm-up, active, active. After two cycles nothing is measured.
    steps(&w, 11);
    let profile = w.finish(session);
    // Steps 3, 4, 7 and 8. The GPU span starts with the function, before the launch.
    assert_eq!(cpu_times(&profile, "train"), (4, 2_200, 2_200));
    assert_eq!(gpu_times(&profile, "train"), (4, 24_200, 24_200));
    assert_eq!(profile.wall_ns, 10 * 2_200 + 2_200);
}

fn a_cycle_that_the_end_cuts_short_is_handed_over_as_well() {
    let w = world();
    let ready = cycles();
    let session = scheduled(Schedule {
        warmup: 1,
        active: 5,
        ..Schedule::default()
    });
    steps(&w, 3);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "train"), (2, 500, 500));
    let ready = ready.lock().expect("lock");
    assert_eq!(ready.len(), 1);
    assert_eq!(cpu_times(&ready[0], "train"), (2, 500, 500));
}

fn cycles_without_a_pause_lose_nothing() {
    let w = world();
    let ready = cycles();
    let session = scheduled(Schedule::default());
    steps(&w, 5);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "train"), (5, 1_500, 1_500));
    let ready = ready.lock().expect("lock");
    let calls: u64 = ready.iter().map(|cycle| cycle.diagnostics.calls).sum();
    assert_eq!(calls, 5);
}

fn outside_active_steps_no_driver_call_is_made_and_nothing_is_booked() {
    let w = world();
    w.warm_up(|| train(&w, &w.gpu.stream, 1));
    let session = scheduled(Schedule {
        wait: 2,
        ..Schedule::default()
    });
    w.sim.reset_calls();
    train(&w, &w.gpu.stream, 100);
    gpuprof::step();
    train(&w, &w.gpu.stream, 100);
    for symbol in ["cuEventRecord", "cuStreamIsCapturing"] {
        assert_eq!(w.sim.calls_here(symbol), 0, "{symbol}");
    }
    gpuprof::step();
    train(&w, &w.gpu.stream, 100);
    assert_eq!(w.sim.calls_here("cuEventRecord"), 2);
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.calls, 1);
}

fn a_step_never_waits_for_the_gpu() {
    let w = world();
    let ready = cycles();
    let session = scheduled(Schedule::default());
    train(&w, &w.gpu.stream, 100);
    let before = w.sim.now();
    w.sim.reset_calls();
    gpuprof::step();
    assert_eq!(w.sim.now(), before);
    for symbol in [
        "cuStreamSynchronize",
        "cuCtxSynchronize",
        "cuEventSynchronize",
    ] {
        assert_eq!(w.sim.calls(symbol), 0, "{symbol}");
    }
    {
        let ready = ready.lock().expect("lock");
        assert_eq!(ready.len(), 1);
        let train = function(&ready[0], "train");
        assert_eq!((train.calls, train.untimed.unfinished), (1, 1));
    }
    w.finish(session);
}

fn a_pause_gives_late_gpu_times_a_chance() {
    let w = world();
    let ready = cycles();
    let session = scheduled(Schedule {
        wait: 3,
        ..Schedule::default()
    });
    steps(&w, 3);
    train(&w, &w.gpu.stream, 100);
    gpuprof::step();
    assert_eq!(ready.lock().expect("lock").len(), 0);
    settle(&w);
    // The pause ends after two more steps; the GPU time has arrived before that.
    until(|| session.snapshot().diagnostics.timed_calls == 1);
    gpuprof::step();
    {
        let ready = ready.lock().expect("lock");
        assert_eq!(ready.len(), 1);
        assert_eq!(gpu_times(&ready[0], "train"), (1, 1_100, 1_100));
    }
    w.finish(session);
}

fn a_gpu_that_is_several_cycles_behind_loses_no_time() {
    let w = world();
    let session = scheduled(Schedule {
        warmup: 1,
        ..Schedule::default()
    });
    for number in 1..=10 {
        train(&w, &w.gpu.stream, 100 * number);
        gpuprof::step();
    }
    let profile = w.finish(session);
    // Steps 2, 4, 6, 8 and 10: each kernel runs right after the one before it.
    assert_eq!(cpu_times(&profile, "train"), (5, 3_000, 3_000));
    assert_eq!(gpu_times(&profile, "train"), (5, 30_000, 30_000));
}

fn a_reset_forgets_what_was_measured_and_the_schedule_goes_on() {
    let w = world();
    let session = scheduled(Schedule {
        wait: 1,
        ..Schedule::default()
    });
    steps(&w, 4);
    gpuprof::reset();
    steps(&w, 4);
    let profile = w.finish(session);
    // Steps 2 and 4 of the four after the reset.
    assert_eq!(cpu_times(&profile, "train"), (2, 600, 600));
    let told = profile.schedule.expect("there is a schedule");
    assert_eq!((told.steps, told.measured_steps, told.cycles), (8, 2, 2));
}

fn without_a_schedule_steps_change_nothing() {
    let w = world();
    let session = w.session();
    steps(&w, 3);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "train"), (3, 600, 600));
    assert_eq!(profile.schedule, None);
}

/// The times of the profile's steps, and the number and time of its slowest.
fn step_times(profile: &Profile) -> (Vec<u64>, Vec<(u64, u64)>) {
    let times = profile.steps.as_ref().expect("there were steps");
    assert_eq!(times.count, times.series_ns.len() as u64);
    let slowest = times.slowest.iter().map(|slow| (slow.step, slow.ns));
    (times.series_ns.clone(), slowest.collect())
}

fn the_profile_has_the_time_of_each_step() {
    let w = world();
    for schedule in [
        None,
        Some(Schedule {
            wait: 2,
            ..Schedule::default()
        }),
    ] {
        let ready = cycles();
        let session = match schedule {
            Some(schedule) => scheduled(schedule),
            None => w.session(),
        };
        assert_eq!(session.snapshot().steps, None);
        for ns in [300, 100, 200, 400, 100] {
            w.cpu(ns);
            gpuprof::step();
        }
        // Of a step that does not end.
        w.cpu(5_000);
        let profile = w.finish(session);
        let (series, slowest) = step_times(&profile);
        assert_eq!(series, [300, 100, 200, 400, 100]);
        assert_eq!(slowest, [(4, 400), (1, 300), (3, 200), (2, 100), (5, 100)]);
        let steps = profile.steps.expect("there were steps");
        assert_eq!(
            (steps.count, steps.total_ns, steps.mean_ns),
            (5, 1_100, 220)
        );
        assert_eq!((steps.min_ns, steps.max_ns), (100, 400));
        // Those of a cycle would not be of the cycle.
        let ready = ready.lock().expect("lock");
        assert_eq!(ready.len(), usize::from(schedule.is_some()));
        assert!(ready.iter().all(|cycle| cycle.steps.is_none()));
    }
}

fn step_times_begin_anew_with_the_window() {
    let w = world();
    let session = w.session();
    w.cpu(100);
    gpuprof::step();
    w.cpu(70);
    gpuprof::reset();
    assert_eq!(session.snapshot().steps, None);
    w.cpu(30);
    gpuprof::step();
    assert_eq!(step_times(&w.finish(session)), (vec![30], vec![(1, 30)]));
    // Between two sessions nothing is measured.
    w.cpu(1_000);
    gpuprof::step();
    assert_eq!(gpuprof::snapshot().steps, None);
    let session = w.session();
    w.cpu(20);
    gpuprof::step();
    assert_eq!(step_times(&w.finish(session)), (vec![20], vec![(1, 20)]));
}

fn who_is_called_may_use_gpuprof() {
    let w = world();
    let session = scheduled(Schedule::default());
    let seen = Arc::new(Mutex::new(0));
    let into = Arc::clone(&seen);
    gpuprof::on_profile_ready(move |_| {
        let _ = gpuprof::snapshot();
        *into.lock().expect("lock") += 1;
    });
    steps(&w, 2);
    w.finish(session);
    assert!(*seen.lock().expect("lock") >= 2);
}

/// A step with one call.
fn cycle_of(w: &World, ns: u64) {
    train(w, &w.gpu.stream, ns);
    settle(w);
    gpuprof::step();
}

fn cycles_that_end_while_one_is_handed_over_are_handed_over_next() {
    let w = world();
    let session = scheduled(Schedule::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (begun, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    {
        let (seen, begun, go_on) = (Arc::clone(&seen), Arc::clone(&begun), Arc::clone(&go_on));
        gpuprof::on_profile_ready(move |profile| {
            let mut seen = seen.lock().expect("lock");
            seen.push(cpu_times(&profile, "train").1);
            if seen.len() == 1 {
                begun.wait();
                go_on.wait();
            }
        });
    }
    thread::scope(|scope| {
        let first = scope.spawn(|| cycle_of(&w, 100));
        begun.wait();
        // These cycles end on another thread while the callback runs with the first.
        (2..5).for_each(|number| cycle_of(&w, 100 * number));
        go_on.wait();
        first.join().expect("no panic");
    });
    assert_eq!(*seen.lock().expect("lock"), [100, 200, 300, 400]);
    w.finish(session);
}

fn a_panic_of_who_is_called_costs_no_later_cycle() {
    let w = world();
    let session = scheduled(Schedule::default());
    let seen = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&seen);
    gpuprof::on_profile_ready(move |_| {
        assert!(count.fetch_add(1, Relaxed) != 0, "as planned");
    });
    let first = panic::catch_unwind(AssertUnwindSafe(|| cycle_of(&w, 100)));
    assert!(first.is_err(), "it is the caller's");
    cycle_of(&w, 100);
    cycle_of(&w, 100);
    assert_eq!(seen.load(Relaxed), 3);
    w.finish(session);
}

fn who_is_called_may_step_on() {
    let w = world();
    let session = scheduled(Schedule::default());
    let seen = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&seen);
    gpuprof::on_profile_ready(move |_| {
        count.fetch_add(1, Relaxed);
        gpuprof::scope!("in the callback");
        gpuprof::step();
    });
    cycle_of(&w, 100);
    cycle_of(&w, 100);
    assert_eq!(
        seen.load(Relaxed),
        2,
        "not for the steps that it makes itself"
    );
    let profile = w.finish(session);
    assert!(
        function(&profile, "in the callback").calls >= 2,
        "they are in the sum"
    );
}
