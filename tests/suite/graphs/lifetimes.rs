//! Promise: gpuprof holds neither a stream nor an event for a captured call, so a graph may be
//! launched and dropped anywhere, at any time.

use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::gpu_profile;
use support::graph_capture::{capture, launch, layer, model};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_graph_may_be_launched_and_dropped_on_other_threads,
        captured_calls_hold_no_event_and_no_stream,
    ]],
);

/// A graph that is used by one thread at a time.
struct Moved(CudaGraph);

// SAFETY: the simulated driver's graphs may be used by any one thread, and the tests use them one
// after another.
unsafe impl Send for Moved {}

#[gpu_profile]
fn replay(w: &World, _stream: &Arc<CudaStream>, graph: &Moved, ns: u64) {
    launch(w, &graph.0, ns);
}

fn a_graph_may_be_launched_and_dropped_on_other_threads() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let moved = thread::scope(|scope| {
        let there = || Moved(capture(&stream, || model(&w, &stream)));
        scope.spawn(there).join().expect("no panic")
    });
    replay(&w, &stream, &moved, 1_000);
    let (w, stream) = (&w, &stream);
    thread::scope(|scope| {
        scope
            .spawn(move || {
                replay(w, stream, &moved, 2_000);
                replay(w, stream, &moved, 3_000);
                // Dropped while all launches are in flight.
                drop(moved);
            })
            .join()
            .expect("no panic");
    });
    let profile = w.finish(session);
    // Each replay runs three kernels.
    assert_eq!(gpu_times(&profile, "replay"), (3, 18_000, 18_000));
    let model = function(&profile, "model");
    assert_eq!((model.captured_calls, &model.gpu), (1, &None));
    assert_eq!(profile.diagnostics.errors, []);
}

fn captured_calls_hold_no_event_and_no_stream() {
    /// More than the event pairs of a context.
    const CALLS: u64 = 20_000;
    let w = world();
    let stream = w.gpu.another_stream();
    w.warm_up(|| layer(&w, &stream));
    let session = w.session();
    w.sim.reset_calls();
    let owners = Arc::strong_count(&stream);
    let graph = capture(&stream, || (0..CALLS).for_each(|_| layer(&w, &stream)));
    drop(graph);
    assert_eq!(Arc::strong_count(&stream), owners);
    assert_eq!(w.sim.calls("cuEventCreate"), 0);
    layer(&w, &stream);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "layer").captured_calls, CALLS);
    assert_eq!(gpu(&profile, "layer").timed_calls, 1);
    assert_eq!(profile.diagnostics.errors, []);
}
