//! What was measured, as plain data: the one thing that every output is made from.
//!
//! This is the Rust side of the JSON document `gpuprof.profile/1`
//! (`gpuprof-report/schema/profile-1.schema.json`). It must never import anything that measures or prints.
//!
//! Fields may be added under `/1`. A document that lacks one, as an older version wrote it, reads as if it held the
//! field's default; a field that is not known here is passed over.
//!
//! Units: every `*_ns` is a whole number of nanoseconds, sizes are bytes, rates are per second.

mod activity;

#[cfg(feature = "json")]
use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;
use crate::settings::Sampling;

pub use activity::{
    ApiStats, Command, CopyStats, Cupti, DurationStats, Finding, GpuActivity, KernelStats, Throttle,
};

/// The name and version of the document that a [`Profile`] serializes to.
pub const SCHEMA: &str = "gpuprof.profile/1";

/// Everything gpuprof knows about a stretch of a program's run.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Profile {
    /// Always [`SCHEMA`] in a profile that gpuprof made.
    pub schema: String,
    /// File name of the program.
    pub program: String,
    /// Process id.
    pub pid: u32,
    /// Name of the machine.
    pub host: String,
    /// Rank of the process in its job: RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID.
    pub rank: Option<u32>,
    /// When measuring began, RFC 3339 in UTC: at the first annotated call, at the start of a session, or at the last
    /// reset. Never at the start of the program.
    pub started_at: String,
    /// Time from `started_at` to this profile, so without what the program did before it.
    pub wall_ns: u64,
    /// What was measured of a program that calls `gpuprof::step()` under a schedule.
    pub schedule: Option<ScheduleSteps>,
    /// The devices on which anything was timed, by ordinal.
    pub devices: Vec<Device>,
    /// One entry per annotated function, those that never ran included, by name.
    pub functions: Vec<Function>,
    /// The merged call tree of all threads; parents stand before their children.
    pub tree: Vec<TreeNode>,
    /// How CUPTI's records came; `None` where it was not asked for, or could not be had: `Diagnostics::notes` says why.
    pub cupti: Option<Cupti>,
    /// Every kernel of the program, those of the most time first.
    pub kernels: Vec<KernelStats>,
    /// Copies by direction, and memsets, of the program, those of the most time first.
    pub copies: Vec<CopyStats>,
    /// CUDA calls of the program, those of the most time first.
    pub api: Vec<ApiStats>,
    /// Devices that ran below their clocks.
    pub throttled: Vec<Throttle>,
    /// What is worth doing, the worst first.
    pub findings: Vec<Finding>,
    /// Command lines of other tools that look further; empty where CUPTI did not run.
    pub commands: Vec<Command>,
    /// What the reader must know to trust the rest.
    pub diagnostics: Diagnostics,
}

/// Nothing: a profile of a build that does not measure is empty.
#[cfg(not(feature = "json"))]
impl std::fmt::Display for Profile {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

/// A schedule, and how far it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
#[non_exhaustive]
pub struct ScheduleSteps {
    /// The schedule itself.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub schedule: Schedule,
    /// Steps that the program has made.
    pub steps: u64,
    /// Complete active steps that these figures are of. What ran in one under way is in them as well.
    pub measured_steps: u64,
    /// Cycles that these steps are of.
    pub cycles: u64,
}

/// One CUDA device.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Device {
    /// CUDA ordinal.
    pub ordinal: u32,
    /// Marketing name, as the driver gives it.
    pub name: String,
    /// `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, as nvidia-smi prints it.
    pub uuid: String,
    /// For example `9.0`.
    pub compute_capability: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Total memory in bytes.
    pub memory_bytes: u64,
    /// Peak memory bandwidth in bytes per second; `None` where the driver does not tell enough.
    pub peak_bytes_per_s: Option<u64>,
    /// Peak single-precision rate in FLOP/s, a fused multiply-add counted as two.
    pub peak_flops_f32: Option<u64>,
    /// Peak double-precision rate in FLOP/s, a fused multiply-add counted as two.
    pub peak_flops_f64: Option<u64>,
    /// Most resident threads of a multiprocessor; 0 where the driver does not tell, as with the limits below.
    pub threads_per_sm: u32,
    /// Most resident blocks of a multiprocessor.
    pub blocks_per_sm: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_sm: u32,
    /// Shared memory of a multiprocessor, bytes.
    pub shared_bytes_per_sm: u32,
    /// Shared memory that the driver keeps for itself in each block, bytes.
    pub reserved_shared_bytes_per_block: u32,
    /// CUDA version of the driver, for example `13.0`.
    pub driver: String,
    /// Whether this is the simulated device, whose times are modelled and never a measurement.
    pub simulated: bool,
}

