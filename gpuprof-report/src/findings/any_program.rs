//! Advice for programs that are not built with gpuprof, which may be of any language: without the
//! names of cudarc, and without the attribute.

/// What cudarc calls it, and what CUDA does. Longer ones first.
const NAMES: [(&str, &str); 15] = [
    (
        "CudaStream::begin_capture, CudaGraph::launch",
        "cudaStreamBeginCapture, cudaGraphLaunch",
    ),
    ("CudaStream::begin_capture", "cudaStreamBeginCapture"),
    ("CudaStream::wait", "cudaStreamWaitEvent"),
    ("CudaStream::alloc instead of alloc_zeros", "no cudaMemset"),
    ("CudaStream::alloc", "cudaMalloc"),
    ("CudaContext::alloc_pinned", "cudaMallocHost"),
    ("CudaContext::new_stream", "cudaStreamCreate"),
    ("CudaContext::load_module", "cuModuleLoad"),
    ("CudaGraph::launch", "cudaGraphLaunch"),
    ("CudaFunction", "CUfunction"),
    ("CudaGraph", "CUDA graph"),
    ("CudaSlice", "memory"),
    (
        "label = EXPR in the attribute, or a scope! per case",
        "an NVTX range per case",
    ),
    (
        "annotate the host code between launches; move it",
        "move host work between launches",
    ),
    (
        "measure the steady part alone with a gpuprof::Session",
        "run longer, so that start-up and exit count less",
    ),
];

/// The advice for any program.
pub(super) fn advice(text: &str) -> String {
    let mut text = text.to_owned();
    for (of_cudarc, of_cuda) in NAMES {
        text = text.replace(of_cudarc, of_cuda);
    }
    text
}
