//! Promise: a function marked `graph` is timed at every replay of the graph it was captured to, and its row shows replays.

mod common;

use std::sync::Arc;
use std::thread;

use common::{World, function, gpu, gpu_times, node, world};
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{Graph, gpu_profile};

const MODE: Mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;

#[gpu_profile(graph, bytes = 500)]
fn layer(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile(graph)]
fn model(w: &World, stream: &Arc<CudaStream>) {
    layer(w, stream);
    w.gpu.kernel_on(stream, 1_000);
    layer(w, stream);
}

#[gpu_profile]
fn replay(w: &World, graph: &Graph, stream: &Arc<CudaStream>) {
    launch(w, graph, 1_000);
    w.gpu.kernel_on(stream, 250);
}

#[gpu_profile(graph)]
fn recursive(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    w.gpu.kernel_on(stream, 1_000);
    if depth > 0 {
        recursive(w, stream, depth - 1);
    }
}

#[gpu_profile(graph, stream = stream)]
fn around(stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

fn capture(stream: &Arc<CudaStream>, inside: impl FnOnce()) -> CudaGraph {
    stream.begin_capture(MODE).expect("begin");
    inside();
    stream
        .end_capture(Flags(0))
        .expect("the capture is whole")
        .expect("a graph")
}

/// Launches with kernels of `ns`.
fn launch(w: &World, graph: &Graph, ns: u64) {
    w.sim.set_kernel_ns(kernels::SAXPY, ns);
    graph.launch().expect("launch");
}

#[test]
fn every_replay_is_a_timed_call() {
    let w = world();
    let stream = w.gpu.another_stream();
    w.warm_up(|| layer(&w, &stream));
    let session = w.session();
    layer(&w, &stream);
    let graph = Graph::new(capture(&stream, || model(&w, &stream)));
    w.sim.reset_calls();
    // The later ones are launched before the earlier have begun.
    for ns in [2_000, 3_000, 7_000] {
        launch(&w, &graph, ns);
    }
    // Two nodes for each captured call, and nothing that waits or goes onto the stream.
    assert_eq!(w.sim.calls("cuGraphExecEventRecordNodeSetEvent"), 3 * 3 * 2);
    for name in ["cuEventRecord", "cuStreamSynchronize", "cuEventSynchronize"] {
        assert_eq!(w.sim.calls(name), 0, "{name}");
    }
    let profile = w.finish(session);

    let layer = function(&profile, "layer");
    assert_eq!((layer.calls, layer.captured_calls), (3, 2));
    assert_eq!((layer.graph_calls, layer.replays, layer.runs()), (2, 6, 7));
    assert_eq!(gpu_times(&profile, "layer"), (7, 25_010, 25_010));
    let times = &gpu(&profile, "layer").times;
    assert_eq!((times.min_ns, times.max_ns), (1_010, 7_000));
    // CPU times are of the three calls that were made; the work is that of the seven that ran.
    assert_eq!(layer.cpu.total_ns, 30);
    assert_eq!(layer.bytes, Some(3_500.0));
    assert_eq!(gpu(&profile, "layer").timed_bytes, Some(3_500.0));

    let model = function(&profile, "model");
    assert_eq!((model.calls, model.replays, model.runs()), (1, 3, 3));
    assert_eq!(gpu_times(&profile, "model"), (3, 36_000, 12_000));
    let times = &gpu(&profile, "model").times;
    assert_eq!((times.min_ns, times.max_ns), (6_000, 21_000));
    assert_eq!(profile.trust.untimed.sum(), 0);
    assert_eq!(profile.trust.errors, []);
    let report = profile.to_string();
    let row = report.lines().find(|line| line.starts_with("layer "));
    let calls = row.and_then(|row| row.split_whitespace().nth(1));
    assert_eq!(calls, Some("7"), "{report}");
    assert!(report.contains("layer 6 (captured 2)"), "{report}");
    assert!(!report.contains('≥'), "nothing is lacking: {report}");
}

#[test]
fn replays_count_under_the_span_that_launches_them() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || model(&w, &stream)));
    replay(&w, &graph, &stream);
    replay(&w, &graph, &stream);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "replay"), (2, 6_500, 500));
    assert_eq!(gpu_times(&profile, "model"), (2, 6_000, 2_000));
    assert_eq!(gpu_times(&profile, "layer"), (4, 4_000, 4_000));
    let at = |chain: &[&str]| {
        let node = node(&profile, chain);
        (node.calls, node.replays, node.gpu_total_ns)
    };
    assert_eq!(at(&["model"]), (1, 0, None));
    assert_eq!(at(&["replay", "model"]), (0, 2, Some(6_000)));
    assert_eq!(at(&["replay", "model", "layer"]), (0, 4, Some(4_000)));
}

