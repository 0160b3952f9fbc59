//! The part of the program that uses graphs: captured with profiled functions, replayed, made
//! part of another graph, and dropped while launches are in flight.

use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode as Mode};
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

/// Runs all steps with graphs.
pub(crate) fn run(gpu: &Gpu) -> Answer<()> {
    let stream = gpu.stream.fork()?;
    gpu.context.synchronize()?;
    tell(gpu, "outside of graphs", model(gpu, &stream));
    let graph = capture(&stream, || model(gpu, &stream))?;
    let launches = [(); 3].map(|()| replay(&graph, &stream));
    tell(gpu, "several under way", (launches, copies(gpu, &stream)));
    let part = capture(&stream, || graph.launch())?;
    tell(gpu, "a graph in a graph", (part.launch(), graph.launch()));
    // Dropped while launches are in flight.
    drop((part, graph));
    tell(gpu, "dropped", copies(gpu, &stream));
    let graph = capture(&stream, || model(gpu, &stream))?;
    let launches = [graph.launch(), replay(&graph, &stream)];
    tell(gpu, "another", (launches, copies(gpu, &stream)));
    gpu.context.synchronize()
}