/// One annotated function or scope, over all threads and all places it was called from.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Function {
    /// Shown name.
    pub name: String,
    /// Module path, crate included.
    pub module: String,
    /// Source file.
    pub file: String,
    /// Line in `file`.
    pub line: u32,
    /// Calls that ended, on the CPU: those that were captured into a graph among them, replays not.
    pub calls: u64,
    /// Times that the GPU ran the function as part of a graph, launched through `gpuprof::Graph`.
    pub replays: u64,
    /// Threads on which at least one of these calls ended or replays was launched.
    pub threads: u32,
    /// CPU time; for an async function the time its polls took.
    pub cpu: SpanStats,
    /// Time from creation's first poll to completion, of async functions only.
    pub wall: Option<SpanStats>,
    /// GPU time; `None` where no call was timed.
    pub gpu: Option<GpuSpanStats>,
    /// The part of `gpu` that each device ran; empty where `gpu` is `None`.
    pub gpu_by_device: Vec<GpuByDevice>,
    /// GPU time of the spans inside this function on whatever stream: what a function without a stream shows.
    pub gpu_nested_ns: u64,
    /// Whether spans inside ran on some of several streams, so that their time cannot be taken from this function's own: the
    /// GPU self time is then at most what is shown. Of a function without a stream: whether such spans stand among those that
    /// `gpu_nested_ns` sums up, which is then at most what is shown.
    pub gpu_overlaps: bool,
    /// Whether `gpu_nested_ns` lacks the time of calls inside that were to be timed.
    pub gpu_nested_partial: bool,
    /// Whether `gpu_nested_ns` is partly scaled up from a sample.
    pub gpu_nested_estimated: bool,
    /// Calls whose stream was being captured into a graph.
    pub captured_calls: u64,
    /// Of these, the calls whose events stand in the graph, so that `replays` are timed: `#[gpu_profile(graph)]`.
    pub graph_calls: u64,
    /// Calls and replays that were neither timed nor captured, of a function that has a stream; `untimed` says why.
    pub untimed_calls: u64,
    /// The reasons behind `untimed_calls`; they add up to it.
    pub untimed: UntimedReasons,
    /// Stated work of all calls and replays, in bytes.
    pub bytes: Option<f64>,
    /// Stated work of all calls and replays, in floating-point operations.
    pub flops: Option<f64>,
    /// Stated work of all calls and replays, in items.
    pub items: Option<f64>,
    /// Whether any call had a stream to be timed on.
    pub has_stream: bool,
    /// Whether the function was marked `cpu`: it wants no stream, so the lack of one is no remark.
    pub cpu_only: bool,
    /// Whether it is an `async fn`.
    pub is_async: bool,
    /// What CUPTI saw of it.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub activity: GpuActivity,
}

impl Function {
    /// How often the function ran: calls and replays, less the calls that only went into a graph.
    #[must_use]
    pub fn runs(&self) -> u64 {
        runs(self.calls, self.graph_calls, self.replays)
    }
}

fn runs(calls: u64, graph_calls: u64, replays: u64) -> u64 {
    calls.saturating_sub(graph_calls).saturating_add(replays)
}

