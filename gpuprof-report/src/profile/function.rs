//! Annotated functions, and the call tree.

use super::diagnostics::UntimedReasons;
use super::gpu_activity::GpuActivity;
use super::label_stats::LabelStats;
use super::memory::FunctionMemory;
use super::span_stats::{Estimate, GpuSpanStats, SpanStats};
use super::word_enums::Precision;
use crate::figures::figures;

figures! {
    /// One annotated function or scope, over all threads and call paths.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Function {
        /// Shown name.
        pub name: String = first;
        /// Module path, including the crate.
        pub module: String = first;
        /// Source file.
        pub file: String = first;
        /// Line in `file`.
        pub line: u32 = first;
        /// Calls that ended on the CPU. Includes calls captured into a graph, but no replays of it.
        pub calls: u64 = sum, column(Calls, "calls that ended; 0 if the function never ran");
        /// Calls in progress when the profile was taken, futures that are between two polls
        /// included. `calls` counts them once they have ended. Of spans that end out of order some
        /// are missing. JSON omits this and the next field if no call is in progress.
        pub open_calls: u64 = sum,
            column(Calls, "calls in progress when the profile was taken"), unless default;
        /// Time since these calls began, of async functions since their first poll, ns. Like
        /// `cpu.total_ns` it is the sum over the outermost calls.
        pub open_ns: u64 = sum, unless default;
        /// Threads on which at least one of these calls ended.
        pub threads: u32 = sum, column(Calls, "threads on which a call ended");
        /// CPU time; of an async function, the time of its polls.
        pub cpu: SpanStats = special;
        /// Time from the first poll to completion; `None` if the function is not async.
        pub wall: Option<SpanStats> = special;
        /// GPU spans on the function's stream; `None` if no call was timed.
        pub gpu: Option<GpuSpanStats> = special;
        /// The part of `gpu` on each device, if there are several; else empty.
        pub gpu_by_device: Vec<GpuSpanStats> = special;
        /// GPU time of nested spans on any stream, ns: what the table shows for a function without
        /// a stream.
        pub gpu_nested_ns: u64 = sum, column(Spans, "GPU time of nested spans on any stream");
        /// Timed calls that shared their stream's time with spans of other threads or tasks.
        /// `gpu.self_ns` has an equal part of the shared time. JSON omits this if there are none.
        pub gpu_divided_calls: u64 = sum, unless default;
        /// Timed calls that inherited their stream. JSON omits this if there are none.
        pub gpu_inherited_calls: u64 = sum, unless default;
        /// Of these, calls in which the GPU may have done nothing: the time between their two
        /// events is near the event overhead, or within 10 µs of the host time between recording
        /// them, and the same holds for all spans nested in them on the stream. JSON omits this if
        /// there are none.
        pub gpu_host_calls: u64 = sum, unless default;
        /// Calls that began on another thread than the main one while no span was open on it: they
        /// are at the root of the call tree. JSON omits this if there are none.
        pub unnested_calls: u64 = sum, unless default;
        /// True if the time that calls shared could not be divided, because a call that took part
        /// was not timed or an event could not be read. `gpu.self_ns` is then an upper bound; for a
        /// function without a stream, `gpu_nested_ns` is.
        pub gpu_overlaps: bool = any;
        /// Whether nested spans that were to be timed are missing from `gpu_nested_ns`.
        pub gpu_nested_partial: bool = any;
        /// Whether part of `gpu_nested_ns` is an equal part of time that nested spans shared with
        /// those of other threads or tasks. JSON omits this if not.
        pub gpu_nested_divided: bool = any, unless default;
        /// Whether part of `gpu_nested_ns` was scaled up from a sample.
        pub gpu_nested_estimated: bool = any;
        /// Calls made while their stream was being captured into a graph.
        pub captured_calls: u64 = sum,
            column(Untimed, "calls made while their stream was captured into a graph");
        /// Whether `captured_calls` is an estimate: automatic sampling asks only some calls of
        /// short functions. JSON omits this if not.
        pub captured_estimated: bool = any, unless default;
        /// Calls of a function with a stream that were neither timed nor captured.
        pub untimed_calls: u64 = sum,
            column(Untimed, "calls with a stream that were neither GPU-timed nor captured");
        /// The reasons for `untimed_calls`, which is their sum.
        pub untimed: UntimedReasons = sum;
        /// Stated bytes of all calls.
        pub bytes: Option<f64> = sum, column(Work, "stated bytes of all calls; NULL if not stated");
        /// Stated floating-point operations of all calls.
        pub flops: Option<f64> = sum,
            column(Work, "stated floating-point operations of all calls; NULL if not stated");
        /// Stated items of all calls.
        pub items: Option<f64> = sum, column(Work, "stated items of all calls; NULL if not stated");
        /// The precision of `flops`, as stated; `None` is single precision. JSON omits this if not
        /// stated.
        pub precision: Option<Precision> = first, unless default;
        /// Whether any call had a stream to be timed on.
        pub has_stream: bool = any;
        /// Whether the function is marked `cpu`, so that it is expected to have no stream.
        pub cpu_only: bool = all;
        /// Whether it is an `async fn`.
        pub is_async: bool = any;
        /// The calls of each label, integers first; empty if the function has no `label`. JSON
        /// omits it then.
        pub labels: Vec<LabelStats> = special, unless default;
        /// The memory that it allocated and freed, by kind; empty without CUPTI's memory records.
        /// JSON omits it then.
        pub memory: Vec<FunctionMemory> = special, unless default;
        /// What CUPTI recorded during its calls. JSON omits these fields if nothing was recorded:
        /// without CUPTI, or if the function was never called.
        #[cfg_attr(test, schemars(with = "Option<GpuActivity>"))]
        pub activity: GpuActivity = sum, json(flatten), unless default;
    }
}

