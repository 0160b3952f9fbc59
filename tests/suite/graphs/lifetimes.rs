//! Promise: whatever happens to a graph, its launches or the driver, no replay gets the time of
//! another, and all events are released.

use std::sync::Arc;
use std::thread;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{Graph, gpu_profile};
use support::graph_capture::{CAPTURE_MODE, around, capture, launch, layer, model};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_graph_may_be_launched_and_dropped_on_other_threads,
        what_a_graph_has_comes_back_when_it_is_gone,
        a_launch_that_fails_is_none,
        a_driver_that_refuses_to_swap_events_costs_times_and_nothing_else,
        what_is_not_whole_in_the_graph_is_captured_and_no_more,
        a_graph_that_becomes_part_of_another_is_not_replayed,
        graphs_of_other_libraries_are_launched_by_a_closure,
        a_replay_that_is_not_timed_overwrites_none_that_is,
        graphs_leave_half_of_the_events_to_spans,
        on_a_stream_that_nothing_keeps_no_launch_is_taken_for_a_replay,
        graphs_that_are_not_launched_through_gpuprof_keep_no_more_than_their_share,
        what_outlives_its_graph_records_nothing_that_is_read,
    ]],
);

/// Captured calls of a context that can have events, and replays under way.
const CAPTURED: u64 = 4_096;
const REPLAYS: u64 = 4_096;

/// A graph that one thread at a time uses.
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
                // While all of them are under way.
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
    // Events that never came back would be replaced in every two hundred rounds.
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
    assert_eq!(
        profile.diagnostics.errors,
        [],
        "it was the program's own call"
    );
}

fn a_driver_that_refuses_to_swap_events_costs_times_and_nothing_else() {
    let w = world();
    let stream = w.gpu.another_stream();
    for read_before in [true, false] {
        let session = w.session();
        let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
        launch(&w, &graph, 1_000);
        if read_before {
            w.gpu.context.synchronize().expect("synchronize");
            support::until(|| session.snapshot().diagnostics.timed_calls == 1);
        }
        // The second of the two: the nodes then belong to different pairs, one of which may still
        // be read.
        w.sim.fail("cuGraphExecEventRecordNodeSetEvent", 2, 1, 801);
        launch(&w, &graph, 2_000);
        launch(&w, &graph, 4_000);
        let profile = w.finish(session);
        let layer = function(&profile, "layer");
        let timed = u64::from(read_before);
        assert_eq!((layer.replays, layer.untimed.cuda_error), (3, 3 - timed));
        let total = layer.gpu.as_ref().map(|gpu| gpu.times.total_ns);
        assert_eq!(total, read_before.then_some(1_000));
        assert_eq!(profile.diagnostics.errors.len(), 1);
    }
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
    // One that ends in the next capture.
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
    // Not the one in between: it ran nothing, and what the other graph runs of it is nobody's call.
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
    // Not seen, and it records nothing that somebody would take for another's.
    w.sim.set_kernel_ns(kernels::SAXPY, 5_000);
    inner.launch().expect("launch");
    layer(&w, &stream);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "layer").replays, 1);
    assert_eq!(gpu_times(&profile, "layer"), (2, 2_000, 2_000));
}

fn a_replay_that_is_not_timed_overwrites_none_that_is() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
    // All that replays may have, all under way.
    (0..REPLAYS).for_each(|_| launch(&w, &graph, 1_000));
    launch(&w, &graph, 5_000);
    let profile = w.finish(session);
    let layer = function(&profile, "layer");
    let untimed = &layer.untimed;
    assert_eq!((layer.replays, untimed.sum()), (REPLAYS + 1, 1));
    assert_eq!(
        gpu_times(&profile, "layer"),
        (REPLAYS, REPLAYS * 1_000, REPLAYS * 1_000)
    );
}

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
    assert_eq!(
        (around.captured_calls, around.graph_calls),
        (9_000, CAPTURED)
    );
    assert_eq!(gpu(&profile, "layer").timed_calls, 1);
    assert_eq!(profile.diagnostics.errors, []);
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
    // It runs nothing: whether it is captured cannot be asked of a stream that may be gone.
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

fn graphs_that_are_not_launched_through_gpuprof_keep_no_more_than_their_share() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
    let oldest = capture(&stream, || around(&stream, || ()));
    for _ in 0..2 * CAPTURED {
        drop(capture(&stream, || around(&stream, || ())));
    }
    w.sim.reset_calls();
    let late = Graph::new(capture(&stream, || layer(&w, &stream)));
    assert_eq!(w.sim.calls("cuEventCreate"), 0);
    // Its events are in another graph by now.
    let oldest = Graph::new(oldest);
    launch(&w, &graph, 1_000);
    launch(&w, &late, 2_000);
    launch(&w, &oldest, 4_000);
    layer(&w, &stream);
    let profile = w.finish(session);
    let around = function(&profile, "around");
    assert_eq!((around.graph_calls, around.replays), (2 * CAPTURED + 1, 0));
    assert_eq!(gpu_times(&profile, "layer"), (3, 4_000, 4_000));
    assert_eq!(function(&profile, "layer").replays, 2);
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
    // Given back, it can be taken over again.
    let _ = known().into_inner();
    let graph = known();
    launch_old(&graph, 1_000);
    let _ = graph.into_inner();
    // Not given back, its events go into the next one.
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