/// Statistics of durations.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct SpanStats {
    /// Sum over the outermost calls: a call inside a call of the same function is not added again.
    pub total_ns: u64,
    /// Total less the time of the spans inside.
    pub self_ns: u64,
    /// Mean of all calls.
    pub mean_ns: u64,
    /// Shortest call.
    pub min_ns: u64,
    /// Longest call.
    pub max_ns: u64,
    /// Standard deviation of the calls (population).
    pub stddev_ns: u64,
    /// Median, from the histogram: within 1/32 of the true value.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// How the durations spread; buckets without a call are left out.
    pub histogram: Vec<Bucket>,
}

/// One bucket of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Bucket {
    /// Lowest duration counted here.
    pub low_ns: u64,
    /// Highest duration counted here.
    pub high_ns: u64,
    /// Calls in it; of a sample each timed call as often as it stands for.
    pub count: u64,
}

/// GPU statistics: event-to-event time on the function's stream ("GPU span", not kernel time).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct GpuSpanStats {
    /// Calls and replays whose two events were read.
    pub timed_calls: u64,
    /// The durations. Under sampling `total_ns` and `self_ns` are estimates for all calls.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub times: SpanStats,
    /// Set when `total_ns` and `self_ns` were scaled up from a sample.
    pub estimate: Option<Estimate>,
    /// Stated bytes of the timed calls alone, for rates. Where these stand for different numbers of calls, as they can under
    /// `GPUPROF_SAMPLE=auto`, this and the next three are weighted means times `timed_calls`.
    pub timed_bytes: Option<f64>,
    /// Stated floating-point operations of the timed calls alone.
    pub timed_flops: Option<f64>,
    /// Stated items of the timed calls alone.
    pub timed_items: Option<f64>,
    /// Sum of the durations of every timed call, inner ones included: the divisor of rates. Never scaled up.
    pub timed_ns: u64,
}

/// How sure a total that was scaled up from a sample is.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Estimate {
    /// Half the width of the 95 % confidence interval of `total_ns`. It allows for calls that were sampled together, inside
    /// one sampled call.
    pub total_ci95_ns: u64,
}

/// GPU time of one function on one device.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct GpuByDevice {
    /// CUDA ordinal, as in `devices`.
    pub ordinal: u32,
    /// The same figures as the function's own.
    #[cfg_attr(feature = "json", serde(flatten))]
    pub gpu: GpuSpanStats,
}

/// Why calls of functions that have a stream were not timed.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct UntimedReasons {
    /// This call found no stream, though others of the same function did.
    pub no_stream: u64,
    /// Left out by sampling.
    pub sampled_out: u64,
    /// Every event of the pool was in flight: the GPU is far behind the CPU.
    pub pool_exhausted: u64,
    /// The thread's hand-over queue was full.
    pub queue_full: u64,
    /// A CUDA call of gpuprof's failed; `Diagnostics::errors` says which.
    pub cuda_error: u64,
    /// The driver lacks a function that timing needs, or GPU timing was given up.
    pub unavailable: u64,
    /// The GPU had not finished when the profile was taken.
    pub unfinished: u64,
    /// The stream cannot be kept until the end of the call, or changed its thread (per-thread stream).
    pub stream_unsafe: u64,
    /// The call began before a reset and ended after it: its GPU time would belong to both windows.
    pub crossed_reset: u64,
}

impl UntimedReasons {
    /// All reasons together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let Self {
            no_stream,
            sampled_out,
            pool_exhausted,
            queue_full,
            cuda_error,
            unavailable,
            unfinished,
            stream_unsafe,
            crossed_reset,
        } = self;
        no_stream
            + sampled_out
            + pool_exhausted
            + queue_full
            + cuda_error
            + unavailable
            + unfinished
            + stream_unsafe
            + crossed_reset
    }

    /// Adds `other`, reason by reason.
    pub fn add(&mut self, other: &Self) {
        self.no_stream += other.no_stream;
        self.sampled_out += other.sampled_out;
        self.pool_exhausted += other.pool_exhausted;
        self.queue_full += other.queue_full;
        self.cuda_error += other.cuda_error;
        self.unavailable += other.unavailable;
        self.unfinished += other.unfinished;
        self.stream_unsafe += other.stream_unsafe;
        self.crossed_reset += other.crossed_reset;
    }
}

