//! Promise: what a replayed graph runs is attributed to the functions that captured it, counted
//! once, and is part of the busy time of the function that launched the graph.

use std::num::NonZeroU32;
use std::sync::Arc;

use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{Sampling, gpu_profile};
use support::cupti_world::{Tier, all_kernels, builder, busy, cupti, kernels, tier, work};
use support::suite::Module;
use support::{function, node, tests, until};

use crate::graph_objects::{capture, launch};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        kernels_of_a_replay_belong_to_the_functions_that_captured_them,
        a_captured_function_that_is_also_called_counts_both,
        replays_are_not_in_the_span_that_sampling_estimates,
        a_graph_may_be_captured_launched_and_dropped_in_one_function,
        a_replay_inside_a_call_of_the_same_function_counts_once,
        a_captured_recursion_is_busy_once,
        a_branch_on_another_stream_belongs_to_the_function_that_captured_it,
        a_replay_outside_any_function_belongs_to_the_capturing_function,
        a_window_counts_the_replays_that_were_launched_in_it,
        what_is_captured_is_not_waited_for,
    ]],
)
.with_subscriber_calls();

#[gpu_profile]
fn layer(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn model(t: &Tier, stream: &Arc<CudaStream>) {
    layer(t, stream);
    t.gpu.kernel_on(stream, 1_000);
    layer(t, stream);
}

/// Begins and ends the capture: not a part of it.
#[gpu_profile]
fn record(t: &Tier, stream: &Arc<CudaStream>) -> CudaGraph {
    capture(stream, || model(t, stream))
}

#[gpu_profile]
fn replay(t: &Tier, stream: &Arc<CudaStream>, graph: &CudaGraph) {
    let _ = stream;
    launch(t, graph, 1_000);
}

/// Replays and busy time of the node of this path.
fn captured(profile: &gpuprof::Profile, path: &[&str]) -> (u64, u64) {
    let runs = node(profile, path).captured.as_ref();
    let runs = runs.expect("a node of a replay");
    (runs.replays, runs.busy_ns)
}

fn kernels_of_a_replay_belong_to_the_functions_that_captured_them() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = record(&t, &stream);
    for _ in 0..3 {
        replay(&t, &stream, &graph);
    }
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 6, 6_000)]);
    assert_eq!(kernels(&profile, "model"), [("saxpy", 3, 3_000)]);
    assert!(kernels(&profile, "replay").is_empty());
    assert!(kernels(&profile, "record").is_empty());
    assert_eq!(all_kernels(&profile), (9, 9_000));
    assert_eq!(busy(&profile, "layer"), (6_000, 6, 6, 6));
    assert_eq!(busy(&profile, "model"), (9_000, 3, 9, 9));
    assert_eq!(busy(&profile, "record"), (0, 1, 0, 0));
    assert_eq!(busy(&profile, "replay"), (9_000, 3, 9, 9));
    // Only the first node of a launch has a launch latency.
    let kernel = &work(&profile, "layer").kernels[0];
    assert_eq!((kernel.graph_calls, kernel.launch_latency.calls), (6, 3));
    assert_eq!(function(&profile, "model").captured_calls, 1);
    assert_eq!(captured(&profile, &["replay", "captured"]), (3, 9_000));
    let path = ["replay", "captured", "model", "layer"];
    assert_eq!(captured(&profile, &path[..3]), (3, 9_000));
    assert_eq!(captured(&profile, &path), (6, 6_000));
    assert_eq!(cupti(&profile).unattributed, 0);
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 0);
}

fn a_captured_function_that_is_also_called_counts_both() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    layer(&t, &stream);
    let graph = record(&t, &stream);
    replay(&t, &stream, &graph);
    layer(&t, &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 4, 4_000)]);
    assert_eq!(busy(&profile, "layer"), (4_000, 4, 4, 4));
    assert_eq!(work(&profile, "layer").kernels[0].graph_calls, 2);
    // The GPU spans are those of the two calls.
    assert_eq!(
        function(&profile, "layer")
            .gpu
            .as_ref()
            .map(|gpu| gpu.timed_calls),
        Some(2)
    );
    assert_eq!(work(&profile, "layer").idle_ns, Some(0));
}

fn replays_are_not_in_the_span_that_sampling_estimates() {
    let t = tier();
    let stream = t.gpu.another_stream();
    t.cpu(1_000);
    let sampling = Sampling::OneIn(NonZeroU32::new(2).expect("not 0"));
    let session = builder().sampling(sampling).start().expect("none is open");
    let graph = record(&t, &stream);
    for _ in 0..40 {
        layer(&t, &stream);
        replay(&t, &stream, &graph);
    }
    let profile = t.finish(session);
    let gpu = function(&profile, "layer").gpu.as_ref().expect("timed");
    assert!(gpu.estimate.is_some() && gpu.timed_calls < 40);
    assert_eq!(busy(&profile, "layer").0, 120_000, "40 calls, 80 replays");
    // A total that is estimated to be as long as the calls were busy, and by no replay longer.
    let work = work(&profile, "layer");
    assert_eq!(work.outside_span_ns, 0);
    let span_ns = gpu.times.total_ns;
    assert_eq!(work.idle_ns, span_ns.checked_sub(40_000));
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

#[gpu_profile]
fn all_in_one(t: &Tier, stream: &Arc<CudaStream>) {
    let graph = capture(stream, || {
        t.gpu.kernel_on(stream, 1_000);
        layer(t, stream);
    });
    launch(t, &graph, 1_000);
    launch(t, &graph, 1_000);
}

fn a_graph_may_be_captured_launched_and_dropped_in_one_function() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    all_in_one(&t, &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "all_in_one"), [("saxpy", 2, 2_000)]);
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 2, 2_000)]);
    assert_eq!(busy(&profile, "all_in_one"), (4_000, 1, 4, 4));
    assert_eq!(busy(&profile, "layer"), (2_000, 2, 2, 2));
    assert_eq!(captured(&profile, &["all_in_one", "captured"]), (2, 4_000));
}

