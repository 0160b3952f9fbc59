//! The calls of a function by their label.

use super::span_stats::Estimate;
use crate::figures::figures;

/// The label that stands for all labels of a function beyond the first 256.
pub const OTHER_LABELS: &str = "other labels";

/// A function's name with a label of its calls, as outputs show it: `Block::forward[3]`.
#[must_use]
pub fn labelled(name: &str, label: &str) -> String {
    format!("{name}[{label}]")
}

figures! {
    /// The calls of a function with one label, over all threads and call paths.
    ///
    /// The function itself has the sums of all labels, and alone has percentiles.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct LabelStats {
        /// The label; [`OTHER_LABELS`] for all labels beyond the first 256.
        pub label: String = first;
        /// Calls that ended on the CPU.
        pub calls: u64 = sum;
        /// Calls in progress when the profile was taken. JSON omits this and the next field if
        /// there are none.
        pub open_calls: u64 = sum, unless default;
        /// Time since these calls began, ns.
        pub open_ns: u64 = sum, unless default;
        /// CPU time of those calls that are in no other call with this label, ns.
        pub cpu_total_ns: u64 = sum;
        /// CPU time of all calls without nested spans, ns.
        pub cpu_self_ns: u64 = sum;
        /// Mean CPU time of a call, ns.
        pub cpu_mean_ns: u64 = special;
        /// Longest call on the CPU, ns.
        pub cpu_max_ns: u64 = max;
        /// GPU spans of these calls; `None` if none was timed, and none can be estimated.
        pub gpu: Option<LabelGpuStats> = special;
        /// GPU time of nested spans on any stream, ns.
        pub gpu_nested_ns: u64 = sum;
        /// GPU busy time by CUPTI's records, as in [`GpuActivity::busy_ns`](super::GpuActivity);
        /// `None` without CUPTI.
        pub gpu_busy_ns: Option<u64> = sum;
    }
}

figures! {
    /// GPU spans of the calls with one label.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct LabelGpuStats {
        /// Calls whose event pair was read.
        pub timed_calls: u64 = sum;
        /// Time of those calls that are in no other call with this label, scaled up under sampling,
        /// ns.
        pub total_ns: u64 = sum;
        /// Time of all calls without nested spans on the same stream, scaled up under sampling, ns.
        pub self_ns: u64 = sum;
        /// Uncertainty of `total_ns` and `self_ns` if they were scaled up from a sample. JSON omits
        /// it if not.
        pub estimate: Option<Estimate> = special, unless default;
        /// Mean of all calls that could be timed, ns.
        pub mean_ns: u64 = special;
        /// Longest timed call, ns; at least `mean_ns`.
        pub max_ns: u64 = max;
        /// Stated bytes of the timed calls, for rates.
        pub timed_bytes: Option<f64> = sum;
        /// Stated floating-point operations of the timed calls.
        pub timed_flops: Option<f64> = sum;
        /// Stated items of the timed calls.
        pub timed_items: Option<f64> = sum;
        /// Sum of the durations of all timed calls, ns: the divisor of rates.
        pub timed_ns: u64 = sum;
    }
}
