//! Promise: resets lose no call and count none twice; snapshots never wait; reports do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, gpu, gpu_times, node, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_reset_begins_at_zero,
        a_call_that_a_reset_falls_into_counts_once_when_it_ends,
        a_call_open_on_another_thread_at_a_reset_counts_in_the_new_window,
        what_is_under_way_at_a_reset_belongs_to_the_window_before,
        a_snapshot_never_waits,
        a_report_waits_for_the_gpu,
        a_report_gives_up_after_the_longest_wait,
        many_windows_add_up,
        snapshots_while_threads_run_only_grow_and_end_exact,
        a_failure_whose_effect_lasts_is_told_in_every_window,
    ]],
);

/// Longer than a test may run: a call that waits this long is a hang.
const FOREVER: Duration = Duration::from_secs(3_600);

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

#[gpu_profile]
fn around(w: &World, _stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.cpu(1_000);
    inside();
    w.cpu(30);
}

#[gpu_profile(cpu, items = 1)]
fn counted() {}

/// Collects the profile and asserts that it is consistent.
fn report() -> Profile {
    let profile = gpuprof::collect();
    assert_consistent(&profile);
    profile
}

fn a_reset_begins_at_zero() {
    let w = world();
    let session = w.session();
    step(&w, &w.gpu.stream, 100);
    w.synchronize();
    assert_eq!(gpu_times(&report(), "step"), (1, 1_100, 1_100));
    gpuprof::reset();
    let empty = report();
    assert_eq!(cpu_times(&empty, "step"), (0, 0, 0));
    assert_eq!(
        (&function(&empty, "step").gpu, empty.tree.len()),
        (&None, 0)
    );
    assert_eq!((empty.wall_ns, empty.diagnostics.calls), (0, 0));
    // Minimum and maximum are those of the new window alone.
    step(&w, &w.gpu.stream, 300);
    step(&w, &w.gpu.stream, 200);
    let profile = w.finish(session);
    let cpu = &function(&profile, "step").cpu;
    assert_eq!((cpu.total_ns, cpu.min_ns, cpu.max_ns), (500, 200, 300));
    assert_eq!(gpu(&profile, "step").timed_calls, 2);
}

fn a_call_that_a_reset_falls_into_counts_once_when_it_ends() {
    let w = world();
    let session = w.session();
    let mut first = None;
    around(&w, &w.gpu.stream, || {
        step(&w, &w.gpu.stream, 100);
        w.synchronize();
        first = Some(report());
        gpuprof::reset();
        step(&w, &w.gpu.stream, 7);
    });
    let first = first.expect("it ran");
    assert_eq!(cpu_times(&first, "around"), (0, 0, 0));
    assert_eq!(cpu_times(&first, "step"), (1, 100, 100));
    // The running `around` call is in the tree with 0 calls, as the parent of the finished `step`.
    assert_eq!(node(&first, &["around"]).calls, 0);
    assert_eq!(node(&first, &["around", "step"]).calls, 1);
    let second = w.finish(session);
    // The whole call counts in the window in which it ends: 1,000 and 30 of its own, the steps' 100
    // and 7, and 1,000 in which the test waited for the GPU.
    assert_eq!(cpu_times(&second, "around"), (1, 2_137, 2_030));
    assert_eq!(cpu_times(&second, "step"), (1, 7, 7));
    // Its GPU time, nested spans included, would belong to both windows, so it is untimed.
    assert_eq!(function(&second, "around").gpu, None);
    assert_eq!(function(&second, "around").untimed.crossed_reset, 1);
    assert_eq!(gpu(&second, "step").timed_calls, 1);
}

fn a_call_open_on_another_thread_at_a_reset_counts_in_the_new_window() {
    let w = world();
    let session = w.session();
    let ((entered, is_in), (go, go_on)) = (channel(), channel());
    thread::scope(|scope| {
        let w = &w;
        let other = scope.spawn(move || {
            around(w, &w.gpu.stream, || {
                entered.send(()).expect("the test waits");
                go_on.recv().expect("the test sends");
            });
        });
        is_in.recv().expect("the thread answers");
        gpuprof::reset();
        go.send(()).expect("the thread waits");
        other.join().expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "around"), (1, 1_030, 1_030));
}

fn what_is_under_way_at_a_reset_belongs_to_the_window_before() {
    let w = world();
    let session = w.session();
    w.gpu.kernel(1_000_000);
    step(&w, &w.gpu.stream, 100);
    assert_eq!(function(&session.snapshot(), "step").untimed.unfinished, 1);
    gpuprof::reset();
    w.synchronize();
    assert_eq!(cpu_times(&report(), "step"), (0, 0, 0));
    step(&w, &w.gpu.stream, 100);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "step"), (1, 1_100, 1_100));
}

