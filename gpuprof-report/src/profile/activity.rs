//! What CUPTI told: kernels, copies and CUDA calls, of the whole program and of each function, as plain data.
//!
//! All of it is empty unless `GPUPROF_CUPTI=on` was asked for and could be had. Must never import anything that measures or
//! prints.

#[cfg(feature = "json")]
use serde::{Deserialize, Serialize};

/// How the records of CUPTI came.
///
/// Where `dropped_records`, `invalid_records` or `unfinished` is not 0, the tables miss something. What `late_records` and `unattributed` count is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Cupti {
    /// `cuptiGetVersion`: 18 for CUDA 12.0, 130000 and more for CUDA 13.
    pub version: u32,
    /// The file it was opened from, or the name.
    pub library: String,
    /// Records read.
    pub records: u64,
    /// Records that there was no room for: CUPTI's, by its own count, and CUDA calls that came faster than they could be taken note of.
    pub dropped_records: u64,
    /// Records left out because a time stamp was 0 or the end lay before the start.
    pub invalid_records: u64,
    /// Launches, copies and memsets whose record had not come when the profile was taken, or was dropped. What was captured into a
    /// graph is none, as far as that is known.
    pub unfinished: u64,
    /// Records that came when the call they belong to had already been closed, or when of what it had done by then only the sum was
    /// left: their time is in the tables, but what of it overlaps other work of the same call is counted twice in its busy time.
    pub late_records: u64,
    /// Calls of profiled functions that ended faster than they could be taken note of: their kernels are in the tables, but their busy
    /// time, and they themselves among `busy_calls`, are not.
    pub dropped_calls: u64,
    /// Kernels, copies and memsets that ran outside any profiled function.
    pub unattributed: u64,
    /// Time of these, ns.
    pub unattributed_ns: u64,
}

/// Statistics of durations, as nvprof's users know them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct DurationStats {
    /// How many.
    pub calls: u64,
    /// Their sum.
    pub total_ns: u64,
    /// Mean.
    pub mean_ns: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Median, from a histogram: within 1/32 of the true value.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

/// One kernel on one device.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct KernelStats {
    /// Demangled, template arguments and parameters shortened: what the tables show.
    pub name: String,
    /// Demangled, in full.
    pub full_name: String,
    /// As the module has it.
    pub symbol: String,
    /// CUDA ordinal.
    pub device: u32,
    /// GPU time of its launches, from start to end.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub times: DurationStats,
    /// Of `times.calls`, those that were nodes of a graph.
    pub graph_calls: u64,
    /// From the start of the launching call to the kernel's start; of a graph's launch the first node alone.
    pub launch_latency: DurationStats,
    /// Blocks of the launch shape that took most time.
    pub grid: [u32; 3],
    /// Threads per block of that launch shape.
    pub block: [u32; 3],
    /// Different launch shapes (grid, block, dynamic and static shared memory, registers) seen; at most 64 are told apart.
    pub shapes: u32,
    /// Registers per thread of the shown launch shape.
    pub registers: u32,
    /// Static shared memory of a block of the shown launch shape, bytes.
    pub static_shared_bytes: u32,
    /// Dynamic shared memory of a block of the shown launch shape, bytes.
    pub dynamic_shared_bytes: u32,
    /// Theoretical occupancy of the shown launch shape: resident warps in the warps that a multiprocessor can hold, 0 to 1.
    /// `None` where the device does not tell its limits.
    pub occupancy: Option<f64>,
    /// Streams that it ran on.
    pub streams: u32,
}

