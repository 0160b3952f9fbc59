//! Promise: at the limits of captured calls and of replays, times are left out and never mixed up,
//! and spans keep their share of the events.

use gpuprof::Graph;
use support::graph_capture::{around, capture, launch, layer};
use support::suite::Module;
use support::tests;
use support::{function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_replay_that_is_not_timed_overwrites_none_that_is,
        graphs_leave_half_of_the_events_to_spans,
        graphs_that_are_not_launched_through_gpuprof_keep_no_more_than_their_share,
    ]],
);

/// Limits per context: captured calls with event pairs, and replays in flight.
const CAPTURED: u64 = 4_096;
const REPLAYS: u64 = 4_096;

fn a_replay_that_is_not_timed_overwrites_none_that_is() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    let graph = Graph::new(capture(&stream, || layer(&w, &stream)));
    // As many replays in flight as the limit allows.
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
    // The events of `oldest` are used by another graph by now.
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