fn a_snapshot_never_waits() {
    let w = world();
    let session = Session::builder()
        .exit_wait(FOREVER)
        .start()
        .expect("start");
    step(&w, &w.gpu.stream, 100);
    // The virtual clock stands still, so the kernel never ends: a snapshot that waited would hang.
    let now = session.snapshot();
    assert_consistent(&now);
    let pending = function(&now, "step");
    assert_eq!((pending.calls, pending.untimed_calls), (1, 1));
    assert_eq!((pending.untimed.unfinished, &pending.gpu), (1, &None));
    assert_eq!(cpu_times(&now, "step"), (1, 100, 100));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "step"), (1, 1_100, 1_100));
}

fn a_report_waits_for_the_gpu() {
    let w = world();
    w.warm_up(|| step(&w, &w.gpu.stream, 1));
    let session = Session::builder()
        .exit_wait(FOREVER)
        .start()
        .expect("start");
    step(&w, &w.gpu.stream, 100);
    let waits = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            until(|| waits.load(Ordering::Acquire));
            // The kernel ends only after the resolver has polled it without success.
            let asked = w.sim.calls("cuEventQuery");
            until(|| w.sim.calls("cuEventQuery") >= asked + 20);
            w.cpu(1_000);
        });
        waits.store(true, Ordering::Release);
        assert_eq!(gpu_times(&report(), "step"), (1, 1_100, 1_100));
    });
    drop(session);
}

fn a_report_gives_up_after_the_longest_wait() {
    let w = world();
    let limit = Duration::from_millis(5);
    let session = Session::builder().exit_wait(limit).start().expect("start");
    step(&w, &w.gpu.stream, 100);
    let profile = session.finish();
    assert_consistent(&profile);
    assert_eq!(function(&profile, "step").untimed.unfinished, 1);
    // GPU times that arrive after finish() belong to no window.
    w.synchronize();
    let session = w.session();
    let profile = w.finish(session);
    assert_eq!(function(&profile, "step").gpu, None);
    assert_eq!(profile.diagnostics.timed_calls, 0);
}

fn many_windows_add_up() {
    let w = world();
    let session = w.session();
    let (mut calls, mut cpu, mut timed, mut gpu_ns, mut items) = (0, 0, 0, 0, 0.0);
    let mut take = || {
        w.synchronize();
        let profile = report();
        gpuprof::reset();
        let (step_calls, total, _) = cpu_times(&profile, "step");
        calls += step_calls;
        cpu += total;
        if step_calls > 0 {
            timed += gpu(&profile, "step").timed_calls;
            gpu_ns += gpu(&profile, "step").times.total_ns;
        }
        items += function(&profile, "counted").items.unwrap_or(0.0);
    };
    for round in 0..100 {
        for _ in 0..round % 7 {
            step(&w, &w.gpu.stream, 10);
            counted();
        }
        take();
    }
    // Calls in 100 rounds: fourteen times 0 + 1 + … + 6, then 0 + 1.
    assert_eq!((calls, cpu, timed), (295, 2_950, 295));
    assert_eq!(items, 295.0);
    // At each round's first call the stream is idle, so 10 ns of CPU time are between its events.
    // Fifteen rounds have no calls.
    let rounds_with_calls = 100 - 15;
    assert_eq!(gpu_ns, 295 * 100 + rounds_with_calls * 10);
    drop(session);
}

fn snapshots_while_threads_run_only_grow_and_end_exact() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 50;
    let w = world();
    let session = w.session();
    // The first call registers the function, so that every snapshot has it.
    counted();
    let stop = AtomicBool::new(false);
    let running = |_: &()| {
        let mut calls = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            counted();
            calls += 1;
        }
        calls
    };
    let (made, seen) = thread::scope(|scope| {
        let threads: Vec<_> = [(); THREADS]
            .iter()
            .map(|unit| scope.spawn(|| running(unit)))
            .collect();
        let mut last = 0;
        for _ in 0..ROUNDS {
            let now = function(&session.snapshot(), "counted").calls;
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        stop.store(true, Ordering::Relaxed);
        let made: u64 = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum();
        (made, function(&session.snapshot(), "counted").calls)
    });
    assert_eq!(made + 1, seen);
    drop(session);
}

fn a_failure_whose_effect_lasts_is_told_in_every_window() {
    const ILLEGAL_ADDRESS: i32 = 700;
    let w = world();
    let session = w.session();
    w.sim.fail("cuEventRecord", 1, 1, ILLEGAL_ADDRESS);
    step(&w, &w.gpu.stream, 100);
    gpuprof::reset();
    step(&w, &w.gpu.stream, 100);
    let profile = w.finish(session);
    // gpuprof stopped using the context before the reset. The new profile must still say why
    // nothing is timed.
    assert_eq!(function(&profile, "step").untimed.unavailable, 1);
    let errors: Vec<_> = profile
        .diagnostics
        .errors
        .iter()
        .map(|e| &*e.name)
        .collect();
    assert_eq!(errors, ["CUDA_ERROR_ILLEGAL_ADDRESS"]);
}
