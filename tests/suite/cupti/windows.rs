//! Promise: activity that is launched while a window counts is in that window's tables and in no
//! others.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use cudarc::driver::CudaStream;
use gpuprof::profile::ApiStats;
use gpuprof::{Profile, Schedule, gpu_profile};
use support::cupti_world::{Tier, all_kernels, builder, busy, cupti, kernels, tier, work};
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
        under_a_schedule_active_steps_count,
        what_is_lost_in_a_cycle_is_told_there_and_in_no_other,
        what_comes_after_its_cycle_is_unfinished_there_and_whole_in_the_sum,
        the_latency_of_a_graphs_launch_is_in_its_cycle,
        the_first_call_of_the_process_is_told_where_it_was_seen,
    ]],
);

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

fn under_a_schedule_active_steps_count() {
    let t = tier();
    let cycles = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&cycles);
    gpuprof::on_profile_ready(move |profile| into.lock().expect("lock").push(profile));
    t.cpu(1_000);
    let session = builder()
        .schedule(Schedule {
            wait: 1,
            warmup: 1,
            active: 2,
            repeat: NonZeroU32::new(2),
        })
        .start();
    let session = session.expect("no other session is open");
    // Each cycle is wait, warm-up, active, active. After two cycles nothing is measured.
    for number in 1..=10 {
        step(&t, &t.gpu.stream, 100 * number);
        t.gpu.kernel(1);
        t.synchronize();
        t.cpu(1);
        gpuprof::step();
        t.cpu(1);
    }
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "step"), [("saxpy", 4, 2_200)]);
    assert_eq!(busy(&profile, "step"), (2_200, 4, 4, 4));
    assert_eq!(cupti(&profile).unattributed, 4);
    let cycles = cycles.lock().expect("lock");
    assert_eq!(cycles.len(), 2);
    for (cycle, ns) in cycles.iter().zip([700, 1_500]) {
        assert_eq!(busy(cycle, "step"), (ns, 2, 2, 2));
        assert_eq!(kernels(cycle, "step"), [("saxpy", 2, ns)]);
        // Kernels outside spans, and every launch, count in their cycle.
        assert_eq!(
            (cupti(cycle).unattributed, cupti(cycle).unattributed_ns),
            (2, 2)
        );
        assert_eq!(launches(&cycle.api), 4, "{:?}", cycle.api);
        assert_eq!(launches(&work(cycle, "step").api), 2);
        assert_eq!(cupti(cycle).unfinished, 0);
    }
    // Records of one cycle are not counted in the other.
    let records = |profile| cupti(profile).records;
    let of_cycles = cycles.iter().map(records).sum::<u64>();
    assert!(of_cycles <= records(&profile), "{of_cycles}");
}

fn launches(api: &[ApiStats]) -> u64 {
    let launches = api.iter().filter(|call| call.name == "cuLaunchKernel");
    launches.map(|call| call.times.calls).sum()
}

/// Ends a cycle of two steps each time.
fn cycles_of(t: &Tier, steps: u32, mut step: impl FnMut(u32)) -> (Profile, Vec<Profile>) {
    let cycles = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&cycles);
    gpuprof::on_profile_ready(move |profile| into.lock().expect("lock").push(profile));
    t.cpu(1_000);
    let session = builder()
        .schedule(Schedule {
            active: 2,
            ..Schedule::default()
        })
        .start();
    let session = session.expect("no other session is open");
    for number in 1..=steps {
        step(number);
        t.cpu(1);
        gpuprof::step();
        t.cpu(1);
    }
    let profile = t.finish_unchecked(session);
    let cycles = std::mem::take(&mut *cycles.lock().expect("lock"));
    (profile, cycles)
}

fn what_is_lost_in_a_cycle_is_told_there_and_in_no_other() {
    let t = tier();
    let (profile, cycles) = cycles_of(&t, 4, |number| {
        if number == 2 {
            t.cupti.drop_record(CONCURRENT_KERNEL, 1);
        }
        step(&t, &t.gpu.stream, 100);
        t.synchronize();
    });
    let told = |profile: &Profile| (cupti(profile).dropped_records, cupti(profile).unfinished);
    let of_cycles: Vec<_> = cycles.iter().map(told).collect();
    assert_eq!(of_cycles, [(1, 1), (0, 0)]);
    assert_eq!(told(&profile), (1, 1));
    assert_eq!(all_kernels(&profile), (3, 300));
}

fn what_comes_after_its_cycle_is_unfinished_there_and_whole_in_the_sum() {
    let t = tier();
    let stream = t.gpu.another_stream();
    // With one record per buffer, the kernel's record is held until the kernel ends; its call's
    // record is not.
    t.cupti.split(1);
    // The limit applies to later buffers, so the open one is returned first.
    t.finish(t.session());
    let (profile, cycles) = cycles_of(&t, 4, |number| {
        step(&t, &t.gpu.stream, 100);
        t.synchronize();
        if number == 2 {
            t.gpu.kernel_on(&stream, 50_000);
        }
    });
    let unfinished = |profile: &Profile| cupti(profile).unfinished;
    let of_cycles: Vec<_> = cycles.iter().map(unfinished).collect();
    assert_eq!((of_cycles, unfinished(&profile)), (vec![1, 0], 0));
    assert_eq!(all_kernels(&cycles[0]), (2, 200));
    assert_eq!(all_kernels(&profile), (5, 50_400));
    assert_eq!(cupti(&profile).unattributed, 1);
}

fn the_latency_of_a_graphs_launch_is_in_its_cycle() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let graph = capture(&stream, || t.gpu.kernel_on(&stream, 1_000));
    let (profile, cycles) = cycles_of(&t, 4, |_| {
        launch(&t, &graph, 1_000);
        t.synchronize();
    });
    for cycle in &cycles {
        assert_eq!(cycle.kernels[0].launch_latency.calls, 2);
    }
    assert_eq!(
        (cycles.len(), profile.kernels[0].launch_latency.calls),
        (2, 4)
    );
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
