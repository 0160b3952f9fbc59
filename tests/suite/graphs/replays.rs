//! Promise: a function marked `graph` is timed at every replay of its graph, and its row shows the
//! replays.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use gpuprof::{Graph, gpu_profile};
use support::graph_capture::{CAPTURE_MODE, around, capture, launch, layer, model};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, node, one_in, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_replay_is_a_timed_call,
        replays_count_under_the_span_that_launches_them,
        a_recursive_function_is_not_counted_twice,
        a_window_of_replays_alone_has_no_cpu_times,
        under_sampling_counts_stay_exact_and_parts_go_with_their_whole,
        a_stream_drawn_into_the_capture_is_timed_there,
        what_is_not_whole_in_the_graph_is_captured_and_no_more,
        a_graph_that_becomes_part_of_another_is_not_replayed,
        graphs_of_other_libraries_are_launched_by_a_closure,
    ]],
);

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

fn every_replay_is_a_timed_call() {
    let w = world();
    let stream = w.gpu.another_stream();
    w.warm_up(|| layer(&w, &stream));
    let session = w.session();
    layer(&w, &stream);
    let graph = Graph::new(capture(&stream, || model(&w, &stream)));
    w.sim.reset_calls();
    // The later replays are launched before the earlier ones start.
    for ns in [2_000, 3_000, 7_000] {
        launch(&w, &graph, ns);
    }
    // Each launch sets two nodes per captured call, and calls nothing that waits or records on the
    // stream.
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
    // CPU times are of the three calls that were made; the stated work is of the seven that ran.
    assert_eq!(layer.cpu.total_ns, 30);
    assert_eq!(layer.bytes, Some(3_500.0));
    assert_eq!(gpu(&profile, "layer").timed_bytes, Some(3_500.0));

    let model = function(&profile, "model");
    assert_eq!((model.calls, model.replays, model.runs()), (1, 3, 3));
    assert_eq!(gpu_times(&profile, "model"), (3, 36_000, 12_000));
    let times = &gpu(&profile, "model").times;
    assert_eq!((times.min_ns, times.max_ns), (6_000, 21_000));
    assert_eq!(profile.diagnostics.untimed.sum(), 0);
    assert_eq!(profile.diagnostics.errors, []);
    let report = profile.to_string();
    let row = report.lines().find(|line| line.starts_with("layer "));
    let calls = row.and_then(|row| row.split_whitespace().nth(1));
    assert_eq!(calls, Some("7"), "{report}");
    assert!(report.contains("layer 6 (captured 2)"), "{report}");
    assert!(!report.contains('≥'), "nothing is lacking: {report}");
}

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
    // No function has CPU time, so the CPU columns are omitted.
    assert!(
        report.contains("GPU ─") && !report.contains("CPU ─"),
        "{report}"
    );

    // The filter excludes the graph's functions: this replay is neither counted nor timed, now or
    // in later sessions.
    let filtered = gpuprof::Session::builder().filter("^other$").start();
    launch(&w, &graph, 4_000);
    let profile = w.finish(filtered.expect("no other session is open"));
    assert_eq!(profile.diagnostics.replays, 0);
    let session = w.session();
    launch(&w, &graph, 1_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "layer"), (1, 1_000, 1_000));
}

fn under_sampling_counts_stay_exact_and_parts_go_with_their_whole() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = gpuprof::Session::builder().sampling(one_in(3)).start();
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
    // All replays take the same time, so the estimate is exact.
    assert_eq!(gpu(&profile, "model").times.total_ns, 900_000);
    assert_eq!(gpu(&profile, "model").times.self_ns, 300_000);
}

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
    // The replay is on another stream: as with spans, its time is not subtracted from the enclosing
    // span.
    assert_eq!(gpu_times(&profile, "around"), (1, 1_000, 1_000));
    assert_eq!(node(&profile, &["around", "layer"]).replays, 1);
}

fn what_is_not_whole_in_the_graph_is_captured_and_no_more() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    stream.begin_capture(CAPTURE_MODE).expect("begin");
    let mut ended = None;
    around(&stream, || {
        ended = stream.end_capture(Flags(0)).expect("whole");
    });
    let first = Graph::new(ended.take().expect("a graph"));
    // A span that ends in the next capture.
    stream.begin_capture(CAPTURE_MODE).expect("begin");
    around(&stream, || {
        drop(stream.end_capture(Flags(0)).expect("whole"));
        stream.begin_capture(CAPTURE_MODE).expect("begin");
    });
    layer(&w, &stream);
    let second = Graph::new(
        stream
            .end_capture(Flags(0))
            .expect("whole")
            .expect("a graph"),
    );
    for graph in [&first, &second] {
        launch(&w, graph, 1_000);
    }
    let profile = w.finish(session);
    let around = function(&profile, "around");
    assert_eq!((around.captured_calls, around.graph_calls), (2, 0));
    assert_eq!((around.replays, &around.gpu), (0, &None));
    assert_eq!(gpu_times(&profile, "layer"), (1, 1_000, 1_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_graph_that_becomes_part_of_another_is_not_replayed() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let inner = Graph::new(capture(&stream, || layer(&w, &stream)));
    launch(&w, &inner, 1_000);
    let outer = Graph::new(capture(&stream, || launch(&w, &inner, 1_000)));
    launch(&w, &outer, 2_000);
    launch(&w, &inner, 4_000);
    let profile = w.finish(session);
    // The launch made during capture is not a replay, and work run inside the outer graph is
    // attributed to no call.
    assert_eq!(function(&profile, "layer").replays, 2);
    assert_eq!(gpu_times(&profile, "layer"), (2, 5_000, 5_000));
    assert_eq!(profile.diagnostics.errors, []);
}

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
    // gpuprof does not see this launch, and it must not record into events of another call.
    w.sim.set_kernel_ns(kernels::SAXPY, 5_000);
    inner.launch().expect("launch");
    layer(&w, &stream);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "layer").replays, 1);
    assert_eq!(gpu_times(&profile, "layer"), (2, 2_000, 2_000));
}