#[test]
fn a_recursive_function_is_not_counted_twice() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || recursive(&w, &stream, 2)));
    launch(&w, &graph, 1_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "recursive"), (3, 3_000, 3_000));
    assert_eq!(gpu(&profile, "recursive").timed_ns, 6_000);
}

#[test]
fn a_window_of_replays_alone_has_no_cpu_times() {
    let w = world();
    let stream = w.gpu.another_stream();
    let before = w.session();
    let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
    let captured = w.finish(before);
    assert_eq!(function(&captured, "layer").runs(), 0);
    let report = captured.to_string();
    assert!(report.contains("no replay seen: layer."), "{report}");

    let session = w.session();
    launch(&w, &graph, 1_000);
    gpuprof::reset();
    launch(&w, &graph, 2_000);
    let profile = w.finish(session);
    let layer = function(&profile, "layer");
    assert_eq!((layer.calls, layer.replays), (0, 1));
    assert_eq!(gpu_times(&profile, "layer"), (1, 2_000, 2_000));
    let report = profile.to_string();
    // Nothing has a time on the CPU, so no column is about that.
    assert!(report.contains("GPU ─") && !report.contains("CPU ─"), "{report}");

    // Not of interest here: neither counted nor timed, and nothing of it shows up later.
    let filtered = gpuprof::Session::builder().filter("^other$").start();
    launch(&w, &graph, 4_000);
    let profile = w.finish(filtered.expect("no other session is open"));
    assert_eq!(profile.trust.replays, 0);
    let session = w.session();
    launch(&w, &graph, 1_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "layer"), (1, 1_000, 1_000));
}

/// A graph that one thread at a time uses.
struct Moved(Graph);

// SAFETY: the simulated driver's graphs may be used by any one thread, and the tests use them one after another.
unsafe impl Send for Moved {}

impl Moved {
    fn launch(&self, w: &World, ns: u64) {
        launch(w, &self.0, ns);
    }
}

#[test]
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
                // While all of them are under way.
                drop(moved);
            })
            .join()
            .expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model"), (3, 18_000, 6_000));
    assert_eq!(function(&profile, "model").threads, 3);
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn what_a_graph_has_comes_back_when_it_is_gone() {
    let w = world();
    let stream = w.gpu.another_stream();
    w.warm_up(|| layer(&w, &stream));
    let session = w.session();
    let round = || {
        let kept = capture(&stream, || model(&w, &stream));
        let unseen = capture(&stream, || model(&w, &stream));
        let graph = Graph::new(kept);
        launch(&w, &graph, 1_000);
        launch(&w, &graph, 1_000);
        unseen.launch().expect("launch");
        drop((graph, unseen));
        stream.synchronize().expect("synchronize");
        let timed = || session.snapshot().trust.untimed.unfinished == 0;
        common::until(timed);
    };
    (0..20).for_each(|_| round());
    w.sim.reset_calls();
    (0..200).for_each(|_| round());
    assert_eq!(w.sim.calls("cuEventCreate"), 0);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model"), (440, 1_320_000, 440_000));
}

#[test]
fn a_launch_that_fails_is_none() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
    launch(&w, &graph, 1_000);
    w.sim.fail("cuGraphLaunch", 1, 1, 2);
    let failed = graph.launch().expect_err("as ordered");
    assert_eq!(failed.0 as i32, 2);
    launch(&w, &graph, 3_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "layer"), (2, 4_000, 4_000));
    assert_eq!(profile.trust.errors, [], "it was the program's own call");
}

#[test]
fn a_driver_that_refuses_to_swap_events_costs_times_and_nothing_else() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
    launch(&w, &graph, 1_000);
    w.gpu.context.synchronize().expect("synchronize");
    common::until(|| session.snapshot().trust.timed_calls == 1);
    // The second of the two: the nodes then belong to different pairs.
    w.sim.fail("cuGraphExecEventRecordNodeSetEvent", 2, 1, 801);
    launch(&w, &graph, 2_000);
    launch(&w, &graph, 4_000);
    let profile = w.finish(session);
    let layer = function(&profile, "layer");
    assert_eq!((layer.replays, layer.untimed.cuda_error), (3, 2));
    assert_eq!(gpu_times(&profile, "layer"), (1, 1_000, 1_000));
    assert_eq!(profile.trust.errors.len(), 1);
    assert!(profile.to_string().contains('≥'));
}

