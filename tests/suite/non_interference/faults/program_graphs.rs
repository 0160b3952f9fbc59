//! The part of the program that uses graphs: captured with profiled functions, replayed, made
//! part of another graph, and dropped while launches are in flight.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode as Mode};
use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::gpu_profile;

use super::program::{Answer, Gpu, copies, tell};

#[gpu_profile]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>, a: f32) -> Answer<()> {
    gpu.launch(stream, a)
}

#[gpu_profile]
fn block(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    layer(gpu, stream, 0.5)?;
    gpu.launch(stream, 0.25)
}

#[gpu_profile]
fn model(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    block(gpu, stream)?;
    gpu.launch(stream, 0.125)?;
    layer(gpu, stream, 0.5)
}

#[gpu_profile]
fn replay(graph: &CudaGraph, _stream: &Arc<CudaStream>) -> Answer<()> {
    graph.launch()
}

fn capture(stream: &Arc<CudaStream>, inside: impl FnOnce() -> Answer<()>) -> Answer<CudaGraph> {
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let answer = inside();
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    answer.map(|()| graph.expect("there is something in it"))
}

/// An executable of `parent` with `child` as one more node.
fn with_child(parent: &CudaGraph, child: &CudaGraph) -> Answer<sys::CUgraphExec> {
    let (mut node, mut executable) = (ptr::null_mut(), ptr::null_mut());
    let (to, from) = (parent.cu_graph(), child.cu_graph());
    // SAFETY: both graphs live, and `node` is writable.
    unsafe { sys::cuGraphAddChildGraphNode(&raw mut node, to, ptr::null(), 0, from) }.result()?;
    // SAFETY: the graph lives, and `executable` is writable.
    unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, to, 0) }.result()?;
    Ok(executable)
}

/// Runs all steps with graphs.
pub(crate) fn run(gpu: &Gpu) -> Answer<()> {
    let stream = gpu.stream.fork()?;
    gpu.context.synchronize()?;
    tell(gpu, "outside of graphs", model(gpu, &stream));
    let graph = capture(&stream, || model(gpu, &stream))?;
    let launches = [(); 3].map(|()| replay(&graph, &stream));
    tell(gpu, "several under way", (launches, copies(gpu, &stream)));
    let parent = capture(&stream, || gpu.launch(&stream, 0.125))?;
    let executable = with_child(&parent, &graph)?;
    // SAFETY: both live.
    let launched = unsafe { sys::cuGraphLaunch(executable, stream.cu_stream()) }.result();
    tell(gpu, "a graph in a graph", (launched, graph.launch()));
    // Dropped while launches are in flight. SAFETY: nothing uses the executable after this.
    let destroyed = unsafe { sys::cuGraphExecDestroy(executable) }.result();
    drop((parent, graph));
    tell(gpu, "destroyed", destroyed);
    tell(gpu, "dropped", copies(gpu, &stream));
    let graph = capture(&stream, || model(gpu, &stream))?;
    let launches = [graph.launch(), replay(&graph, &stream)];
    tell(gpu, "another", (launches, copies(gpu, &stream)));
    gpu.context.synchronize()
}
