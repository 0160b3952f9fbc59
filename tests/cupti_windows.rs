//! Promise: what is launched while a window counts is in that window's tables, and in no other's.

mod common;
mod kernel_tier;

use std::sync::{Arc, Mutex};

use common::until;
use cudarc::driver::CudaStream;
use gpuprof::{Schedule, gpu_profile};
use kernel_tier::{Tier, all_kernels, builder, busy, cupti, kernels, tier, work};

#[gpu_profile]
fn step(t: &Tier, stream: &Arc<CudaStream>, ns: u64) {
    t.cpu(10);
    t.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn around(t: &Tier, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    t.gpu.kernel_on(stream, 40);
    t.cpu(100);
    inside();
    t.cpu(100);
    t.gpu.kernel_on(stream, 7);
}

#[gpu_profile]
fn only_once(t: &Tier) {
    t.cpu(123);
}

#[test]
fn a_reset_forgets_what_was_launched_before_also_where_its_records_come_after() {
    let t = tier();
    let session = t.session();
    step(&t, &t.gpu.stream, 1_000);
    t.cpu(1);
    gpuprof::reset();
    t.cpu(1);
    step(&t, &t.gpu.stream, 300);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "step"), [("saxpy", 1, 300)]);
    assert_eq!(busy(&profile, "step"), (300, 1, 1, 1));
    assert_eq!(all_kernels(&profile), (1, 300));
    // The launch, and the wait at the end.
    let calls: u64 = profile.api.iter().map(|call| call.times.calls).sum();
    assert_eq!(calls, 2, "{:?}", profile.api);
}

#[test]
fn of_a_call_that_a_reset_falls_into_counts_what_it_launches_after() {
    let t = tier();
    let session = t.session();
    around(&t, &t.gpu.stream, || {
        step(&t, &t.gpu.stream, 1_000);
        t.settle();
        t.cpu(1);
        gpuprof::reset();
        t.cpu(1);
        step(&t, &t.gpu.stream, 300);
    });
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "around"), [("saxpy", 1, 7)]);
    assert_eq!(busy(&profile, "around"), (307, 1, 2, 2));
}

#[test]
fn sessions_know_nothing_of_each_other() {
    let t = tier();
    for ns in [100, 200] {
        let session = t.session();
        step(&t, &t.gpu.stream, ns);
        let profile = t.finish(session);
        assert_eq!(all_kernels(&profile), (1, ns));
        t.cpu(1);
        step(&t, &t.gpu.stream, 5_000);
        t.settle();
    }
    // One that does not ask for it has nothing of it.
    let session = t.w.session();
    step(&t, &t.gpu.stream, 100);
    let profile = t.w.finish(session);
    assert!(profile.cupti.is_none() && profile.kernels.is_empty());
    assert_eq!(work(&profile, "step").busy_ns, None);
}

#[test]
fn a_snapshot_has_what_was_read_and_a_report_all_of_it() {
    let t = tier();
    let session = t.session();
    step(&t, &t.gpu.stream, 100);
    t.settle();
    until(|| all_kernels(&session.snapshot()) == (1, 100));
    step(&t, &t.gpu.stream, 100);
    t.settle();
    let twice = gpuprof::report();
    assert_eq!(all_kernels(&twice), (2, 200));
    assert_eq!(busy(&twice, "step"), (200, 2, 2, 2));
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "step"), (200, 2, 2, 2));
}

#[test]
fn under_a_schedule_active_steps_count() {
    let t = tier();
    let cycles = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&cycles);
    gpuprof::on_profile_ready(move |profile| into.lock().expect("lock").push(profile));
    t.cpu(1_000);
    let session = builder().schedule(Schedule::new(1, 1, 2).repeat(2)).start();
    let session = session.expect("no other session is open");
    // wait, warm-up, active, active; twice; then nothing more.
    for number in 1..=10 {
        step(&t, &t.gpu.stream, 100 * number);
        t.gpu.kernel(1);
        t.settle();
        t.cpu(1);
        gpuprof::step();
        t.cpu(1);
    }
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "step"), [("saxpy", 4, 2_200)]);
    assert_eq!(busy(&profile, "step"), (2_200, 4, 4, 4));
    assert_eq!(cupti(&profile).outside, 4);
    let cycles = cycles.lock().expect("lock");
    assert_eq!(cycles.len(), 2);
    let sums = [700, 1_500].map(|ns| (ns, 2, 2, 2));
    for (cycle, sum) in cycles.iter().zip(sums) {
        // Records that come after a cycle was handed over are in the sum alone.
        assert!(busy(cycle, "step").0 <= sum.0);
    }
}

#[test]
fn the_first_call_of_the_process_is_told_where_it_was_seen() {
    let t = tier();
    let session = t.session();
    only_once(&t);
    only_once(&t);
    let profile = t.finish(session);
    assert_eq!(work(&profile, "only_once").first_call_ns, Some(123));
    let session = t.session();
    only_once(&t);
    let profile = t.finish(session);
    assert_eq!(work(&profile, "only_once").first_call_ns, None);
}
