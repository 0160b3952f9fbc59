//! The limits of the rules about kernels.

use super::rule_limit::Threshold;

/// The kernel in the GPU time. A smaller share is not worth a change (chosen).
pub(super) const KERNEL_SHARE: Threshold = Threshold(0.1);

/// Launches of the kernel. One launch is not a pattern (chosen).
pub(super) const KERNEL_CALLS: Threshold = Threshold(5.0);

/// Mean kernel time. Shorter kernels mostly start and end (measured: docs/measurements/h200.md).
pub(super) const KERNEL_MEAN: Threshold = Threshold(10_000.0);

/// Time of NCCL's kernels beside which no other kernel ran, in the GPU time. A smaller share is not
/// worth a change (chosen).
pub(super) const EXPOSED_COLLECTIVES_SHARE: Threshold = Threshold(0.1);

/// Share of the kernel's time in which no other kernel ran on the device. Kernels that run at once
/// fill the device together (CUDA C++ Best Practices Guide, "Concurrent Kernel Execution").
pub(super) const ALONE_SHARE: Threshold = Threshold(0.5);

/// Blocks per multiprocessor, at most. A block runs on one multiprocessor, so with fewer blocks
/// some have no work (CUDA C++ Best Practices Guide, "Thread and Block Heuristics").
pub(super) const MAX_BLOCKS_PER_SM: Threshold = Threshold(0.9);

/// Blocks per multiprocessor, at most, for kernels that could run at once. Two of them must fit
/// (CUDA C++ Best Practices Guide, "Concurrent Kernel Execution").
pub(super) const SERIAL_BLOCKS_PER_SM: Threshold = Threshold(0.5);

/// Launches of such kernels per call. Fewer are often a chain of dependent kernels (chosen).
pub(super) const SERIAL_LAUNCHES: Threshold = Threshold(4.0);

/// Unused share of all waves. A smaller share is not worth a change (Nsight Compute, rule "Tail
/// Effect").
pub(super) const TAIL_LOSS: Threshold = Threshold(0.2);

/// Mean kernel time. Start and end of a kernel take a few µs (measured: docs/measurements/h200.md).
pub(super) const TAIL_MEAN: Threshold = Threshold(20_000.0);

/// Local memory per thread. The functions sin and cos reserve 40 bytes for huge arguments, which
/// costs nothing otherwise (CUDA C++ Programming Guide, "Device Memory Accesses", local memory).
pub(super) const LOCAL_BYTES: Threshold = Threshold(64.0);

/// Local memory in the registers and local memory of a thread. A few spilled registers are cheaper
/// than a lower occupancy (CUDA C++ Best Practices Guide, "Register Pressure").
pub(super) const LOCAL_SHARE: Threshold = Threshold(0.1);

/// Compute capability. Older devices have no tensor cores (CUDA C++ Programming Guide, "Compute
/// Capabilities").
pub(super) const TENSOR_CAPABILITY: Threshold = Threshold(7.0);

/// Compute capability from which tensor cores take single precision as TF32. Tensor cores of 7.x
/// take half precision only (CUDA C++ Programming Guide, "Compute Capabilities").
pub(super) const TF32_CAPABILITY: Threshold = Threshold(8.0);

/// Rate of tensor cores over that of single precision. 156 TFLOP/s in TF32 and 19.5 in FP32 (NVIDIA
/// A100 whitepaper, table 1).
pub(super) const TENSOR_SPEEDUP: Threshold = Threshold(8.0);

/// Share of the nearer peak, less than. Simple kernels reach a fifth to a half; below a tenth,
/// something other than the peaks limits the kernel (measured: docs/measurements/h200.md).
pub(super) const MAX_PEAK_SHARE: Threshold = Threshold(0.1);

/// Share of the nearest measured peak, less than. Below 60 % no unit is busy; half of that leaves
/// ordinary kernels alone (Nsight Compute documentation, "Kernel Profiling Guide", GPU Speed Of
/// Light Throughput).
pub(super) const MEASURED_PEAK_SHARE: Threshold = Threshold(0.3);

