//! Promise: the functions that captured a graph are known for every executable made from it or
//! updated by it. Nodes of which they are unknown count in the launching function, and are counted.

use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DevicePtr, result, sys};
use gpuprof::gpu_profile;
use support::cupti_world::{Tier, busy, cupti, kernels, tier, work};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_executable_of_a_graph_has_its_owners,
        a_clone_has_the_owners_of_its_original,
        an_update_changes_the_owner_of_what_it_changes_from_then_on,
        a_child_graph_belongs_to_the_launching_function_and_is_counted,
        what_was_captured_before_cupti_began_is_counted,
        what_no_function_captured_is_counted,
    ]],
);

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
    t.gpu.kernel_on(stream, 1_000);
}

/// Another executable of `graph`, made inside a profiled function.
#[gpu_profile(cpu)]
fn instantiate(graph: sys::CUgraph) -> sys::CUgraphExec {
    let mut executable = std::ptr::null_mut();
    // SAFETY: the graph lives, and `executable` is writable.
    unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0) }
        .result()
        .expect("an executable graph");
    executable
}

#[gpu_profile(cpu)]
fn clone(graph: sys::CUgraph) -> sys::CUgraph {
    let mut clone = std::ptr::null_mut();
    // SAFETY: the graph lives, and `clone` is writable.
    unsafe { sys::cuGraphClone(&mut clone, graph) }
        .result()
        .expect("a clone");
    clone
}

#[gpu_profile]
fn replay(t: &Tier, executable: sys::CUgraphExec, stream: &Arc<CudaStream>) {
    t.sim.set_kernel_ns(kernels::SAXPY, 1_000);
    // SAFETY: both live.
    unsafe { sys::cuGraphLaunch(executable, stream.cu_stream()) }
        .result()
        .expect("launch");
}

fn every_executable_of_a_graph_has_its_owners() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || first(&t, &stream));
    let other = instantiate(graph.cu_graph());
    replay(&t, graph.cu_graph_exec(), &stream);
    replay(&t, other, &stream);
    replay(&t, other, &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "first"), [("saxpy", 3, 3_000)]);
    assert_eq!(busy(&profile, "first"), (3_000, 3, 3, 3));
    assert_eq!(busy(&profile, "replay"), (3_000, 3, 3, 3));
    assert_eq!(busy(&profile, "instantiate"), (0, 1, 0, 0));
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 0);
}

fn a_clone_has_the_owners_of_its_original() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let graph = capture(&stream, || first(&t, &stream));
    let executable = instantiate(clone(graph.cu_graph()));
    drop(graph);
    replay(&t, executable, &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "first"), [("saxpy", 1, 1_000)]);
    assert_eq!(busy(&profile, "clone"), (0, 1, 0, 0));
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 0);
}

/// One kernel of two factors and one memset of two values.
#[gpu_profile]
fn with_one(t: &Tier, stream: &Arc<CudaStream>, memory: &CudaSlice<u8>) {
    t.gpu.scaled_kernel_on(stream, 1_000, 1.0);
    set(stream, memory, 1);
}

#[gpu_profile]
fn with_two(t: &Tier, stream: &Arc<CudaStream>, memory: &CudaSlice<u8>) {
    t.gpu.scaled_kernel_on(stream, 1_000, 2.0);
    set(stream, memory, 2);
}

fn set(stream: &CudaStream, memory: &CudaSlice<u8>, value: u8) {
    let address = memory.device_ptr(stream).0;
    // SAFETY: the memory lives as long as the test.
    unsafe { result::memset_d8_async(address, value, memory.len(), stream.cu_stream()) }
        .expect("memset");
}

#[gpu_profile(cpu)]
fn update(executable: sys::CUgraphExec, graph: sys::CUgraph) {
    // SAFETY: the type is a plain struct of an enumeration, for which 0 is a value, and pointers.
    let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
    // SAFETY: both live, and `info` is writable.
    unsafe { sys::cuGraphExecUpdate_v2(executable, graph, &mut info) }
        .result()
        .expect("the graphs have the same nodes");
}

/// The number of memsets of a function.
fn memsets(profile: &gpuprof::Profile, name: &str) -> u64 {
    let copies = work(profile, name).copies.iter();
    copies.map(|copies| copies.times.calls).sum()
}

fn an_update_changes_the_owner_of_what_it_changes_from_then_on() {
    let t = tier();
    // SAFETY: the test orders its streams itself.
    unsafe { t.gpu.context.disable_event_tracking() };
    let stream = t.gpu.another_stream();
    let memory = stream.alloc_zeros::<u8>(64).expect("memory");
    t.synchronize();
    t.sim.set_kernel_ns("memset", 100);
    let session = t.session();
    let one = capture(&stream, || with_one(&t, &stream, &memory));
    let two = capture(&stream, || with_two(&t, &stream, &memory));
    // Nothing is read in between.
    for _ in 0..3 {
        replay(&t, one.cu_graph_exec(), &stream);
    }
    update(one.cu_graph_exec(), two.cu_graph());
    replay(&t, one.cu_graph_exec(), &stream);
    replay(&t, two.cu_graph_exec(), &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "with_one"), [("saxpy", 3, 3_000)]);
    assert_eq!(kernels(&profile, "with_two"), [("saxpy", 2, 2_000)]);
    // CUPTI reports no update of a memset.
    assert_eq!(memsets(&profile, "with_one"), 4);
    assert_eq!(memsets(&profile, "with_two"), 1);
    assert_eq!(busy(&profile, "with_one"), (3_400, 4, 7, 3));
    assert_eq!(busy(&profile, "with_two"), (2_100, 2, 3, 2));
    assert_eq!(busy(&profile, "replay"), (5_500, 5, 10, 5));
    assert_eq!(busy(&profile, "update"), (0, 1, 0, 0));
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 0);
}

fn a_child_graph_belongs_to_the_launching_function_and_is_counted() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    let child = capture(&stream, || second(&t, &stream));
    let graph = capture(&stream, || {
        first(&t, &stream);
        replay(&t, child.cu_graph_exec(), &stream);
        first(&t, &stream);
    });
    replay(&t, graph.cu_graph_exec(), &stream);
    replay(&t, graph.cu_graph_exec(), &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "first"), [("saxpy", 4, 4_000)]);
    assert!(kernels(&profile, "second").is_empty());
    assert_eq!(kernels(&profile, "replay"), [("saxpy", 2, 2_000)]);
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 2);
    assert_eq!(cupti(&profile).unattributed, 0);
    let (busy_ns, _, activities, launches) = busy(&profile, "replay");
    assert_eq!((busy_ns, activities, launches), (6_000, 6, 6));
}

fn what_was_captured_before_cupti_began_is_counted() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let graph = capture(&stream, || first(&t, &stream));
    let session = t.session();
    let executable = instantiate(graph.cu_graph());
    replay(&t, executable, &stream);
    replay(&t, graph.cu_graph_exec(), &stream);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "replay"), [("saxpy", 2, 2_000)]);
    assert!(kernels(&profile, "instantiate").is_empty());
    assert_eq!(cupti(&profile).unattributed_graph_nodes, 2);
    assert_eq!(busy(&profile, "replay"), (2_000, 2, 2, 2));
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
