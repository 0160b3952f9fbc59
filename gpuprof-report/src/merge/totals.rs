//! Totals of durations: what a histogram, a count and a sum of several profiles come to.

use crate::figures::Sum;
use crate::histogram::{BUCKETS_PER_OCTAVE, OCTAVES};
use crate::profile::{Bucket, DurationStats, Estimate, SpanStats};
use crate::sparse_histogram::{SparseHistogram, total};

/// Adds the counts of a profile's histogram, whose buckets may be of a hostile file.
fn add_buckets(counts: &mut SparseHistogram, buckets: &[Bucket]) {
    let last = (OCTAVES * BUCKETS_PER_OCTAVE - 1) as u32;
    for bucket in buckets {
        counts.add(Bucket {
            index: bucket.index.min(last),
            count: bucket.count,
        });
    }
}

/// Number, sum, spread and distribution of durations.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanTotals {
    /// What is only added.
    sums: SpanStats,
    calls: u64,
    sum_ns: u128,
    /// Sum of squared deviations from the mean, ns².
    squares: f64,
    range: Option<(u64, u64)>,
    counts: SparseHistogram,
}

impl SpanTotals {
    /// Adds the durations of `calls` calls. `sum_ns` is their exact sum, unless it contradicts the
    /// mean, as the sum over outermost calls of a recursive function does.
    pub(super) fn add(&mut self, times: &SpanStats, calls: u64, sum_ns: u64) {
        self.sums.add(times);
        let counted = total(&times.histogram);
        let calls = if counted > calls { counted } else { calls };
        if calls == 0 {
            return;
        }
        let sum_ns = if rounded_mean(u128::from(sum_ns), calls) == times.mean_ns {
            u128::from(sum_ns)
        } else {
            u128::from(times.mean_ns) * u128::from(calls)
        };
        self.add_squares(calls, sum_ns, times.stddev_ns as f64);
        self.calls = self.calls.saturating_add(calls);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.range = Some(wider(self.range, (times.min_ns, times.max_ns)));
        add_buckets(&mut self.counts, &times.histogram);
    }

    /// The pairwise update of Chan, Golub and LeVeque (1979).
    fn add_squares(&mut self, calls: u64, sum_ns: u128, stddev: f64) {
        let (before, more) = (self.calls as f64, calls as f64);
        let mut between = 0.0;
        if self.calls > 0 {
            let difference = sum_ns as f64 / more - self.sum_ns as f64 / before;
            between = difference * difference * before * more / (before + more);
        }
        self.squares += stddev * stddev * more + between;
    }

    pub(super) fn stats(&self) -> SpanStats {
        let mut stats = self.sums.clone();
        let Some((min_ns, max_ns)) = self.range else {
            return stats;
        };
        let stddev = (self.squares / self.calls as f64).sqrt().round() as u64;
        stats.mean_ns = rounded_mean(self.sum_ns, self.calls);
        (stats.min_ns, stats.max_ns) = (min_ns, max_ns);
        stats.stddev_ns = stddev.min(max_ns.saturating_sub(min_ns).div_ceil(2));
        stats.p50_ns = self.counts.quantile(0.50, min_ns, max_ns);
        stats.p90_ns = self.counts.quantile(0.90, min_ns, max_ns);
        stats.p95_ns = self.counts.quantile(0.95, min_ns, max_ns);
        stats.p99_ns = self.counts.quantile(0.99, min_ns, max_ns);
        stats.histogram = self.counts.buckets().to_vec();
        stats
    }
}

/// Number, sum and distribution of the durations of activities.
#[derive(Clone, Debug, Default)]
pub(super) struct ActivityTotals {
    /// What is only added.
    sums: DurationStats,
    range: Option<(u64, u64)>,
    counts: SparseHistogram,
}

impl ActivityTotals {
    pub(super) fn add(&mut self, times: &DurationStats) {
        if times.calls == 0 {
            return;
        }
        self.sums.add(times);
        self.range = Some(wider(self.range, (times.min_ns, times.max_ns)));
        add_buckets(&mut self.counts, &times.histogram);
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.sums.total_ns
    }

    pub(super) fn calls(&self) -> u64 {
        self.sums.calls
    }

    pub(super) fn stats(&self) -> DurationStats {
        let Some((min_ns, max_ns)) = self.range else {
            return DurationStats::default();
        };
        DurationStats {
            mean_ns: rounded_mean(u128::from(self.total_ns()), self.calls()),
            min_ns,
            max_ns,
            p50_ns: self.counts.quantile(0.50, min_ns, max_ns),
            p99_ns: self.counts.quantile(0.99, min_ns, max_ns),
            histogram: self.counts.buckets().to_vec(),
            ..self.sums.clone()
        }
    }
}

/// As a profile rounds it.
pub(super) fn rounded_mean(sum_ns: u128, calls: u64) -> u64 {
    match calls {
        0 => 0,
        calls => (sum_ns as f64 / calls as f64).round() as u64,
    }
}

fn wider(range: Option<(u64, u64)>, (min, max): (u64, u64)) -> (u64, u64) {
    range.map_or((min, max), |known| (known.0.min(min), known.1.max(max)))
}

/// The uncertainty of a sum of independent figures, some of which are exact.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uncertainty {
    pub(super) is_estimated: bool,
    half_width: f64,
    is_unknown: bool,
}

impl Uncertainty {
    /// Adds an estimate with half the width of its interval, ns, if that is known.
    pub(super) fn add(&mut self, half_width: Option<u64>) {
        self.is_estimated = true;
        match half_width {
            Some(more) => self.half_width = self.half_width.hypot(more as f64),
            None => self.is_unknown = true,
        }
    }

    pub(super) fn add_estimate(&mut self, estimate: Option<&Estimate>) {
        if let Some(estimate) = estimate {
            self.add(estimate.total_ci95_ns);
        }
    }

    pub(super) fn half_width(&self) -> Option<u64> {
        let is_known = self.is_estimated && !self.is_unknown;
        is_known.then(|| self.half_width.round() as u64)
    }

    pub(super) fn estimate(&self) -> Option<Estimate> {
        self.is_estimated.then(|| Estimate {
            total_ci95_ns: self.half_width(),
        })
    }
}
