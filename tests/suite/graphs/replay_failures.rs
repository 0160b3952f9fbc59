//! Promise: when a driver call of a replay fails, each replay's GPU time is attributed only to that
//! replay, and the calls without a time are counted.

use gpuprof::Graph;
use support::graph_capture::{capture, launch, layer};
use support::suite::Module;
use support::tests;
use support::{function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_launch_that_fails_is_none,
        a_driver_that_refuses_to_swap_events_costs_times_and_nothing_else,
    ]],
);

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
        // The second of two calls fails: the two nodes then record events of different pairs, one
        // of which may not be read yet.
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