/// A function called from one particular chain of callers, merged over threads.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct TreeNode {
    /// Unique in this profile.
    pub id: u32,
    /// `id` of the enclosing span; `None` at the top.
    pub parent: Option<u32>,
    /// The function's name.
    pub name: String,
    /// Index into `functions`.
    pub function: u32,
    /// Calls that ended.
    pub calls: u64,
    /// Replays whose launch was made here.
    pub replays: u64,
    /// Of `calls`, those whose events stand in a graph.
    pub graph_calls: u64,
    /// CPU time of all calls.
    pub cpu_total_ns: u64,
    /// CPU time less that of the spans inside.
    pub cpu_self_ns: u64,
    /// GPU time of the timed calls, scaled under sampling; `None` where none was timed.
    pub gpu_total_ns: Option<u64>,
    /// GPU time less that of the spans inside on the same stream.
    pub gpu_self_ns: Option<u64>,
    /// GPU time of the spans below that are outermost on their stream there: what a node without a stream shows.
    pub gpu_nested_ns: u64,
}

impl TreeNode {
    /// How often the function ran here: calls and replays, less the calls that only went into a graph.
    #[must_use]
    pub fn runs(&self) -> u64 {
        runs(self.calls, self.graph_calls, self.replays)
    }
}

/// What the reader must know to trust the figures.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct Diagnostics {
    /// What an empty pair of events reads on the slowest device used; `None` where it could not be measured.
    pub event_overhead_ns: Option<u64>,
    /// gpuprof's own estimated CPU cost of one call, on this machine in this run.
    pub overhead_ns_per_call: Option<u64>,
    /// `overhead_ns_per_call` times the calls of this profile, over all threads.
    pub overhead_ns: u64,
    /// What gpuprof spent once, in calls that met a context or a thread for the first time: the first events, the
    /// resolver's start. Not in `overhead_ns`.
    pub setup_ns: u64,
    /// What event records of over 50 µs took: these have not worked but waited, mostly where the stream's queue was full,
    /// as the program's next launch would have. Not in `overhead_ns`.
    pub stalled_ns: u64,
    /// Calls in all.
    pub calls: u64,
    /// Replays in all; the next counts have them too.
    pub replays: u64,
    /// Calls of functions that had a stream in at least one of them.
    pub calls_with_stream: u64,
    /// Of these, timed on the GPU.
    pub timed_calls: u64,
    /// Of these, seen while their stream was being captured.
    pub captured_calls: u64,
    /// Of these, neither; with the reasons.
    pub untimed: UntimedReasons,
    /// Which calls were to be timed on the GPU.
    pub sampling: Sampling,
    /// Calls that appear nowhere above: there were 65,536 call chains already, the counters of all threads had come to 1 GiB,
    /// or the thread was already ending.
    pub dropped: u64,
    /// Durations missing from the histograms because the counters of all threads had come to 1 GiB.
    pub histogram_dropped: u64,
    /// Spans that ended out of order, such as a `scope!` held across an `.await`.
    pub misnested: u64,
    /// Every CUDA error that gpuprof's own calls met.
    pub errors: Vec<CudaError>,
    /// Settings that were wrong, functions the driver lacks, and the like: one line each.
    pub notes: Vec<String>,
}

/// One kind of CUDA error, counted.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize, Deserialize), serde(default))]
pub struct CudaError {
    /// The driver function gpuprof called.
    pub call: String,
    /// `CUresult` as a number.
    pub code: u32,
    /// `CUresult` by name, for example `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// How often.
    pub count: u64,
}
