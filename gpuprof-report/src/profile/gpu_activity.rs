//! What CUPTI recorded: kernels, copies and CUDA API calls, of the whole program and of each
//! function. All of it is empty unless `GPUPROF_CUPTI=on` is set and CUPTI is available.

use super::counters::CounterValues;
use super::launch_lines::LaunchLine;
use super::span_stats::Bucket;
use super::word_enums::{ApiKind, CopyKind};
use crate::figures::{Sum, figures};

figures! {
    /// How complete CUPTI's records are.
    ///
    /// If `dropped_records`, `invalid_records` or `unfinished` is not 0, activities are missing.
    /// `late_records` and `unattributed` are included.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CuptiCompleteness {
        /// `cuptiGetVersion`: 18 for CUDA 12.0, 130000 and more for CUDA 13.
        pub version: u32 = max;
        /// Path or name that the library was loaded by.
        pub library: String = first;
        /// Whether allocations, frees and look-ups of kernels were recorded too, as
        /// `GPUPROF_CUPTI=full` asks. Otherwise these calls are in no table of API calls.
        pub all_calls: bool = all;
        /// Records read.
        pub records: u64 = sum;
        /// Records for which there was no room: those that CUPTI counts as dropped, and API calls
        /// that came faster than they could be queued.
        pub dropped_records: u64 = sum;
        /// Records discarded because a time stamp was 0 or the end was before the start.
        pub invalid_records: u64 = sum;
        /// Launches, copies and memsets whose record had not arrived when the profile was taken, or
        /// was dropped. Work that is known to be captured into a graph does not count.
        pub unfinished: u64 = sum;
        /// Records that arrived after their call was closed. Their time is included, but any
        /// overlap with other work of that call is counted twice in `busy_ns`.
        pub late_records: u64 = sum;
        /// Records of calls that were forgotten to bound the memory. Their kernels are included,
        /// but are missing from the busy time of the call or of an enclosing one.
        pub records_without_call: u64 = sum;
        /// Calls of profiled functions that ended faster than they could be queued. Their kernels
        /// are included, but not their busy time, nor the calls in `busy_calls`.
        pub dropped_calls: u64 = sum;
        /// Kernels, copies and memsets outside any profiled function.
        pub unattributed: u64 = sum;
        /// Time of the unattributed activities, ns.
        pub unattributed_ns: u64 = sum;
        /// Kernels, copies and memsets of replayed graphs that no profiled function is known to
        /// have captured: those captured outside any or before CUPTI was on, and those of child
        /// graphs and of loops. They are attributed to the function that launched the graph.
        pub unattributed_graph_nodes: u64 = sum;
    }
}

impl CuptiCompleteness {
    /// Adds `other`; `all_calls` is then true if it was in both.
    pub fn add(&mut self, other: &Self) {
        Sum::add(self, other);
    }
}

figures! {
    /// Statistics of durations.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct DurationStats {
        /// Number of durations.
        pub calls: u64 = sum;
        /// Sum, ns.
        pub total_ns: u64 = sum;
        /// Mean, ns.
        pub mean_ns: u64 = special;
        /// Minimum, ns.
        pub min_ns: u64 = special;
        /// Maximum, ns.
        pub max_ns: u64 = special;
        /// Median, ns, from a histogram: within 1/32 of the true value.
        pub p50_ns: u64 = special;
        /// 99th percentile, ns, from a histogram.
        pub p99_ns: u64 = special;
        /// The durations in the buckets of [`SpanStats::histogram`](super::SpanStats::histogram).
        /// JSON omits it if it is empty.
        pub histogram: Vec<Bucket> = special, unless default;
    }
}

figures! {
    /// One kernel on one device.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct KernelStats {
        /// Demangled name without parameters, as in the tables. Of its template arguments it has
        /// those that tell it apart from other kernels of the profile, or else a number: `gemm<…>
        /// #2`.
        pub name: String = special;
        /// Full demangled name; beyond 8 KiB it is cut, and ends with `…`.
        pub full_name: String = special;
        /// Name in the module.
        pub symbol: String = special;
        /// CUDA ordinal.
        pub device: u32 = special;
        /// GPU time of the launches, from start to end.
        pub times: DurationStats = special, json(flatten);
        /// Of `calls`, those that were nodes of a graph.
        pub graph_calls: u64 = sum;
        /// Time from the start of the launching API call to the start of the kernel; of a graph
        /// launch only the first node's.
        pub launch_latency: DurationStats = special;
        /// Blocks of the launch shape with the most time.
        pub grid: [u32; 3] = special;
        /// Threads per block of that launch shape.
        pub block: [u32; 3] = special;
        /// Different launch shapes (grid, block, dynamic and static shared memory, registers);
        /// counts to 64.
        pub shapes: u32 = max;
        /// Registers per thread of the launch shape with the most time.
        pub registers: u32 = special;
        /// Static shared memory per block of that launch shape, bytes.
        pub static_shared_bytes: u32 = special;
        /// Dynamic shared memory per block of that launch shape, bytes.
        pub dynamic_shared_bytes: u32 = special;
        /// Local memory per thread of that launch shape, bytes: spilled registers and local arrays.
        pub local_bytes_per_thread: u32 = special;
        /// Theoretical occupancy of that launch shape, 0 to 1: resident warps over the warps that a
        /// multiprocessor can hold. `None` if the limits of the device are unknown.
        #[cfg_attr(test, schemars(range(min = 0, max = 1)))]
        pub occupancy: Option<f64> = special;
        /// Streams that it ran on.
        pub streams: u32 = sum;
        /// Part of its GPU time during which another kernel ran on the device as well, ns. `None`
        /// where [`GpuBusy::records`](super::GpuBusy::records) is.
        pub concurrent_ns: Option<u64> = sum;
        /// What the hardware counters measured while it ran; `None` without samples. JSON omits it
        /// then.
        pub counters: Option<Box<CounterValues>> = special, unless default;
        /// From which source lines it was launched, the most frequent first, of the launches whose
        /// stack was sampled. A kernel that a graph replays has the line that captured it or, if
        /// that is unknown, that of the graph's launch. Empty without `GPUPROF_STACKS=on`. JSON
        /// omits it then.
        pub launch_lines: Vec<LaunchLine> = special, unless default;
    }
}

