//! Profiled functions that graphs capture, and how graphs are captured and launched.

use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::gpu_profile;

use crate::World;

pub const CAPTURE_MODE: Mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;

#[gpu_profile(name = "layer", bytes = 500)]
pub fn layer(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile(name = "model")]
pub fn model(w: &World, stream: &Arc<CudaStream>) {
    layer(w, stream);
    w.gpu.kernel_on(stream, 1_000);
    layer(w, stream);
}

pub fn capture(stream: &Arc<CudaStream>, body: impl FnOnce()) -> CudaGraph {
    stream.begin_capture(CAPTURE_MODE).expect("begin");
    body();
    stream
        .end_capture(Flags(0))
        .expect("the capture is valid")
        .expect("a graph")
}

/// Launches `graph`, each kernel of which takes `ns`.
pub fn launch(w: &World, graph: &CudaGraph, ns: u64) {
    w.sim.set_kernel_ns(kernels::SAXPY, ns);
    graph.launch().expect("launch");
}
