//! Promise: an event record that waits because the stream's queue is full is reported separately
//! from gpuprof's overhead, because the program's next launch would have waited; one that waits for
//! another thread is its overhead. A stream takes as
//! many launches of a graph of profiled functions as without gpuprof.

use std::thread;

use gpuprof::gpu_profile;
use support::graph_capture::{capture, launch, model};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_record_that_waits_for_room_is_not_gpuprofs_cost,
        a_record_that_waits_for_another_thread_is_gpuprofs_cost,
        a_launch_of_a_graph_of_profiled_functions_takes_the_room_of_one_operation,
    ]],
);

/// The operations that a stream queues behind the running kernel before a call waits, as on an
/// H200.
const BEHIND: u32 = 1_021;
/// Longer than a record takes, so that gpuprof reports it as a stall.
const KERNEL_NS: u64 = 100_000;

#[gpu_profile(stream = w.gpu.stream)]
fn behind(w: &World) {
    w.gpu.kernel(KERNEL_NS);
}

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
    assert_eq!(profile.diagnostics.stalled_ns, 2 * KERNEL_NS);
    assert_eq!(profile.diagnostics.overhead_ns, 0);
    // The wait of the launch itself is part of the function's time.
    assert_eq!(cpu_times(&profile, "behind"), (1, KERNEL_NS, KERNEL_NS));
    assert_eq!(gpu_times(&profile, "behind"), (1, KERNEL_NS, KERNEL_NS));
}

/// What a record takes if another thread of the stream holds the driver's lock.
const LOCKED_NS: u64 = 60_000;

fn a_record_that_waits_for_another_thread_is_gpuprofs_cost() {
    let w = world();
    let session = w.session();
    thread::scope(|scope| {
        scope.spawn(|| behind(&w));
    });
    behind(&w);
    // The resolver looks at both threads' calls, and the GPU passes them.
    w.gpu.stream.synchronize().expect("synchronize");
    drop(gpuprof::collect());
    w.sim.set_call_ns("cuEventRecord", LOCKED_NS);
    behind(&w);
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.overhead_ns, 2 * LOCKED_NS);
    assert_eq!(profile.diagnostics.stalled_ns, 0);
}

fn a_launch_of_a_graph_of_profiled_functions_takes_the_room_of_one_operation() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    w.sim.reset_calls();
    let graph = capture(&stream, || model(&w, &stream));
    w.sim.set_queue_depth(BEHIND);
    w.gpu.kernel_on(&stream, KERNEL_NS);
    let before = w.sim.now();
    // An event record in the graph would be an operation of its own.
    (0..BEHIND).for_each(|_| launch(&w, &graph, KERNEL_NS));
    assert_eq!(w.sim.now(), before, "there was room");
    // gpuprof creates no user object: a stream queues far fewer launches of a graph that owns one.
    assert_eq!(w.sim.calls("cuUserObjectCreate"), 0);
    launch(&w, &graph, KERNEL_NS);
    assert!(w.sim.now() > before, "the program's own launch waited");
    let profile = w.finish(session);
    assert_eq!(function(&profile, "model").captured_calls, 1);
    assert_eq!(
        profile.diagnostics.stalled_ns, 0,
        "the wait is the program's"
    );
}
