//! What was measured, as plain data: every output is a function of a [`Profile`].
//!
//! ```text
//! Profile                      one process, one measuring window; or several of them, merged
//! ├─ meta                      MetaPair: commit, arguments and other facts of the run
//! ├─ steps                     StepTimes: the program's steps
//! ├─ devices                   Device: its name, limits and peaks
//! ├─ gpu_busy                  GpuBusy: how busy each device was
//! ├─ functions                 Function: one per annotated function, over all call paths
//! │  ├─ cpu, wall              SpanStats: statistics of durations, with a histogram
//! │  ├─ gpu, gpu_by_device     GpuSpanStats: event-to-event times on the function's stream
//! │  ├─ untimed                UntimedReasons: why calls have no GPU time
//! │  ├─ labels                 LabelStats: the calls with each label (`label = EXPR`)
//! │  ├─ kernels, copies, api,  GpuActivity: what CUPTI recorded during its calls
//! │  │  busy_ns, idle_ns, …
//! │  └─ memory                 FunctionMemory: what it allocated and freed
//! ├─ tree                      TreeNode: one per call path, by parent
//! ├─ kernels, copies, api      KernelStats, CopyStats, ApiStats of the whole program
//! ├─ cupti, throttled          Cupti, Throttle: how complete the records are; GPU clocks
//! ├─ counters                  DeviceCounters: how hardware counters were sampled
//! ├─ stalls                    Stalls: for what the warps of kernels waited, and where
//! ├─ double_lines              DoubleLine: source lines that use double precision
//! ├─ stacks                    LaunchStacks: where unattributed work was launched
//! ├─ memory                    Memory: what the program allocated, its peak, and what is live
//! ├─ findings, commands        Finding, Command: what to improve, and where to look next
//! ├─ ranks                     Ranks: how merged processes differ
//! ├─ benchmarks                Benchmark: medians of a run of benchmarks
//! └─ diagnostics               Diagnostics: coverage, overhead and errors
//! ```
//!
//! Units: each `*_ns` is a whole number of nanoseconds, sizes are bytes, rates are per second.
//!
//! # JSON
//!
//! A profile is written as one JSON document with the same names. Where a field here has another
//! struct flattened into it, such as [`Function::activity`], the document has its fields.
//!
//! Fields may be added under [`SCHEMA`]. A document that lacks a field, because an older version
//! wrote it, reads as if it held the field's default; an unknown field is ignored, and an unknown
//! word for an enum reads as `Unknown`.
//!
#![cfg_attr(feature = "serde", doc = "```")]
#![cfg_attr(not(feature = "serde"), doc = "```ignore")]
//! let document = r#"{
//!     "schema": "gpuprof.profile/1",
//!     "program": "train",
//!     "functions": [{
//!         "name": "train::step",
//!         "calls": 3,
//!         "cpu": {"total_ns": 9300, "mean_ns": 3100, "histogram": [[136, 2], [137, 1]]},
//!         "gpu": {"timed_calls": 3, "total_ns": 3600000, "self_ns": 3600000},
//!         "kernels": [{"name": "saxpy", "device": 0, "calls": 3, "total_ns": 3510000}],
//!         "copies": [{"kind": "HtoD", "device": 0, "calls": 3, "bytes": 12288}],
//!         "busy_ns": 3540000
//!     }],
//!     "diagnostics": {"calls": 3, "timed_calls": 3, "sampling": "every_call"}
//! }"#;
//! use gpuprof_report::profile::CopyKind;
//!
//! let profile = gpuprof_report::json::from_str(document)?;
//! let step = &profile.functions[0];
//! assert_eq!(step.cpu.histogram[0].bounds_ns(), 3072..=3199);
//! assert_eq!(step.gpu.as_ref().unwrap().times.total_ns, 3_600_000);
//! assert_eq!(step.activity.kernels[0].times.total_ns, 3_510_000);
//! assert_eq!(step.activity.copies[0].kind, CopyKind::HtoD);
//! assert_eq!(profile.diagnostics.timed_calls, 3);
//! # Ok::<(), gpuprof_report::json::ReadError>(())
//! ```
//!
//! # Building a profile
//!
//! The structs may gain fields, so other crates build them from their default:
//!
//! ```
//! use gpuprof_report::profile::Function;
//!
//! let mut step = Function::default();
//! step.name = "train::step".into();
//! step.calls = 3;
//! ```