/// Copies of one direction, or memsets, on one device.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct CopyStats {
    /// `HtoD`, `DtoH`, `DtoD`, `HtoH`, `PtoP`, `HtoA`, `AtoH`, `AtoA`, `AtoD`, `DtoA`, `memset` or `unknown`.
    pub kind: String,
    /// CUDA ordinal.
    pub device: u32,
    /// GPU time.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub times: DurationStats,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Of `times.calls`, those from or to pageable host memory.
    pub pageable_calls: u64,
    /// Time of these.
    pub pageable_ns: u64,
    /// Of `times.calls`, those made by a call that returns only when the copy is done.
    pub blocking_calls: u64,
    /// Time during which no kernel ran on the same device while a copy of this kind did. `None` where it was not worked out.
    pub exposed_ns: Option<u64>,
    /// Streams that they ran on.
    pub streams: u32,
}

/// One CUDA call, by its name in the driver or the runtime.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct ApiStats {
    /// For example `cuLaunchKernel` or `cudaMemcpyAsync`.
    pub name: String,
    /// What kind of call it is: `launch`, `graph`, `copy`, `memset`, `sync`, `alloc`, `free`, `module` or `other`.
    pub kind: String,
    /// CPU time in the call.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub times: DurationStats,
    /// Calls that did not answer success.
    pub failed: u64,
}

/// What one function's calls did on the GPU and in the driver; empty where CUPTI did not run.
///
/// A kernel belongs to the innermost profiled function around its launch. `busy_ns` has that of the functions inside too.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct GpuActivity {
    /// Its kernels, those of the most time first.
    pub kernels: Vec<KernelStats>,
    /// Its copies and memsets, those of the most time first.
    pub copies: Vec<CopyStats>,
    /// Its CUDA calls, those of the most time first.
    pub api: Vec<ApiStats>,
    /// Time during which at least one kernel, copy or memset of the function or of a function inside was running; of each
    /// call by itself, so calls that overlap each other add up. Over all outermost calls. `None` where CUPTI did not run.
    pub busy_ns: Option<u64>,
    /// GPU span of the outermost timed calls, less their busy time: the GPU had nothing of this function to do although its span
    /// was open. Too small where work ran outside of the span, on another stream or after its end. `None` where no call was timed by
    /// events, or not each that was to be; where there is work on more than one device; and where the busy time is longer than the
    /// span. An estimate where the span's total is one.
    pub idle_ns: Option<u64>,
    /// Outermost calls that `busy_ns`, `activities` and `launches` are of; without those whose stream was being captured.
    pub busy_calls: u64,
    /// Kernels, copies and memsets of the function and of functions inside, over these calls.
    pub activities: u64,
    /// Of these the kernels.
    pub launches: u64,
    /// Most streams that the work of one of these calls ran on.
    pub work_streams: u32,
    /// From the start of a launching call to the start of its kernel, over the function's own kernels; of a graph's launch the first
    /// node alone.
    pub launch_latency: Option<DurationStats>,
    /// CPU time of the very first call of the function; `None` where it was before the window, or CUPTI was not yet on.
    pub first_call_ns: Option<u64>,
}

/// Something worth doing, worked out from the rest of the profile.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Finding {
    /// The rule, for example `launch-bound`.
    pub rule: String,
    /// The function it is about; `None` for the whole program.
    pub function: Option<String>,
    /// What it costs at most, ns: findings are sorted by it.
    pub weight_ns: u64,
    /// What was seen, with figures.
    pub evidence: String,
    /// What to try.
    pub advice: String,
}

/// A command line for another tool that shows what a profile cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Command {
    /// What it shows.
    pub what: String,
    /// The line, quoted for a POSIX shell. The program stands in it by its file name alone.
    pub line: String,
}

/// Why a device ran below its clocks while the program ran, as NVML counts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Throttle {
    /// CUDA ordinal.
    pub device: u32,
    /// Reasons seen at the program's end or in between, for example `power cap` or `thermal slowdown`.
    pub reasons: Vec<String>,
    /// Lowest SM clock seen while there was such a reason, MHz; 0 where it could not be had.
    pub sm_clock_mhz: u32,
    /// Highest SM clock of the device, MHz.
    pub max_sm_clock_mhz: u32,
}