#[gpu_profile]
fn step(t: &Tier, stream: &Arc<CudaStream>, graph: Option<&CudaGraph>) {
    match graph {
        None => t.gpu.kernel_on(stream, 1_000),
        Some(graph) => launch(t, graph, 1_000),
    }
}

fn a_replay_inside_a_call_of_the_same_function_counts_once() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || step(&t, &stream, None));
    step(&t, &stream, Some(&graph));
    step(&t, &stream, Some(&graph));
    step(&t, &stream, None);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "step"), [("saxpy", 3, 3_000)]);
    assert_eq!(busy(&profile, "step"), (3_000, 3, 3, 3));
    assert_eq!(
        captured(&profile, &["step", "captured", "step"]),
        (2, 2_000)
    );
}

#[gpu_profile]
fn recursive(t: &Tier, stream: &Arc<CudaStream>, depth: u32) {
    t.gpu.kernel_on(stream, 1_000);
    if depth > 1 {
        recursive(t, stream, depth - 1);
    }
}

fn a_captured_recursion_is_busy_once() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || recursive(&t, &stream, 3));
    replay(&t, &stream, &graph);
    replay(&t, &stream, &graph);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "recursive"), [("saxpy", 6, 6_000)]);
    assert_eq!(busy(&profile, "recursive"), (6_000, 2, 6, 6));
    let path = ["replay", "captured", "recursive", "recursive", "recursive"];
    assert_eq!(captured(&profile, &path[..3]), (2, 6_000));
    assert_eq!(captured(&profile, &path), (2, 2_000));
}

#[gpu_profile]
fn fork(t: &Tier, stream: &Arc<CudaStream>, other: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
    let forked = stream.record_event(None).expect("an event");
    other.wait(&forked).expect("the fork");
    layer(t, other);
    let joined = other.record_event(None).expect("an event");
    stream.wait(&joined).expect("the join");
}

fn a_branch_on_another_stream_belongs_to_the_function_that_captured_it() {
    let t = tier();
    let (stream, other) = (t.gpu.another_stream(), t.gpu.another_stream());
    let session = t.session();
    let graph = capture(&stream, || fork(&t, &stream, &other));
    replay(&t, &stream, &graph);
    replay(&t, &stream, &graph);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "fork"), [("saxpy", 2, 2_000)]);
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 2, 2_000)]);
    assert_eq!(busy(&profile, "fork"), (4_000, 2, 4, 4));
    assert_eq!(busy(&profile, "layer"), (2_000, 2, 2, 2));
}

fn a_replay_outside_any_function_belongs_to_the_capturing_function() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = record(&t, &stream);
    launch(&t, &graph, 1_000);
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "model"), (3_000, 1, 3, 3));
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 2, 2_000)]);
    assert_eq!(captured(&profile, &["captured", "model"]), (1, 3_000));
    assert_eq!(cupti(&profile).unattributed, 0);
}

fn a_window_counts_the_replays_that_were_launched_in_it() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = record(&t, &stream);
    replay(&t, &stream, &graph);
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "model"), (3_000, 1, 3, 3));
    // Outside any window.
    replay(&t, &stream, &graph);
    t.synchronize();
    let session = t.session();
    replay(&t, &stream, &graph);
    replay(&t, &stream, &graph);
    // What a snapshot shows does not count again.
    t.synchronize();
    until(|| busy(&session.snapshot(), "model") == (6_000, 2, 6, 6));
    replay(&t, &stream, &graph);
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "model"), (9_000, 3, 9, 9));
    assert_eq!(kernels(&profile, "layer"), [("saxpy", 6, 6_000)]);
}

#[gpu_profile]
fn plain(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

/// A captured launch is no launch whose kernel is awaited.
fn what_is_captured_is_not_waited_for() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || {
        t.gpu.kernel_on(&stream, 1_000);
        plain(&t, &stream);
    });
    t.cpu(10);
    plain(&t, &stream);
    let profile = t.finish(session);
    drop(graph);
    assert_eq!(kernels(&profile, "plain"), [("saxpy", 1, 1_000)]);
    // The captured call is not among the calls that busy time is averaged over.
    assert_eq!(busy(&profile, "plain"), (1_000, 1, 1, 1));
    assert_eq!(function(&profile, "plain").captured_calls, 1);
}