#[test]
fn under_sampling_counts_stay_exact_and_parts_go_with_their_whole() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = gpuprof::Session::builder().sample(3).start();
    let session = session.expect("no other session is open");
    let graph = Graph::new(capture(&stream, || model(&w, &stream)));
    (0..300).for_each(|_| launch(&w, &graph, 1_000));
    let profile = w.finish(session);
    let (model, layer) = (function(&profile, "model"), function(&profile, "layer"));
    assert_eq!((model.replays, layer.replays), (300, 600));
    let timed = gpu(&profile, "model").timed_calls;
    assert!((50..150).contains(&timed), "{timed} of 300");
    assert_eq!(gpu(&profile, "layer").timed_calls, 2 * timed);
    assert_eq!(model.untimed.sampled_out, 300 - timed);
    // All replays are alike, so the estimate is exact.
    assert_eq!(gpu(&profile, "model").times.total_ns, 900_000);
    assert_eq!(gpu(&profile, "model").times.self_ns, 300_000);
}

#[test]
fn what_is_not_whole_in_the_graph_is_captured_and_no_more() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    stream.begin_capture(MODE).expect("begin");
    let mut ended = None;
    around(&stream, || {
        ended = stream.end_capture(Flags(0)).expect("whole");
    });
    let first = Graph::new(ended.take().expect("a graph"));
    // One that ends in the next capture.
    stream.begin_capture(MODE).expect("begin");
    around(&stream, || {
        drop(stream.end_capture(Flags(0)).expect("whole"));
        stream.begin_capture(MODE).expect("begin");
    });
    layer(&w, &stream);
    let second = Graph::new(stream.end_capture(Flags(0)).expect("whole").expect("a graph"));
    for graph in [&first, &second] {
        launch(&w, graph, 1_000);
    }
    let profile = w.finish(session);
    let around = function(&profile, "around");
    assert_eq!((around.captured_calls, around.graph_calls), (2, 0));
    assert_eq!((around.replays, &around.gpu), (0, &None));
    assert_eq!(gpu_times(&profile, "layer"), (1, 1_000, 1_000));
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn a_stream_drawn_into_the_capture_is_timed_there() {
    let w = world();
    let (origin, drawn) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    let graph = Graph::new(capture(&origin, || {
        around(&origin, || {
            drawn.join(&origin).expect("fork");
            layer(&w, &drawn);
            origin.join(&drawn).expect("join");
        });
    }));
    launch(&w, &graph, 1_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "layer"), (1, 1_000, 1_000));
    // On another stream: as between spans, its time is not taken from what is around it.
    assert_eq!(gpu_times(&profile, "around"), (1, 1_000, 1_000));
    assert_eq!(node(&profile, &["around", "layer"]).replays, 1);
}

#[test]
fn graphs_of_other_libraries_are_launched_by_a_closure() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let owner = capture(&stream, || layer(&w, &stream));
    let (raw, exec) = (owner.cu_graph().cast(), owner.cu_graph_exec().cast());
    // SAFETY: the handles are the owner's.
    let graph = unsafe { Graph::from_raw(owner, raw, exec) };
    w.sim.set_kernel_ns(kernels::SAXPY, 1_000);
    let launched: Result<u8, ()> = graph.launch_with(|owner| {
        owner.launch().expect("launch");
        Ok(7)
    });
    assert_eq!(launched, Ok(7));
    let inner = graph.into_inner();
    // Not seen, and it records nothing that somebody would take for another's.
    w.sim.set_kernel_ns(kernels::SAXPY, 5_000);
    inner.launch().expect("launch");
    layer(&w, &stream);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "layer").replays, 1);
    assert_eq!(gpu_times(&profile, "layer"), (2, 2_000, 2_000));
}

#[test]
fn graphs_leave_half_of_the_events_to_spans() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || {
        (0..9_000).for_each(|_| around(&stream, || ()));
    }));
    layer(&w, &stream);
    drop(graph);
    let profile = w.finish(session);
    let around = function(&profile, "around");
    assert_eq!((around.captured_calls, around.graph_calls), (9_000, 8_192));
    assert_eq!(gpu(&profile, "layer").timed_calls, 1);
    assert_eq!(profile.trust.errors, []);
}
