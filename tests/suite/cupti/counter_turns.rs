//! Promise: metrics without room are sampled in turn with the others; both times are stated, and so
//! is the time without samples, on this device and on those that wait meanwhile.

use std::thread;
use std::time::Duration;

use gpuprof::Profile;
use gpuprof::profile::Metric;
use support::cupti_world::{Tier, tier_with};
use support::sampled_world::{
    INTERVAL_NS, KERNEL_NS, assert_mean, begin, device, first, second, session, values,
    with_counters,
};
use support::suite::Module;
use support::{Gpu, tests, until};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        metrics_without_room_are_sampled_in_turn,
        the_first_set_is_sampled_while_another_device_changes,
        a_snapshot_leaves_the_turn_to_the_thread_that_decodes,
    ]],
);

/// What an H100 takes to sample another set.
const CHANGE_NS: u64 = 300_000_000;
/// The second set at a time.
const IN_TURN_NS: u64 = 100_000_000;
const STEP_NS: u64 = 25 * KERNEL_NS;
/// There is room for decoded samples of this time, ns.
const ROOM_NS: u64 = 2_000 * INTERVAL_NS;

fn world(devices: u32) -> Tier {
    let t = with_counters(tier_with(devices));
    t.cupti.set_enable_ns(CHANGE_NS);
    t
}

/// Waits until the thread has decoded what there is; it does so again in 0.1 s.
fn wait_for_decoding(t: &Tier) {
    let calls = || t.cupti.calls("cuptiPmSamplingDecodeData");
    let decoded = calls();
    // At least the second device.
    until(|| calls() > decoded + 1);
    thread::sleep(Duration::from_millis(20));
}

/// Waits until sampling was started as often, by which time has passed.
fn wait_for_start(t: &Tier, starts: u64) -> Profile {
    until(|| t.cupti.calls("cuptiPmSamplingStart") >= starts);
    wait_for_decoding(t);
    gpuprof::collect()
}

/// Kernels of `ns` in all, in steps of at most 0.1 s.
fn steps(t: &Tier, ns: u64) -> Profile {
    for begun in (0..ns).step_by(IN_TURN_NS as usize) {
        first(&t.gpu, IN_TURN_NS.min(ns - begun));
        t.synchronize();
        drop(gpuprof::collect());
    }
    gpuprof::collect()
}

fn metrics_without_room_are_sampled_in_turn() {
    let t = world(1);
    let session = session(&t);
    begin(&t);
    // Each second of steps, the turn, and that of the first set.
    let mut in_turn = Vec::new();
    for (ns, starts) in [(700_000_000, 2), (IN_TURN_NS, 3), (15_000_000_000, 4)] {
        in_turn.push(device(&steps(&t, ns)).in_turn_ns);
        wait_for_start(&t, starts);
    }
    in_turn.push(device(&steps(&t, IN_TURN_NS)).in_turn_ns);
    wait_for_start(&t, 5);
    steps(&t, KERNEL_NS);
    let profile = t.finish(session);
    // The first sample of each time is discarded.
    let turn = IN_TURN_NS - INTERVAL_NS;
    assert_eq!(in_turn, [0, turn, turn, 2 * turn]);
    let values = values(&profile, "first");
    assert_eq!(values.in_turn_ns, 2 * turn);
    let expected = [
        (Metric::SharedThroughput, 0.25),
        (Metric::WarpsActive, 0.6875),
        (Metric::ThreadsActive, 0.75),
        (Metric::SharedConflicts, 0.75),
        (Metric::AccessPasses, 8.0),
    ];
    for (metric, mean) in expected {
        assert_mean(values, metric, mean);
    }
    assert_mean(values, Metric::L1Throughput, 0.625);
    let device = device(&profile);
    assert_eq!((device.gap_ns, device.overflows), (0, 0), "{device:?}");
    // And the part of a sample that was not over.
    let changes = 4 * (CHANGE_NS + INTERVAL_NS);
    assert!(
        (changes..changes + INTERVAL_NS).contains(&device.changing_ns),
        "{device:?}"
    );
    let others = [Metric::TensorFloat, Metric::TensorInteger];
    assert!(others.iter().all(|metric| device.omitted.contains(metric)));
    assert!(device.lacking.ends_with(&others));
}

