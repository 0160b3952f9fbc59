//! Promise: graph captures succeed while spans run, the graph contains only the user's nodes, and
//! every call reports its outcome.

use std::sync::Arc;
use std::thread;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{gpu_profile, scope};
use promises::graphs::{MODES, replays_are_spans};
use promises::{Tolerance, assert_kept};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        captured_calls_are_counted_and_replays_are_spans,
        captured_calls_leave_nothing_in_the_graph,
        another_stream_is_timed_while_this_thread_captures,
        a_capture_that_begins_or_ends_inside_a_span,
        a_whole_capture_inside_a_span_is_part_of_its_time,
        the_report_says_where_replays_are,
        of_several_streams_one_that_is_captured_suffices,
        what_inherits_a_captured_stream_is_captured_too,
        a_stream_drawn_into_a_capture_is_captured,
        the_null_stream_beside_a_capture,
    ]],
);

#[gpu_profile]
fn layer(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn model(w: &World, stream: &Arc<CudaStream>) {
    layer(w, stream);
    layer(w, stream);
}

#[gpu_profile]
fn replay(graph: &CudaGraph, _stream: &Arc<CudaStream>) {
    graph.launch().expect("launch");
}

#[gpu_profile(stream = [a, b])]
fn on_both(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>) {
    w.gpu.kernel_on(a, 1_000);
    assert!(Arc::strong_count(b) > 0);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn inherits(w: &World) {
    w.cpu(1);
}

fn capture(stream: &Arc<CudaStream>, mode: Mode, inside: impl FnOnce()) -> CudaGraph {
    stream.begin_capture(mode).expect("begin");
    inside();
    stream
        .end_capture(Flags(0))
        .expect("the capture is whole")
        .expect("a graph")
}

/// The duration of the graph on an idle stream, with 100 ns for each event node.
fn duration(w: &World, stream: &Arc<CudaStream>, graph: &CudaGraph) -> u64 {
    w.gpu.context.synchronize().expect("synchronize");
    w.sim.set_event_ns(100);
    let before = w.sim.now();
    graph.launch().expect("launch");
    stream.synchronize().expect("synchronize");
    w.sim.set_event_ns(0);
    w.sim.now() - before
}

fn captured_calls_are_counted_and_replays_are_spans() {
    let w = world();
    for mode in MODES {
        assert_kept(replays_are_spans(&w.gpu, mode, 5, Tolerance::EXACT));
    }
}

fn captured_calls_leave_nothing_in_the_graph() {
    let w = world();
    for mode in MODES {
        w.warm_up(|| around(&w.gpu.stream, || ()));
        let stream = w.gpu.another_stream();
        let session = w.session();
        w.sim.reset_calls();
        let graph = capture(&stream, mode, || model(&w, &stream));
        assert_eq!(w.sim.calls_here("cuEventRecord"), 0);
        assert_eq!(w.sim.calls_here("cuEventRecordWithFlags"), 0);
        // The graph consists of two kernels.
        assert_eq!(duration(&w, &stream, &graph), 2_000);
        let profile = w.finish(session);
        // CPU times of captured calls are measured as usual.
        assert_eq!(function(&profile, "model").cpu.total_ns, 20);
        assert_eq!(profile.diagnostics.errors, []);
    }
}

fn another_stream_is_timed_while_this_thread_captures() {
    let w = world();
    let (captured, free) = (w.gpu.another_stream(), w.gpu.another_stream());
    for mode in MODES {
        let session = w.session();
        let graph = capture(&captured, mode, || {
            layer(&w, &captured);
            // More open spans than the pool has pairs: events are created during the capture.
            fn nested(w: &World, stream: &Arc<CudaStream>, depth: u32) {
                scope!("nested", stream);
                if depth > 0 {
                    nested(w, stream, depth - 1);
                } else {
                    layer(w, stream);
                }
            }
            nested(&w, &free, 200);
        });
        assert_eq!(duration(&w, &captured, &graph), 1_000, "{mode:?}");
        let profile = w.finish(session);
        assert_eq!(gpu(&profile, "nested").timed_calls, 201);
        let layer = function(&profile, "layer");
        assert_eq!((layer.calls, layer.captured_calls), (2, 1));
        assert_eq!(gpu(&profile, "layer").timed_calls, 1);
    }
}

fn a_capture_that_begins_or_ends_inside_a_span() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    around(&stream, || stream.begin_capture(MODES[0]).expect("begin"));
    layer(&w, &stream);
    let mut graph = None;
    around(&stream, || {
        graph = stream.end_capture(Flags(0)).expect("end")
    });
    around(&stream, || ());
    let profile = w.finish(session);
    let function = function(&profile, "around");
    assert_eq!((function.calls, function.captured_calls), (3, 2));
    assert_eq!(gpu(&profile, "around").timed_calls, 1);
    assert_eq!(duration(&w, &stream, &graph.expect("a graph")), 1_000);
}

fn a_whole_capture_inside_a_span_is_part_of_its_time() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    w.gpu.kernel_on(&stream, 100_000);
    around(&stream, || {
        let graph = capture(&stream, MODES[1], || layer(&w, &stream));
        replay(&graph, &stream);
        replay(&graph, &stream);
    });
    let profile = w.finish(session);
    // The captured layer took no time on the stream; the replays did.
    assert_eq!(gpu_times(&profile, "around"), (1, 2_000, 0));
    assert_eq!(gpu_times(&profile, "replay"), (2, 2_000, 2_000));
    assert_eq!(function(&profile, "layer").captured_calls, 1);
    // The captured call ran nothing that the span's self time would lack or hold.
    let report = profile.to_string();
    assert!(!report.contains('≤'), "{report}");
}

