//! The part of the program that uses graphs: captured with marked functions, replayed with and
//! without gpuprof, made part of another graph, and dropped while launches are in flight.

use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode as Mode};
use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{Graph, gpu_profile};

use super::program::{Answer, Gpu, copies, tell};

/// Enough rounds that every pair of the pool is used again.
const ROUNDS: u32 = 100;

#[gpu_profile(graph)]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>, a: f32) -> Answer<()> {
    gpu.launch(stream, a)
}

#[gpu_profile(graph)]
fn block(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    layer(gpu, stream, 0.5)?;
    gpu.launch(stream, 0.25)
}

#[gpu_profile(graph)]
fn model(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    block(gpu, stream)?;
    gpu.launch(stream, 0.125)?;
    layer(gpu, stream, 0.5)
}

#[gpu_profile]
fn replay(graph: &Graph, _stream: &Arc<CudaStream>) -> Answer<()> {
    graph.launch()
}

/// Launches a kernel and, on another stream, a graph whose launch gpuprof does not see.
#[gpu_profile]
fn beside(gpu: &Gpu, stream: &Arc<CudaStream>, plain: &CudaGraph) -> Answer<()> {
    gpu.launch(stream, 0.0)?;
    plain.launch()
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
    let graph = Graph::new(capture(&stream, || model(gpu, &stream))?);
    let launches = [(); 3].map(|()| replay(&graph, &stream));
    tell(gpu, "several under way", (launches, copies(gpu, &stream)));
    let part = Graph::new(capture(&stream, || graph.launch())?);
    tell(gpu, "a graph in a graph", (part.launch(), graph.launch()));
    // Dropped while launches are in flight.
    drop((part, graph));
    tell(gpu, "dropped", copies(gpu, &stream));
    let graph = Graph::new(capture(&stream, || model(gpu, &stream))?);
    let launches = [graph.launch(), replay(&graph, &stream)];
    tell(gpu, "another", (launches, copies(gpu, &stream)));
    // All times have been read, so only the graph still has its event pairs.
    drop(gpuprof::collect());
    let plain = graph.into_inner();
    // No time is read before the last launch: a span that was given one of the graph's pairs would
    // have a wrong time.
    for _ in 0..ROUNDS {
        tell(gpu, "plain", beside(gpu, &gpu.stream, &plain));
    }
    tell(gpu, "plain", copies(gpu, &stream));
    gpu.context.synchronize()
}
