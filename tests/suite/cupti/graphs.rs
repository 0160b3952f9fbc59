//! Promise: the kernels of a replay are attributed to the function around the launch of the graph.
//! A captured launch is no launch whose kernel is awaited.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Graph, gpu_profile};
use support::cupti_world::{Tier, busy, cupti, kernels, tier, work};
use support::function;
use support::graph_capture::{capture, launch, model};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_node_of_a_replay_belongs_to_the_function_around_the_launch,
        what_is_captured_is_not_waited_for,
    ]],
);

#[gpu_profile(cpu)]
fn replay(t: &Tier, graph: &Graph) {
    launch(t, graph, 1_000);
}

#[gpu_profile]
fn plain(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

fn every_node_of_a_replay_belongs_to_the_function_around_the_launch() {
    let t = tier();
    t.sim.set_call_ns("cuGraphLaunch", 100);
    let stream = t.gpu.another_stream();
    let session = t.session();
    // The graph is layer, a kernel, layer.
    let graph = Graph::new(capture(&stream, || model(&t, &stream)));
    replay(&t, &graph);
    replay(&t, &graph);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "replay"), [("saxpy", 6, 6_000)]);
    let kernel = &work(&profile, "replay").kernels[0];
    assert_eq!(kernel.graph_calls, 6);
    // Only the first node of each launch has a launch latency; the second launch waits for the
    // first.
    assert_eq!(kernel.launch_latency.calls, 2);
    assert!(kernel.launch_latency.max_ns >= 2_900, "{kernel:?}");
    assert_eq!(busy(&profile, "replay"), (6_000, 2, 6, 6));
    // Functions marked `graph` have replays; their kernels belong to the function that launches the
    // graph.
    assert!(kernels(&profile, "layer").is_empty());
    assert_eq!(work(&profile, "layer").idle_ns, None);
    let launches = &work(&profile, "model").api[0];
    assert_eq!(
        (&*launches.name, launches.times.calls),
        ("cuLaunchKernel", 1)
    );
    assert_eq!(cupti(&profile).unattributed, 0);
}

fn what_is_captured_is_not_waited_for() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    // The captured function has no stream that gpuprof knows.
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
