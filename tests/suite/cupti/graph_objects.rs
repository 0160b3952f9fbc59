//! Promise: the functions that captured a graph are known for every executable made from it or
//! updated by it. Nodes of which they are unknown count in the launching function, and are counted.

use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream, sys};
use gpuprof::gpu_profile;
use promises::assert_kept;
use promises::graph_nodes::{SCENARIOS, Work, update};
use simcupti::Version;
use support::cupti_world::{Tier, busy, cupti, kernels, tier};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_way_of_making_an_executable_keeps_its_owners,
        what_no_function_captured_is_counted,
        with_cuda_12_an_updated_node_stays_with_the_function_that_captured_it,
    ]],
)
.with_subscriber_calls();

const MODE: Mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;

/// The graph of what `body` does on `stream`, with an executable.
pub(crate) fn capture(stream: &Arc<CudaStream>, body: impl FnOnce()) -> CudaGraph {
    stream.begin_capture(MODE).expect("begin");
    body();
    let graph = stream.end_capture(Flags(0)).expect("the capture is valid");
    graph.expect("a graph")
}

/// Launches `graph`, each kernel of which takes `ns`.
pub(crate) fn launch(t: &Tier, graph: &CudaGraph, ns: u64) {
    t.sim.set_kernel_ns(kernels::SAXPY, ns);
    graph.launch().expect("launch");
}

#[gpu_profile]
fn first(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn second(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.scaled_kernel_on(stream, 1_000, 3.0);
}

#[gpu_profile]
fn replay(t: &Tier, executable: sys::CUgraphExec, stream: &Arc<CudaStream>) {
    t.sim.set_kernel_ns(kernels::SAXPY, 1_000);
    // SAFETY: both live.
    unsafe { sys::cuGraphLaunch(executable, stream.cu_stream()) }
        .result()
        .expect("launch");
}

fn every_way_of_making_an_executable_keeps_its_owners() {
    let t = tier();
    let work = Work::new(&t.gpu).expect("a graph");
    for scenario in SCENARIOS {
        let session = t.session();
        (scenario.run)(&work).expect("launches");
        let profile = t.finish(session);
        assert_kept(Ok(vec![scenario.observe(&profile)]));
    }
}

fn what_no_function_captured_is_counted() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || {
        t.gpu.kernel_on(&stream, 1_000);
        first(&t, &stream);
    });
    replay(&t, graph.cu_graph_exec(), &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "replay"), [("saxpy", 1, 1_000)]);
    assert_eq!(kernels(&profile, "first"), [("saxpy", 1, 1_000)]);
    assert_eq!(busy(&profile, "replay"), (2_000, 1, 2, 2));
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 1);
    assert_eq!(cupti(&profile).unattributed, 0);
}

fn with_cuda_12_an_updated_node_stays_with_the_function_that_captured_it() {
    let t = tier();
    t.cupti.set_version(Version::Cuda12_0);
    let stream = t.gpu.another_stream();
    let session = t.session();
    let [one, two] = [first, second].map(|body| capture(&stream, || body(&t, &stream)));
    replay(&t, one.cu_graph_exec(), &stream);
    update(&one, &two).expect("the graphs differ in one value");
    replay(&t, one.cu_graph_exec(), &stream);
    replay(&t, two.cu_graph_exec(), &stream);
    let profile = t.finish(session);
    assert_eq!(cupti(&profile).version, 18);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    assert_eq!(kernels(&profile, "first"), [("saxpy", 2, 2_000)]);
    assert_eq!(kernels(&profile, "second"), [("saxpy", 1, 1_000)]);
    assert!(kernels(&profile, "replay").is_empty());
    assert_eq!(busy(&profile, "first"), (2_000, 2, 2, 2));
    assert_eq!(busy(&profile, "second"), (1_000, 1, 1, 1));
    assert_eq!(busy(&profile, "replay"), (3_000, 3, 3, 3));
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 0);
}