fn the_first_set_is_sampled_while_another_device_changes() {
    /// What the device without a change loses in one, of `CHANGE_NS` and the step before.
    const STEP_LOST_NS: u64 = STEP_NS + CHANGE_NS - ROOM_NS;
    const LOST_NS: u64 = CHANGE_NS - ROOM_NS;
    let t = world(2);
    let other = Gpu::new(t.sim, 1);
    let session = session(&t);
    begin(&t);
    let mut began = [t.sim.now() - 1_000 - 2 * INTERVAL_NS, 0];
    drop(gpuprof::collect());
    // The first device waits for the other one's start.
    second(&other, 1_000);
    began[1] = t.sim.now();
    drop(gpuprof::collect());
    // Of both devices at once; work during a change is of the device without one.
    let step = |change_ns: [u64; 2]| {
        first(&t.gpu, STEP_NS + change_ns[0]);
        second(&other, STEP_NS + change_ns[1]);
        let changing = if change_ns[0] == 0 { &t.gpu } else { &other };
        changing.context.synchronize().expect("synchronize");
    };
    let step_and_decode = || {
        step([0, 0]);
        drop(gpuprof::collect());
    };
    (0..7).for_each(|_| step_and_decode());
    // A second after the start of the first device, whose both changes come before the other's.
    let both = [
        [0, CHANGE_NS],
        [0, CHANGE_NS],
        [CHANGE_NS, 0],
        [CHANGE_NS, 0],
    ];
    for (changes, starts) in both.into_iter().zip(3..) {
        wait_for_decoding(&t);
        step(changes);
        wait_for_start(&t, starts);
        step_and_decode();
    }
    let ended = t.sim.now();
    let profile = t.finish(session);
    let gaps = [LOST_NS + 2 * LOST_NS, 2 * STEP_LOST_NS];
    assert_eq!(profile.counters.len(), 2);
    for (device, (gap_ns, began)) in profile.counters.iter().zip(gaps.into_iter().zip(began)) {
        assert_eq!(device.gap_ns, gap_ns, "{device:?}");
        assert_eq!(device.overflows, 0, "waiting widens no interval");
        assert_eq!(device.in_turn_ns, IN_TURN_NS - INTERVAL_NS);
        // A kernel of 1 µs was in the way of the steps.
        let changing_ns = 1_000 + 2 * (CHANGE_NS + INTERVAL_NS);
        assert_eq!(device.changing_ns, changing_ns, "{device:?}");
        // All but the discarded first sample, and the last one, which was not over.
        let stated = device.sampled_ns + device.in_turn_ns + gap_ns + changing_ns;
        let missing = ended - began - stated;
        assert!(
            (INTERVAL_NS..2 * INTERVAL_NS).contains(&missing),
            "{missing}"
        );
    }
    for name in ["first", "second"] {
        assert_mean(values(&profile, name), Metric::SmActive, 0.75);
        assert_mean(values(&profile, name), Metric::WarpsActive, 0.6875);
    }
    // Its kernels run all the time, also while the other device changes.
    let of_second = values(&profile, "second");
    assert_eq!(of_second.sampled_ns, profile.counters[1].sampled_ns);
}

fn a_snapshot_leaves_the_turn_to_the_thread_that_decodes() {
    let t = world(1);
    let session = session(&t);
    begin(&t);
    for (ns, changes) in [(695_000_000, 1), (95_000_000, 2)] {
        steps(&t, ns);
        wait_for_decoding(&t);
        steps(&t, 5_000_000);
        wait_for_start(&t, 1 + changes);
        assert_eq!(t.cupti.enables_by("gpuprof-counter"), changes);
    }
    t.finish(session);
}