mod benchmark;
mod counters;
mod device;
mod diagnostics;
mod finding;
mod function;
mod gpu_activity;
mod gpu_busy;
mod label_stats;
mod late_steps;
mod launch_lines;
mod memory;
mod meta;
mod rank_process;
mod ranks;
mod span_stats;
mod stalls;
mod step_times;
mod word_enums;

use std::collections::HashMap;

use crate::figures::figures;

pub use benchmark::{Benchmark, Parameter};
pub(crate) use counters::listed_metrics;
pub use counters::{CounterMean, CounterValues, DeviceCounters, ListedMean, MIN_COUNTER_SAMPLES};
pub use device::{Device, PeakRate, Throttle};
pub use diagnostics::{CUPTI_UNAVAILABLE, CudaError, Diagnostics, UntimedReasons};
pub use finding::{Finding, ToolCommand};
pub use function::{CapturedRuns, Function, NodeActivity, TreeNode};
pub use gpu_activity::{
    ApiStats, CopyStats, CuptiCompleteness, DurationStats, GpuActivity, KernelStats,
};
pub use gpu_busy::{BusyRecords, GpuBusy};
pub use label_stats::{LabelGpuStats, LabelStats, OTHER_LABELS, labelled};
pub use late_steps::{LateSteps, MAX_LATE_STEPS, RankStepWindow};
pub use launch_lines::{
    LaunchLine, LaunchStacks, NOT_LOOKED_UP, OTHER_STACKS, REPLACED_FILE, UNKNOWN_FUNCTION,
    add_lines,
};
pub use memory::{FunctionMemory, Memory, MemoryTotals, MemoryUse};
pub use meta::{MAX_META_BYTES, MAX_META_PAIRS, MetaPair, limit_meta, parse_meta, set_meta};
pub use rank_process::RankProcess;
pub use ranks::{CollectiveProcess, CollectiveRanks, FunctionRanks, RankSpread, Ranks};
pub use span_stats::{Bucket, Estimate, GpuSpanStats, SpanStats};
pub use stalls::{
    DoubleLine, KernelStalls, MAX_STALL_LINES, MIN_STALL_SAMPLES, StallInstruction, StallLine,
    StallReasonSamples, Stalls, add_reasons,
};
pub use step_times::{
    MAX_SLOWEST_STEPS, MAX_STEP_SERIES, MAX_STEP_WINDOWS, SlowStep, StepTimes, StepWindow,
};
pub use word_enums::{
    ApiKind, CopyKind, FindingRule, MemoryKind, Metric, MetricUnit, Precision, ThrottleReason,
};

/// The name and version of the document that a [`Profile`] serializes to.
pub const SCHEMA: &str = "gpuprof.profile/1";