impl Function {
    /// The GPU spans of each device that timed a call: `gpu_by_device`, or `gpu` if there is one
    /// device, or nothing.
    #[must_use]
    pub fn gpu_on_each_device(&self) -> &[GpuSpanStats] {
        if self.gpu_by_device.is_empty() {
            self.gpu.as_slice()
        } else {
            &self.gpu_by_device
        }
    }

    /// Whether a call has begun.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.calls > 0 || self.open_calls > 0
    }
}

figures! {
    /// A function on one call path, merged over threads.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct TreeNode {
        /// Unique in this profile.
        pub id: u32 = special;
        /// `id` of the enclosing span; `None` for an outermost one.
        pub parent: Option<u32> = special;
        /// Name of the function.
        pub name: String = first;
        /// Label of these calls; `None` if they have none. JSON omits it then.
        pub label: Option<String> = first, unless default;
        /// Index into `functions`; `None` for the node `captured` between a function that launched
        /// graphs and the functions that they captured.
        pub function: Option<u32> = special;
        /// Calls that ended.
        pub calls: u64 = sum;
        /// Calls in progress. JSON omits this and the next field if there are none.
        pub open_calls: u64 = sum, unless default;
        /// Time since these calls began, ns.
        pub open_ns: u64 = sum, unless default;
        /// CPU time of all calls, ns.
        pub cpu_total_ns: u64 = sum;
        /// CPU time without nested spans, ns.
        pub cpu_self_ns: u64 = sum;
        /// GPU time of the calls, ns, under sampling an estimate; `None` if no call was timed, and
        /// none can be estimated.
        pub gpu_total_ns: Option<u64> = sum;
        /// GPU time without nested spans on the same stream, ns; `None` where `gpu_total_ns` is.
        pub gpu_self_ns: Option<u64> = sum;
        /// Uncertainty of both if sampling left calls out. JSON omits it if not.
        pub gpu_estimate: Option<Estimate> = special, unless default;
        /// GPU time of the outermost nested spans of each stream, ns: what the tree shows for a
        /// node without a stream.
        pub gpu_nested_ns: u64 = sum;
        /// GPU busy time of these calls, or of these replays, and their nested spans by CUPTI's
        /// records, as in [`GpuActivity::busy_ns`]; `None` without CUPTI. JSON omits this and the
        /// next two fields without CUPTI.
        pub busy_ns: Option<u64> = sum, unless default;
        /// Idle time within the GPU spans of these calls, as in [`GpuActivity::idle_ns`]; `None` of
        /// replays.
        pub idle_ns: Option<u64> = sum, unless default;
        /// The kernels, copies and memsets that these calls launched themselves, or these replays
        /// ran of what their function captured itself; longest total time first.
        pub activities: Vec<NodeActivity> = special, unless default;
        /// What CUPTI recorded of a function that a graph captured, where the graph was replayed;
        /// `None` for calls.
        pub captured: Option<CapturedRuns> = sum;
    }
}

figures! {
    /// A kernel, or the copies of one direction, that the calls of a [`TreeNode`] launched.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct NodeActivity {
        /// Index into [`Profile::kernels`](super::Profile::kernels); `None` for copies and memsets.
        pub kernel: Option<u32> = special;
        /// Index into [`Profile::copies`](super::Profile::copies); `None` for a kernel.
        pub copies: Option<u32> = special;
        /// How often it ran.
        pub calls: u64 = sum;
        /// Its GPU time, ns.
        pub total_ns: u64 = sum;
    }
}

figures! {
    /// Replays of work that was captured into a graph.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CapturedRuns {
        /// How often a call was replayed; of the node `captured`, the graph launches.
        pub replays: u64 = sum;
        /// GPU busy time of these replays, nested ones included, ns.
        pub busy_ns: u64 = sum;
    }
}

impl TreeNode {
    /// Whether a call has begun here.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.calls > 0 || self.open_calls > 0
    }

    /// How often the function ran here: calls, and the replays of captured calls that CUPTI
    /// recorded.
    #[must_use]
    pub fn runs(&self) -> u64 {
        let captured = self.captured.as_ref();
        let replays = captured.map_or(0, |captured| captured.replays);
        self.calls.saturating_add(replays)
    }
}
