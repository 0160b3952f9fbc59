//! Promise: whichever of a graph, its handles and its stream is gone first, each replay's GPU time
//! is attributed only to that replay, and no event leaks.

use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{Graph, gpu_profile};
use support::graph_capture::{capture, launch, layer, model};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_graph_may_be_launched_and_dropped_on_other_threads,
        what_a_graph_has_comes_back_when_it_is_gone,
        on_a_stream_that_nothing_keeps_no_launch_is_taken_for_a_replay,
        what_outlives_its_graph_records_nothing_that_is_read,
    ]],
);

/// A graph that is used by one thread at a time.
struct Moved(Graph);

// SAFETY: the simulated driver's graphs may be used by any one thread, and the tests use them one
// after another.
unsafe impl Send for Moved {}

impl Moved {
    fn launch(&self, w: &World, ns: u64) {
        launch(w, &self.0, ns);
    }
}

fn a_graph_may_be_launched_and_dropped_on_other_threads() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let moved = thread::scope(|scope| {
        let there = || Moved(Graph::new(capture(&stream, || model(&w, &stream))));
        scope.spawn(there).join().expect("no panic")
    });
    moved.launch(&w, 1_000);
    let w = &w;
    thread::scope(|scope| {
        scope
            .spawn(move || {
                moved.launch(w, 2_000);
                moved.launch(w, 3_000);
                // Dropped while all launches are in flight.
                drop(moved);
            })
            .join()
            .expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model"), (3, 18_000, 6_000));
    assert_eq!(function(&profile, "model").threads, 3);
    assert_eq!(profile.diagnostics.errors, []);
}

fn what_a_graph_has_comes_back_when_it_is_gone() {
    let w = world();
    let stream = w.gpu.another_stream();
    w.warm_up(|| layer(&w, &stream));
    let session = w.session();
    let round = || {
        let kept = capture(&stream, || model(&w, &stream));
        let never_launched = Graph::new(capture(&stream, || model(&w, &stream)));
        let graph = Graph::new(kept);
        launch(&w, &graph, 1_000);
        launch(&w, &graph, 1_000);
        drop((graph, never_launched));
        stream.synchronize().expect("synchronize");
        let timed = || session.snapshot().diagnostics.untimed.unfinished == 0;
        support::until(timed);
    };
    // If events were not returned, every 200 rounds would create new ones.
    let creates_no_event = || {
        w.sim.reset_calls();
        (0..200).for_each(|_| round());
        w.sim.calls("cuEventCreate") == 0
    };
    let tries = (1..=10).find(|_| creates_no_event());
    let launches = 400 * tries.expect("events come back");
    let profile = w.finish(session);
    let times = (launches, 3_000 * launches, 1_000 * launches);
    assert_eq!(gpu_times(&profile, "model"), times);
}

#[gpu_profile(graph)]
fn borrows(w: &World, stream: &CudaStream, owner: &Arc<CudaStream>) {
    assert_eq!(stream.cu_stream(), owner.cu_stream());
    w.gpu.kernel_on(owner, 1_000);
}

fn on_a_stream_that_nothing_keeps_no_launch_is_taken_for_a_replay() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let inner = Graph::new(capture(&stream, || borrows(&w, &stream, &stream)));
    launch(&w, &inner, 1_000);
    // The captured launch runs nothing. gpuprof cannot ask the driver whether it was captured: the
    // borrowed stream may have been destroyed.
    let outer = Graph::new(capture(&stream, || launch(&w, &inner, 1_000)));
    launch(&w, &outer, 2_000);
    borrows(&w, &stream, &stream);
    let profile = w.finish(session);
    let borrows = function(&profile, "borrows");
    assert_eq!((borrows.calls, borrows.captured_calls), (2, 1));
    assert_eq!((borrows.graph_calls, borrows.replays), (0, 0));
    assert_eq!(gpu(&profile, "borrows").timed_calls, 1);
    assert_eq!(profile.diagnostics.errors, []);
}

fn what_outlives_its_graph_records_nothing_that_is_read() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let old = capture(&stream, || layer(&w, &stream));
    // SAFETY: both handles are the old graph's, which lives to the end.
    let known = || unsafe {
        let (graph, exec) = (old.cu_graph().cast(), old.cu_graph_exec().cast());
        Graph::from_raw(&old, graph, exec)
    };
    let launch_old = |graph: &Graph<&CudaGraph>, ns| {
        w.sim.set_kernel_ns(kernels::SAXPY, ns);
        let launched = graph.launch_with(|old| old.launch());
        launched.expect("launch");
    };
    // After `into_inner` the graph can be wrapped again.
    let _ = known().into_inner();
    let graph = known();
    launch_old(&graph, 1_000);
    let _ = graph.into_inner();
    // After a drop its events are used by the next graph.
    drop(known());
    let new = Graph::new(capture(&stream, || model(&w, &stream)));
    launch(&w, &new, 1_000);
    launch_old(&known(), 50_000);
    w.sim.set_kernel_ns(kernels::SAXPY, 50_000);
    old.launch().expect("launch");
    launch(&w, &new, 2_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model"), (2, 9_000, 3_000));
    assert_eq!(function(&profile, "layer").replays, 1 + 4);
    assert_eq!(gpu_times(&profile, "layer"), (5, 7_000, 7_000));
    assert_eq!(profile.diagnostics.errors, []);
}