figures! {
    /// The copies of one direction, or the memsets, on one device.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct CopyStats {
        /// Direction of the copies, or memset.
        pub kind: CopyKind = first;
        /// CUDA ordinal.
        pub device: u32 = special;
        /// GPU time.
        pub times: DurationStats = special, json(flatten);
        /// Sum of their sizes, bytes.
        pub bytes: u64 = sum;
        /// Of `calls`, those from or to pageable host memory.
        pub pageable_calls: u64 = sum;
        /// Time of the pageable copies, ns.
        pub pageable_ns: u64 = sum;
        /// Of `calls`, those made by an API call that returns when the copy has ended.
        pub blocking_calls: u64 = sum;
        /// Exposed time, ns: while a copy of this kind ran, but no kernel on the same device.
        /// `None` where [`GpuBusy::records`](super::GpuBusy::records) is.
        pub exposed_ns: Option<u64> = sum;
        /// Streams that they ran on.
        pub streams: u32 = sum;
    }
}

figures! {
    /// The calls of one CUDA API function, of the driver or the runtime.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct ApiStats {
        /// For example `cuLaunchKernel` or `cudaMemcpyAsync`.
        pub name: String = first;
        /// What the function does.
        pub kind: ApiKind = first;
        /// CPU time in the calls.
        pub times: DurationStats = special, json(flatten);
        /// Calls that returned an error.
        pub failed: u64 = sum;
    }
}

figures! {
    /// What CUPTI recorded during one function's calls.
    ///
    /// A kernel is attributed to the innermost profiled function around its launch, and counts in
    /// the `busy_ns` of the enclosing ones too. A kernel of a replayed graph is attributed to the
    /// function that captured it, and counts in the `busy_ns` of the captured functions around that
    /// one, of the function that launched the graph, and of those around the launch.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct GpuActivity {
        /// The function's kernels, longest total time first.
        pub kernels: Vec<KernelStats> = special;
        /// The function's copies and memsets, longest total time first.
        pub copies: Vec<CopyStats> = special;
        /// The function's CUDA API calls, longest total time first.
        pub api: Vec<ApiStats> = special;
        /// GPU busy time, ns: while at least one kernel, copy or memset of a call or its nested
        /// spans ran, summed over the outermost calls. Calls that overlap each other add up. `None`
        /// without CUPTI.
        pub busy_ns: Option<u64> = sum,
            column(Records, "time in which kernels, copies and memsets of its calls ran; NULL \
                without CUPTI");
        /// Idle time, ns: the GPU span of the outermost timed calls minus their busy time, an
        /// estimate if the span is one. Too small if work ran outside the span, on another stream
        /// or after its end. `None` if calls that were to be timed have no event pair, if the
        /// function has work on more than one device, or if its busy time exceeds its span. The
        /// span of an NVTX range is that from the first start to the last end of its work.
        pub idle_ns: Option<u64> = sum,
            column(Records, "GPU spans minus that time; NULL without CUPTI, or if unknown");
        /// Busy time of the outermost timed calls beyond their GPU span, ns: work that ran on
        /// another stream than the timed one, or after the end of the span. Beyond the uncertainty
        /// of the span if it is an estimate. 0 where `idle_ns` would be `None` for another reason.
        pub outside_span_ns: u64 = sum;
        /// Outermost calls that `busy_ns`, `activities` and `launches` cover. Of a captured call,
        /// its replays count, except those launched inside another call of the function.
        pub busy_calls: u64 = sum;
        /// Kernels, copies and memsets of these calls and their nested spans.
        pub activities: u64 = sum;
        /// Of `activities`, the kernels.
        pub launches: u64 = sum;
        /// Maximum of streams that the work of one of these calls ran on.
        pub work_streams: u32 = max;
        /// Time from the start of a launching API call to the start of its kernel, over the
        /// function's own kernels; of a graph launch only the first node's.
        pub launch_latency: Option<DurationStats> = special;
        /// CPU time of the very first call of the function, ns; `None` if that was before this
        /// window, or before CUPTI was on.
        pub first_call_ns: Option<u64> = first;
        /// What the hardware counters measured while the function's own kernels ran; `None` without
        /// samples. JSON omits it then.
        pub counters: Option<Box<CounterValues>> = special, unless default;
    }
}
