//! What the hardware counters of the devices measured, with `GPUPROF_COUNTERS=on`.

use super::word_enums::{Metric, MetricUnit};
use crate::figures::figures;

/// Samples below which no value of a function or kernel is reported.
pub const MIN_COUNTER_SAMPLES: u64 = 10;

figures! {
    /// How the counters of one device were sampled.
    ///
    /// Counters are of the whole device: they also count what other processes do.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct DeviceCounters {
        /// CUDA ordinal.
        pub device: u32 = special;
        /// Name of the chip, for example `GH100`.
        pub chip: String = first;
        /// Mean time that a sample covers, ns.
        pub interval_ns: u64 = max;
        /// Time that the start of sampling took in this window, ns: just before the first profiled
        /// call that used the device, and within its callers.
        pub start_ns: u64 = max;
        /// The metrics that were sampled.
        pub metrics: Vec<Metric> = union;
        /// The metrics that the chip does not have, or has no room for beside the others.
        pub omitted: Vec<Metric> = union;
        /// Of `omitted`, those that the chip does not have. JSON omits it without any.
        pub lacking: Vec<Metric> = union, unless default;
        /// Of `omitted`, those that have no room in one pass. JSON omits it without any.
        pub without_room: Vec<Metric> = union, unless default;
        /// CUPTI's names of the listed metrics that were sampled. JSON omits it without any.
        pub listed: Vec<String> = union, unless default;
        /// Samples of the window.
        pub samples: u64 = sum;
        /// Time that the samples cover, ns.
        pub sampled_ns: u64 = sum;
        /// Time in which the metrics of [`Metric::is_in_turn`] were sampled in the place of the
        /// others, ns; not in `sampled_ns`.
        pub in_turn_ns: u64 = sum, unless default;
        /// Time without samples between the ones and the others, ns.
        pub changing_ns: u64 = sum, unless default;
        /// Of `sampled_ns`, the samples during which nothing ran that CUPTI recorded in this
        /// process.
        pub unattributed_ns: u64 = sum;
        /// Bytes read from and written to device memory in all samples; `None` if neither was
        /// sampled.
        pub dram_bytes: Option<u64> = sum;
        /// Of `dram_bytes`, those of the samples in `unattributed_ns`.
        pub unattributed_dram_bytes: u64 = sum;
        /// Time without samples between the first and the last one, ns: samples came faster than
        /// they were decoded, or the interval was changed. Without `changing_ns`.
        pub gap_ns: u64 = sum;
        /// How often the device's buffer was full, or samples came faster than they were decoded.
        /// Each time the interval was doubled.
        pub overflows: u64 = sum;
        /// Time of kernels and copies whose records arrived after their samples were used, ns.
        pub late_ns: u64 = sum;
    }
}

figures! {
    /// What was measured while the kernels of one function, or one kernel, ran on the device.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct CounterValues {
        /// Samples that the values are from.
        pub samples: u64 = sum;
        /// Kernel time in these samples, ns.
        pub sampled_ns: u64 = sum;
        /// Samples of the metrics of [`Metric::is_in_turn`], in which nothing else ran.
        pub in_turn_samples: u64 = sum, unless default;
        /// Kernel time in these, ns.
        pub in_turn_ns: u64 = sum, unless default;
        /// Whether other functions (of a kernel: other kernels), or copies, ran in the same
        /// samples. What such a sample measured is divided in proportion to the time of each.
        pub is_divided: bool = any;
        /// A mean for each metric that was sampled, [`MIN_COUNTER_SAMPLES`] times at least.
        pub means: Vec<CounterMean> = special;
        /// The same for the metrics that the user listed. JSON omits it without any.
        pub listed: Vec<ListedMean> = special, unless default;
    }
}

figures! {
    /// The mean of a metric over the kernel time in the samples.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct CounterMean {
        /// Of this metric.
        pub metric: Metric;
        /// In the unit of the metric: bytes per second, a share from 0 to 1, or a number.
        pub mean: f64;
        /// Half the width of the 95 % confidence interval of the mean, from the spread of the
        /// samples.
        pub ci95: f64;
    }
}

impl CounterMean {
    /// A mean with half the width of its interval, in the unit of the metric.
    #[must_use]
    pub fn new(metric: Metric, mean: f64, ci95: f64) -> Self {
        Self { metric, mean, ci95 }
    }
}

figures! {
    /// The mean of a metric that the user listed, over the kernel time in the samples.
    ///
    /// That of a ratio is over the samples in which it has a value, weighted by their kernel time:
    /// it is not the ratio of the totals.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct ListedMean {
        /// CUPTI's name of the metric, for example `lts__t_sectors.sum`.
        pub name: String;
        /// What the mean is in.
        pub unit: MetricUnit;
        /// In this unit.
        pub mean: f64;
        /// Half the width of the 95 % confidence interval of the mean, from the spread of the
        /// samples.
        pub ci95: f64;
    }
}

/// Listed metrics that have columns, at most. A device samples up to
/// [`MAX_LISTED`](crate::setting_values::MAX_LISTED); merged profiles may have other lists.
const MAX_LISTED_COLUMNS: usize = 32;

/// The listed metrics that any of these rows has a mean of, in the order of their columns.
pub(crate) fn listed_metrics<'a>(
    rows: impl Iterator<Item = &'a CounterValues>,
) -> Vec<(&'a str, MetricUnit)> {
    let mut metrics = Vec::new();
    for mean in rows.flat_map(|row| &row.listed) {
        let metric = (mean.name.as_str(), mean.unit);
        if metrics.len() < MAX_LISTED_COLUMNS && !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}

impl CounterValues {
    /// The mean of a listed metric.
    pub(crate) fn listed_mean(&self, (name, unit): (&str, MetricUnit)) -> Option<f64> {
        let mut means = self.listed.iter();
        means
            .find(|mean| mean.unit == unit && mean.name == name)
            .map(|mean| mean.mean)
    }

    /// The mean of a metric; `None` if it was not sampled, or in too few samples.
    #[must_use]
    pub fn mean(&self, metric: Metric) -> Option<f64> {
        let mut means = self.means.iter();
        means
            .find(|mean| mean.metric == metric)
            .map(|mean| mean.mean)
    }

    /// Bytes per second to and from device memory.
    #[must_use]
    pub fn dram_bytes_per_s(&self) -> Option<f64> {
        Some(self.mean(Metric::DramRead)? + self.mean(Metric::DramWrite)?)
    }
}