figures! {
    /// What gpuprof measured in one process.
    ///
    /// Each `*_ns` is a whole number of nanoseconds. Fields may be added under the same version;
    /// readers ignore those that they do not know.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Profile {
        /// Name and version of the format.
        #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
        pub schema: String;
        /// File name of the program.
        pub program: String;
        /// Process id.
        pub pid: u32;
        /// Name of the machine.
        pub host: String;
        /// Rank of the process in its job, from the variables of launchers: RANK (torchrun),
        /// OMPI_COMM_WORLD_RANK, PMI_RANK, MV2_COMM_WORLD_RANK, JSM_NAMESPACE_RANK, FLUX_TASK_RANK,
        /// PMIX_RANK or SLURM_PROCID.
        pub rank: Option<u32>;
        /// Ranks of the job, from the same launcher. Of a merged profile, if all agree. JSON omits
        /// it if it is not known.
        pub world_size: Option<u32>, unless default;
        /// Facts about the run: `args` and `commit` where they are known, and what `GPUPROF_META`
        /// says. At most 32 pairs of 4 KiB in all.
        pub meta: Vec<MetaPair>;
        /// When measuring began, RFC 3339 in UTC: at the first annotated call, at the start of a
        /// session, or at the last reset; never at the start of the program.
        #[cfg_attr(
            test,
            schemars(regex(
                pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$"
            ))
        )]
        pub started_at: String;
        /// Time from `started_at` to this profile, ns.
        pub wall_ns: u64;
        /// Whether the profile was taken when the process ended: calls in progress will not end.
        pub at_exit: bool;
        /// How long the program's steps took; `None` if `gpuprof::step()` was not called. JSON
        /// omits it then.
        pub steps: Option<StepTimes>, unless default;
        /// The devices on which anything was timed, by ordinal.
        pub devices: Vec<Device>;
        /// How busy each of these devices was, by ordinal; a device without a GPU span or a record
        /// is omitted.
        pub gpu_busy: Vec<GpuBusy>;
        /// The annotated functions by name, including those that were never called.
        pub functions: Vec<Function>;
        /// The call tree, merged over all threads; parents come before their children.
        pub tree: Vec<TreeNode>;
        /// How complete CUPTI's records are; `None` if CUPTI was not asked for or is unavailable,
        /// in which case `diagnostics.notes` says why.
        pub cupti: Option<CuptiCompleteness>;
        /// The kernels of the program, longest total time first.
        pub kernels: Vec<KernelStats>;
        /// The copies by direction, and the memsets, of the program, longest total time first.
        pub copies: Vec<CopyStats>;
        /// The CUDA API functions that the program called, longest total time first.
        pub api: Vec<ApiStats>;
        /// How the hardware counters of the devices were sampled, by ordinal. JSON omits it if they
        /// were not.
        pub counters: Vec<DeviceCounters>, unless default;
        /// For what the warps of kernels waited, and where; `None` without `GPUPROF_STALLS=on`.
        /// JSON omits it then.
        pub stalls: Option<Stalls>, unless default;
        /// Lines with instructions of double precision, of kernels in which their unit has worked.
        /// JSON omits it if there are none.
        pub double_lines: Vec<DoubleLine>, unless default;
        /// From which lines the program launched GPU work; `None` without `GPUPROF_STACKS=on`. JSON
        /// omits it then.
        pub stacks: Option<LaunchStacks>, unless default;
        /// The devices that ran below their maximum clock.
        pub throttled: Vec<Throttle>;
        /// The memory that the program allocated; `None` without `GPUPROF_MEMORY=on`. JSON omits it
        /// then.
        pub memory: Option<Memory>, unless default;
        /// What to improve, largest gain first.
        pub findings: Vec<Finding>;
        /// Command lines of other tools for a closer look; empty without CUPTI.
        pub commands: Vec<ToolCommand>;
        /// How the processes differ whose profiles were merged into this one; `None` for the
        /// profile of one process. JSON omits it then.
        pub ranks: Option<Ranks>, unless default;
        /// Of a run of benchmarks, one in each mode; not in merged profiles. JSON omits it if there
        /// are none.
        pub benchmarks: Vec<Benchmark>, unless default;
        /// Coverage, overhead and errors of the measurement.
        pub diagnostics: Diagnostics;
    }
}

/// The module of functions that are NVTX ranges of a program which does not use gpuprof.
pub const NVTX_MODULE: &str = "nvtx";

impl Profile {
    /// Whether CUPTI has recorded anything.
    #[must_use]
    pub fn has_records(&self) -> bool {
        !(self.kernels.is_empty() && self.copies.is_empty() && self.api.is_empty())
    }

    /// Of each node of the call tree the position of its parent. Parents come before their
    /// children; any other parent would be a loop.
    pub(crate) fn parents(&self) -> Vec<Option<usize>> {
        let mut positions = HashMap::with_capacity(self.tree.len());
        let parents = self.tree.iter().enumerate().map(|(at, node)| {
            let parent = node.parent.and_then(|id| positions.get(&id).copied());
            positions.insert(node.id, at);
            parent
        });
        parents.collect()
    }
}

#[cfg(feature = "table")]
impl Profile {
    /// Whether the program has functions that are annotated for gpuprof.
    pub(crate) fn has_annotated_functions(&self) -> bool {
        self.functions
            .iter()
            .any(|function| function.module != NVTX_MODULE)
    }

    /// Whether `GPUPROF_CUPTI=on` would add anything. If it is on and CUPTI did not start, a note
    /// says what to do.
    pub(crate) fn is_cupti_off(&self) -> bool {
        self.cupti.is_none() && self.diagnostics.cupti_unavailable().is_none()
    }
}

/// Prints nothing: the table needs the feature `table`.
#[cfg(not(feature = "table"))]
impl std::fmt::Display for Profile {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
