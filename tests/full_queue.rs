//! Promise: an event record that waits because the stream's queue is full is told apart from what gpuprof costs: the program's
//! next launch would have waited there.

mod common;

use common::{World, cpu_times, gpu_times, world};
use gpuprof::gpu_profile;

/// What a stream takes behind the kernel that runs before a call waits, as on the device that the simulated one is modelled on.
const BEHIND: u32 = 1_021;
/// Longer than a record works, so that it is told to have waited.
const KERNEL_NS: u64 = 100_000;

#[gpu_profile(stream = w.gpu.stream)]
fn behind(w: &World) {
    w.gpu.kernel(KERNEL_NS);
}

#[test]
fn a_record_that_waits_for_room_is_not_gpuprofs_cost() {
    let w = world();
    w.warm_up(|| behind(&w));
    w.sim.set_queue_depth(BEHIND);
    let session = w.session();
    let before = w.sim.now();
    for _ in 0..=BEHIND {
        w.gpu.kernel(KERNEL_NS);
    }
    assert_eq!(w.sim.now(), before, "there was room");
    behind(&w);
    assert_eq!(w.sim.now(), before + 3 * KERNEL_NS, "each call waited");
    let profile = w.finish(session);
    assert_eq!(profile.trust.own_stalled_ns, 2 * KERNEL_NS);
    assert_eq!(profile.trust.own_cost_ns, 0);
    // The launch's own wait is the function's.
    assert_eq!(cpu_times(&profile, "behind"), (1, KERNEL_NS, KERNEL_NS));
    assert_eq!(gpu_times(&profile, "behind"), (1, KERNEL_NS, KERNEL_NS));
}
