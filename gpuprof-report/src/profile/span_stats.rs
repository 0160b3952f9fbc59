//! Statistics of the durations of spans, on the CPU and on the GPU.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::figures::figures;

figures! {
    /// Statistics of the durations of spans.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct SpanStats {
        /// Sum over the outermost calls, ns: a call inside a call of the same function is not added
        /// again.
        pub total_ns: u64 = sum;
        /// Total without the time of nested spans, ns.
        pub self_ns: u64 = sum;
        /// Sum over all calls, ns: calls inside a call of the same function are added too. On the
        /// GPU it is the sum over the calls that `histogram` counts. JSON omits this if it is 0.
        pub sum_ns: u64 = sum, unless default;
        /// Mean of all calls, ns.
        pub mean_ns: u64 = special;
        /// Shortest call, ns.
        pub min_ns: u64 = special;
        /// Longest call, ns.
        pub max_ns: u64 = special;
        /// Standard deviation of the calls, ns (of the population).
        pub stddev_ns: u64 = special;
        /// Median, ns, from the histogram: within 1/32 of the true value.
        pub p50_ns: u64 = special;
        /// 90th percentile, ns, from the histogram.
        pub p90_ns: u64 = special;
        /// 95th percentile, ns, from the histogram.
        pub p95_ns: u64 = special;
        /// 99th percentile, ns, from the histogram.
        pub p99_ns: u64 = special;
        /// Calls by duration, in buckets that widen with it. Each item is a pair `[index, count]`.
        /// With `o = index / 16` and `s = index % 16`, a bucket counts the durations of `index` ns
        /// if `o` is 0, and of `(16 + s)·2^(o − 1)` to `(17 + s)·2^(o − 1) − 1` ns otherwise;
        /// bucket 639 also counts all longer ones. Empty buckets are omitted.
        pub histogram: Vec<Bucket> = special;
    }
}

impl SpanStats {
    /// Total, self, mean, min, median, p90, p95, p99, max and standard deviation, ns.
    pub(crate) fn times(&self) -> [u64; 10] {
        [
            self.total_ns,
            self.self_ns,
            self.mean_ns,
            self.min_ns,
            self.p50_ns,
            self.p90_ns,
            self.p95_ns,
            self.p99_ns,
            self.max_ns,
            self.stddev_ns,
        ]
    }
}

/// One bucket of a histogram, in JSON the pair `[index, count]`.
///
/// [`Bucket::bounds_ns`] gives the durations that it counts; the module
/// [`histogram`](crate::histogram) has the formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(from = "(u32, u64)", into = "(u32, u64)")
)]
pub struct Bucket {
    /// Number of the bucket, 0 to 639.
    pub index: u32,
    /// Calls in it, never 0. Under sampling a timed call counts once for each call that it stands
    /// for.
    pub count: u64,
}

impl From<(u32, u64)> for Bucket {
    fn from((index, count): (u32, u64)) -> Self {
        Self { index, count }
    }
}

impl From<Bucket> for (u32, u64) {
    fn from(bucket: Bucket) -> Self {
        (bucket.index, bucket.count)
    }
}

figures! {
    /// Statistics of GPU spans: event-to-event times on the function's stream, which are not kernel
    /// times.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct GpuSpanStats {
        /// CUDA ordinal of the device, as in `devices`; `None` if the calls ran on several.
        pub device: Option<u32> = special;
        /// Calls whose event pair was read.
        pub timed_calls: u64 = sum;
        /// The durations. Under sampling, all but `min_ns` and `max_ns`, which are of timed calls,
        /// are estimates for all calls.
        pub times: SpanStats = special, json(flatten);
        /// Uncertainty of `total_ns` and `self_ns` if they were scaled up from a sample.
        pub estimate: Option<Estimate> = special;
        /// Stated bytes of the timed calls, for rates. If these stand for different numbers of
        /// calls, as under automatic sampling, this and the next three are weighted means times
        /// `timed_calls`.
        pub timed_bytes: Option<f64> = sum;
        /// Stated floating-point operations of the timed calls.
        pub timed_flops: Option<f64> = sum;
        /// Stated items of the timed calls.
        pub timed_items: Option<f64> = sum;
        /// Sum of the durations of all timed calls, nested ones included, ns: the divisor of rates.
        /// Never scaled up.
        pub timed_ns: u64 = sum;
    }
}

figures! {
    /// Uncertainty of a total that was scaled up from a sample.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Estimate {
        /// Half the width of the 95 % confidence interval of `total_ns`, ns. It accounts for calls
        /// that were sampled together, inside one sampled call. `None`: the sample is too small to
        /// tell.
        pub total_ci95_ns: Option<u64>;
    }
}