/// Measured over stated bytes. Writing parts of sectors and reading borders twice adds some tens of
/// percent (chosen).
pub(super) const MEASURED_RATIO: Threshold = Threshold(2.0);

/// Measured bandwidth over the peak, from which the memory limits a kernel. A kernel whose memory
/// is idle half of the time does not wait for its bytes alone (chosen).
pub(super) const BUSY_BANDWIDTH: Threshold = Threshold(0.5);

/// Time that the tensor cores work during a kernel, from which it uses them. A product on tensor
/// cores keeps them busy for a tenth of its time and more (chosen).
pub(super) const MIN_TENSOR_ACTIVITY: Threshold = Threshold(0.01);

/// Share of the peak of the double-precision units, from which a kernel computes in double
/// precision. On an H100 a convolution with a double accumulator has 9.5 %, and one without 0.0 %
/// (measured: docs/counters.md).
pub(super) const MIN_FP64_ACTIVITY: Threshold = Threshold(0.01);

/// Share of that peak in another kernel, from which the program uses double precision there too. It
/// may be meant (chosen).
pub(super) const NO_FP64_ACTIVITY: Threshold = Threshold(0.001);

/// Share of the peak of the L2 cache, or of L1 caches and shared memory, from which it limits a
/// kernel. Above 60 % a unit is a likely limit (Nsight Compute documentation, "Kernel Profiling
/// Guide", GPU Speed Of Light Throughput).
pub(super) const CACHE_SHARE: Threshold = Threshold(0.6);

/// Share of the passes of shared memory that are not the first of their access. Accesses of 16
/// bytes per thread take four, which is a share of 0.75 (measured: docs/counters.md).
pub(super) const CONFLICT_SHARE: Threshold = Threshold(0.8);

/// Share of its peak that the data path of the L1 caches reaches without shared memory. A kernel
/// below it loads and stores little (chosen).
pub(super) const ACCESS_SHARE: Threshold = Threshold(0.1);

/// Passes of that data path per load or store, without shared memory. Neighbouring threads that use
/// 16 bytes each need 4 (measured: docs/counters.md).
pub(super) const MANY_PASSES: Threshold = Threshold(6.0);

/// Threads that execute their instruction in those of a warp, less than. With more, half of the
/// work is not lost (definition of most).
pub(super) const FEW_THREADS: Threshold = Threshold(0.5);

/// Share of the kernel's samples that wait for memory. With less than half, it is not what they
/// mostly wait for (definition of most).
pub(super) const MEMORY_WAIT_SHARE: Threshold = Threshold(0.5);

/// Share of the kernel's samples that wait for this. Without a shorter wait
/// the kernel still takes most of its time (chosen).
pub(super) const WAIT_SHARE: Threshold = Threshold(0.3);

/// Warps that fit at once in those that a multiprocessor can hold, at most. With more, it is rarely
/// their number that fails to hide the memory's latency (chosen).
pub(super) const FEW_WARPS: Threshold = Threshold(0.5);

/// Rate of the stated flops over the double-precision peak, less than (or over 1.05). Otherwise the
/// kernel may well compute in double precision, and near that peak (measured: 02_convolution on the
/// simulated device, 99 %).
pub(super) const DOUBLE_PEAK_SHARE: Threshold = Threshold(0.5);

/// The function's kernels in the GPU time. A smaller share is not worth a change (chosen).
pub(super) const RATED_SHARE: Threshold = Threshold(0.1);

/// Timed calls. The first calls can be slow for reasons of their own (chosen).
pub(super) const RATED_CALLS: Threshold = Threshold(5.0);

/// Mean time of its kernels. Start and end of a kernel take a few µs, which distorts the rate of a
/// shorter one (measured: docs/measurements/h200.md).
pub(super) const RATED_MEAN: Threshold = Threshold(20_000.0);

/// Kernels in the function's own kernel and copy time. Copies to and from the host are limited by
/// PCIe, not by the peaks (definition of mostly).
pub(super) const KERNEL_SHARE_OF_FUNCTION: Threshold = Threshold(0.5);
