//! Promise: activity that is launched while a window counts is in that window's tables and in no
//! others.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, all_kernels, busy, cupti, kernels, tier, work};
use support::graph_capture::{capture, launch};
use support::suite::Module;
use support::tests;
use support::until;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_reset_forgets_what_was_launched_before_also_where_its_records_come_after,
        of_a_call_that_a_reset_falls_into_counts_what_it_launches_after,
        sessions_know_nothing_of_each_other,
        a_snapshot_has_what_was_read_and_a_report_all_of_it,
        what_is_lost_in_a_window_is_told_there_and_in_no_other,
        what_comes_after_its_window_is_in_no_other,
        the_latency_of_a_graphs_launch_is_in_its_window,
        the_first_call_of_the_process_is_told_where_it_was_seen,
    ]],
)
.with_subscriber_calls();

/// `CUpti_ActivityKind`.
const CONCURRENT_KERNEL: u32 = 10;

#[gpu_profile]
fn step(t: &Tier, stream: &Arc<CudaStream>, ns: u64) {
    t.cpu(10);
    t.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn encloses(t: &Tier, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
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
    // The calls are the launch and the final synchronization.
    let calls: u64 = profile.api.iter().map(|call| call.times.calls).sum();
    assert_eq!(calls, 2, "{:?}", profile.api);
}

fn of_a_call_that_a_reset_falls_into_counts_what_it_launches_after() {
    let t = tier();
    let session = t.session();
    encloses(&t, &t.gpu.stream, || {
        step(&t, &t.gpu.stream, 1_000);
        t.synchronize();
        t.cpu(1);
        gpuprof::reset();
        t.cpu(1);
        step(&t, &t.gpu.stream, 300);
    });
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "encloses"), [("saxpy", 1, 7)]);
    assert_eq!(busy(&profile, "encloses"), (307, 1, 2, 2));
}

fn sessions_know_nothing_of_each_other() {
    let t = tier();
    for ns in [100, 200] {
        let session = t.session();
        step(&t, &t.gpu.stream, ns);
        let profile = t.finish(session);
        assert_eq!(all_kernels(&profile), (1, ns));
        t.cpu(1);
        step(&t, &t.gpu.stream, 5_000);
        t.synchronize();
    }
    // A session without CUPTI has no CUPTI data.
    let session = t.w.session();
    step(&t, &t.gpu.stream, 100);
    let profile = t.w.finish(session);
    assert!(profile.cupti.is_none() && profile.kernels.is_empty());
    assert_eq!(work(&profile, "step").busy_ns, None);
}

fn a_snapshot_has_what_was_read_and_a_report_all_of_it() {
    let t = tier();
    let session = t.session();
    step(&t, &t.gpu.stream, 100);
    t.synchronize();
    until(|| all_kernels(&session.snapshot()) == (1, 100));
    step(&t, &t.gpu.stream, 100);
    t.synchronize();
    let twice = gpuprof::collect();
    assert_eq!(all_kernels(&twice), (2, 200));
    assert_eq!(busy(&twice, "step"), (200, 2, 2, 2));
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "step"), (200, 2, 2, 2));
}

fn what_is_lost_in_a_window_is_told_there_and_in_no_other() {
    let t = tier();
    let session = t.session();
    let told = |profile: &Profile| (cupti(profile).dropped_records, cupti(profile).unfinished);
    for (lost, kernels) in [(1, 1), (0, 2)] {
        for number in 1..=2 {
            if number == 2 && lost > 0 {
                t.cupti.drop_record(CONCURRENT_KERNEL, 1);
            }
            step(&t, &t.gpu.stream, 100);
            t.synchronize();
        }
        let profile = gpuprof::collect();
        assert_eq!(told(&profile), (lost, lost));
        assert_eq!(all_kernels(&profile), (kernels, 100 * kernels));
        t.cpu(1);
        gpuprof::reset();
        t.cpu(1);
    }
    t.finish(session);
}

fn what_comes_after_its_window_is_in_no_other() {
    let t = tier();
    let stream = t.gpu.another_stream();
    // With one record per buffer, the kernel's record is held until the kernel ends; its call's
    // record is not.
    t.cupti.split(1);
    // The limit applies to later buffers, so the open one is returned first.
    t.finish(t.session());
    let session = t.session();
    step(&t, &t.gpu.stream, 100);
    t.synchronize();
    t.gpu.kernel_on(&stream, 50_000);
    // Not only the first kernel's call, before its record.
    until(|| {
        let profile = session.snapshot();
        cupti(&profile).unfinished == 1 && all_kernels(&profile).0 == 1
    });
    assert_eq!(all_kernels(&session.snapshot()), (1, 100));
    t.cpu(1);
    gpuprof::reset();
    t.cpu(1);
    step(&t, &t.gpu.stream, 100);
    t.synchronize();
    stream.synchronize().expect("synchronize");
    let profile = t.finish(session);
    assert_eq!(all_kernels(&profile), (1, 100));
    assert_eq!(
        (cupti(&profile).unattributed, cupti(&profile).unfinished),
        (0, 0)
    );
}

fn the_latency_of_a_graphs_launch_is_in_its_window() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let graph = capture(&stream, || t.gpu.kernel_on(&stream, 1_000));
    let session = t.session();
    for launches in [2, 1] {
        for _ in 0..launches {
            launch(&t, &graph, 1_000);
            t.synchronize();
        }
        let profile = gpuprof::collect();
        assert_eq!(profile.kernels[0].launch_latency.calls, launches);
        t.cpu(1);
        gpuprof::reset();
        t.cpu(1);
    }
    t.finish(session);
}

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