fn the_report_says_where_replays_are() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = capture(&stream, MODES[0], || model(&w, &stream));
    replay(&graph, &stream);
    let profile = w.finish(session);
    let report = profile.to_string();
    let line = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "into a graph: capture::layer, capture::model. A replay is part of the GPU";
    assert!(line.contains(says), "{report}");
    assert!(line.contains("GPUPROF_CUPTI=on"), "{report}");
}

fn of_several_streams_one_that_is_captured_suffices() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    on_both(&w, &a, &b);
    let graph = capture(&a, MODES[1], || on_both(&w, &a, &b));
    // With the streams exchanged, gpuprof returns the first stream's start event to the pool.
    let other = capture(&b, MODES[1], || on_both(&w, &a, &b));
    assert_eq!(duration(&w, &a, &graph), 1_000);
    let before = w.sim.now();
    other.launch().expect("launch");
    b.synchronize().expect("synchronize");
    assert_eq!(w.sim.now(), before);
    let profile = w.finish(session);
    let both = function(&profile, "on_both");
    assert_eq!((both.calls, both.captured_calls), (3, 2));
    assert_eq!(gpu(&profile, "on_both").timed_calls, 1);
}

fn what_inherits_a_captured_stream_is_captured_too() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = capture(&stream, MODES[0], || around(&stream, || inherits(&w)));
    around(&stream, || inherits(&w));
    drop(graph);
    let profile = w.finish(session);
    let inherits = function(&profile, "inherits");
    assert_eq!((inherits.calls, inherits.captured_calls), (2, 1));
    assert_eq!(gpu_times(&profile, "inherits"), (1, 1, 1));
}

fn a_stream_drawn_into_a_capture_is_captured() {
    let w = world();
    let (origin, drawn) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    let graph = capture(&origin, MODES[0], || {
        drawn.join(&origin).expect("fork");
        layer(&w, &drawn);
        origin.join(&drawn).expect("join");
    });
    let profile = w.finish(session);
    assert_eq!(function(&profile, "layer").captured_calls, 1);
    assert_eq!(duration(&w, &origin, &graph), 1_000);
}

fn the_null_stream_beside_a_capture() {
    let w = world();
    let (captured, null) = (w.gpu.another_stream(), w.gpu.context.default_stream());
    let session = w.session();
    let graph = capture(&captured, MODES[0], || {
        thread::scope(|scope| {
            scope
                .spawn(|| around(&null, || ()))
                .join()
                .expect("no panic");
        });
        layer(&w, &captured);
    });
    assert_eq!(duration(&w, &captured, &graph), 1_000);
    let profile = w.finish(session);
    // The call is timed if the driver allows the query of its stream, else counted as captured. It
    // never invalidates the capture.
    let around = function(&profile, "around");
    let timed = around.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    assert_eq!(timed + around.captured_calls, 1);
    assert_eq!(profile.diagnostics.errors, []);
}
