//! Promise: the rates of automatic sampling follow the program. Long calls are timed although short
//! ones spend the budget, calls that become longer are timed again, an idle time is not saved up
//! for and not paid for later, and each session begins anew.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, until};

use crate::automatic_rate::{session, settle, with_event_overhead, with_event_times};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        long_calls_are_timed_although_short_ones_inside_spend,
        calls_that_become_longer_are_all_timed_again,
        short_bursts_after_idle_times_are_timed,
        calls_of_an_earlier_session_are_not_the_first_of_the_next,
    ]],
);

const MS: u64 = 1_000_000;

#[gpu_profile]
fn epoch(w: &World, stream: &Arc<CudaStream>) {
    (0..400).for_each(|_| batch(w, stream));
}

#[gpu_profile]
fn batch(w: &World, stream: &Arc<CudaStream>) {
    (0..10).for_each(|_| step(w, stream, 10_000));
}

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

/// Always timed.
#[gpu_profile(sample = 1)]
fn marker(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn outermost(w: &World, stream: &Arc<CudaStream>) {
    middle(w, stream);
}

#[gpu_profile]
fn middle(w: &World, stream: &Arc<CudaStream>) {
    innermost(w, stream);
}

#[gpu_profile]
fn innermost(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 8 * MS);
}

/// Makes a call that is timed, and waits until gpuprof has read its time, and so the times of all
/// calls before it on the stream.
fn mark(w: &World, session: &Session) {
    let timed = || session.snapshot().diagnostics.timed_calls;
    let before = timed();
    marker(w, &w.gpu.stream);
    w.gpu.context.synchronize().expect("synchronize");
    until(|| timed() > before);
}

fn long_calls_are_timed_although_short_ones_inside_spend() {
    let w = with_event_overhead();
    let session = session();
    let epochs = |count| {
        for _ in 0..count {
            epoch(&w, &w.gpu.stream);
            settle(&w, &session);
        }
    };
    // 4 s: what the first calls have cost no longer counts.
    epochs(100);
    gpuprof::reset();
    epochs(60);
    let profile = w.finish(session);
    // Batches and steps would each spend all there is. Together they spend twice as much, and so
    // their rates double. An epoch may double as well: it takes a sixth of what it may.
    assert_eq!(gpu(&profile, "epoch").timed_calls, 60);
    for (name, calls) in [("batch", 60 * 400), ("step", 60 * 4_000)] {
        assert!(gpu(&profile, name).timed_calls < calls / 20, "{name}");
    }
}

fn calls_that_become_longer_are_all_timed_again() {
    let w = with_event_overhead();
    let session = session();
    for _ in 0..3_000 {
        (0..8).for_each(|_| step(&w, &w.gpu.stream, 5_000));
        settle(&w, &session);
    }
    // One call in 1,024 is timed. Each mark makes gpuprof look at the time, and no later than at
    // the next one a rate is halved.
    let long_calls = |count| {
        gpuprof::reset();
        for _ in 0..count {
            step(&w, &w.gpu.stream, 1_000 * MS);
            w.gpu.context.synchronize().expect("synchronize");
            mark(&w, &session);
        }
        settle(&w, &session);
    };
    // Ten times half, at every second call, and what the first timed ones cost.
    long_calls(40);
    long_calls(20);
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "step").timed_calls, 20);
    assert_eq!(gpu(&profile, "step").times.total_ns, 20_000 * MS);
}

fn short_bursts_after_idle_times_are_timed() {
    let w = with_event_times();
    let session = session();
    let burst = || {
        w.cpu(20_000 * MS);
        for _ in 0..50 {
            outermost(&w, &w.gpu.stream);
            settle(&w, &session);
        }
    };
    // The idle time before a session's first burst does not count, and the first calls of the
    // second may still be left out.
    (0..2).for_each(|_| burst());
    gpuprof::reset();
    (0..8).for_each(|_| burst());
    let profile = w.finish(session);
    // 150 pairs are counted as 450 µs, and 500 µs of a second may be spent.
    for name in ["outermost", "middle", "innermost"] {
        assert_eq!(gpu(&profile, name).timed_calls, 8 * 50, "{name}");
    }
}

fn calls_of_an_earlier_session_are_not_the_first_of_the_next() {
    let w = with_event_overhead();
    let first = session();
    (0..400).for_each(|_| step(&w, &w.gpu.stream, 5_000));
    // None of their times was read yet.
    drop(first);
    let second = session();
    mark(&w, &second);
    (0..8).for_each(|_| step(&w, &w.gpu.stream, 5_000));
    let profile = w.finish(second);
    assert_eq!(gpu(&profile, "step").timed_calls, 8);
    assert_eq!(function(&profile, "step").untimed_calls, 0);
}
