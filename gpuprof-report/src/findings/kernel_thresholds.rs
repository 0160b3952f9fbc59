//! The limits of the rules about kernels.

use super::threshold::thresholds;

thresholds! {
    KERNEL_SHARE = Share 0.1,
    "the kernel in the GPU time",
    "a smaller share is not worth a change",
    "chosen";

    KERNEL_CALLS = Count 5.0,
    "launches of the kernel",
    "one launch is not a pattern",
    "chosen";

    KERNEL_MEAN = Ns 10_000.0,
    "mean kernel time",
    "shorter kernels mostly start and end",
    "measured: docs/measurements/h200.md";

    EXPOSED_COLLECTIVES_SHARE = Share 0.1,
    "time of NCCL's kernels beside which no other kernel ran, in the GPU time",
    "a smaller share is not worth a change",
    "chosen";

    ALONE_SHARE = Share 0.5,
    "share of the kernel's time in which no other kernel ran on the device",
    "kernels that run at once fill the device together",
    "CUDA C++ Best Practices Guide, \"Concurrent Kernel Execution\"";

    MAX_BLOCKS_PER_SM = Times 0.9,
    "blocks per multiprocessor, at most",
    "a block runs on one multiprocessor, so with fewer blocks some have no work",
    "CUDA C++ Best Practices Guide, \"Thread and Block Heuristics\"";

    SERIAL_BLOCKS_PER_SM = Times 0.5,
    "blocks per multiprocessor, at most, for kernels that could run at once",
    "two of them must fit",
    "CUDA C++ Best Practices Guide, \"Concurrent Kernel Execution\"";

    SERIAL_LAUNCHES = Count 4.0,
    "launches of such kernels per call",
    "fewer are often a chain of dependent kernels",
    "chosen";

    TAIL_LOSS = Share 0.2,
    "unused share of all waves",
    "a smaller share is not worth a change",
    "Nsight Compute, rule \"Tail Effect\"";

    TAIL_MEAN = Ns 20_000.0,
    "mean kernel time",
    "start and end of a kernel take a few µs",
    "measured: docs/measurements/h200.md";

    LOCAL_BYTES = Bytes 64.0,
    "local memory per thread",
    "sin and cos reserve 40 bytes for huge arguments, which costs nothing otherwise",
    "CUDA C++ Programming Guide, \"Device Memory Accesses\", local memory";

    LOCAL_SHARE = Share 0.1,
    "local memory in the registers and local memory of a thread",
    "a few spilled registers are cheaper than a lower occupancy",
    "CUDA C++ Best Practices Guide, \"Register Pressure\"";

    TENSOR_CAPABILITY = Count 7.0,
    "compute capability",
    "older devices have no tensor cores",
    "CUDA C++ Programming Guide, \"Compute Capabilities\"";

    TF32_CAPABILITY = Count 8.0,
    "compute capability from which tensor cores take single precision as TF32",
    "tensor cores of 7.x take half precision only",
    "CUDA C++ Programming Guide, \"Compute Capabilities\"";

    TENSOR_SPEEDUP = Times 8.0,
    "rate of tensor cores over that of single precision",
    "156 TFLOP/s in TF32 and 19.5 in FP32",
    "NVIDIA A100 whitepaper, table 1";

    MAX_PEAK_SHARE = Share 0.1,
    "share of the nearer peak, less than",
    "simple kernels reach a fifth to a half; below a tenth, something other than the \
     peaks limits the kernel",
    "measured: docs/measurements/h200.md";

    MEASURED_PEAK_SHARE = Share 0.3,
    "share of the nearest measured peak, less than",
    "below 60 % neither memory nor arithmetic is busy; half of that leaves ordinary kernels alone",
    "Nsight Compute documentation, \"Kernel Profiling Guide\", GPU Speed Of Light Throughput";

    MEASURED_RATIO = Times 2.0,
    "measured over stated bytes",
    "writing parts of sectors and reading borders twice adds some tens of percent",
    "chosen";

    BUSY_BANDWIDTH = Share 0.5,
    "measured bandwidth over the peak, from which the memory limits a kernel",
    "a kernel whose memory is idle half of the time does not wait for its bytes alone",
    "chosen";

    MIN_TENSOR_ACTIVITY = Share 0.01,
    "time that the tensor cores work during a kernel, from which it uses them",
    "a product on tensor cores keeps them busy for a tenth of its time and more",
    "chosen";

    DOUBLE_PEAK_SHARE = Share 0.5,
    "rate of the stated flops over the double-precision peak, less than (or over \
     1.05)",
    "otherwise the kernel may well compute in double precision, and near that peak",
    "measured: 02_convolution on the simulated device, 99 %";

    RATED_SHARE = Share 0.1,
    "the function's kernels in the GPU time",
    "a smaller share is not worth a change",
    "chosen";

    RATED_CALLS = Count 5.0,
    "timed calls",
    "the first calls can be slow for reasons of their own",
    "chosen";

    RATED_MEAN = Ns 20_000.0,
    "mean time of its kernels",
    "start and end of a kernel take a few µs, which distorts the rate of a shorter \
     one",
    "measured: docs/measurements/h200.md";

    KERNEL_SHARE_OF_FUNCTION = Share 0.5,
    "kernels in the function's own kernel and copy time",
    "copies to and from the host are limited by PCIe, not by the peaks",
    "definition of mostly";

}
