//! Sums over samples of hardware counters: for means, and for their confidence intervals.

use gpuprof_report::profile::{CounterMean, CounterValues, MIN_COUNTER_SAMPLES};

use crate::cupti::collect::pm_sampling::metrics::{Integrals, METRICS, SOURCES};

/// Standard deviations in half of a 95 % confidence interval.
const Z95: f64 = 1.96;
const NS_PER_S: f64 = 1e9;

/// What was sampled while a kernel, or the kernels of a call path, ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowSamples {
    /// Of samples in which nothing else ran.
    own: SampleSums,
    /// Of the others, in proportion to the time.
    divided: SampleSums,
}

impl RowSamples {
    /// Adds a sample, or the part of it that belongs to this row, with the kernel time in it.
    pub(crate) fn add(&mut self, ns: f64, integrals: &Integrals, is_divided: bool) {
        if is_divided {
            self.divided.add(ns, integrals)
        } else {
            self.own.add(ns, integrals)
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.own.merge(&other.own);
        self.divided.merge(&other.divided);
    }

    /// The means; `None` without samples. Divided samples are left out where there are enough
    /// others.
    pub(super) fn values(&self) -> Option<Box<CounterValues>> {
        let mut sums = self.own.clone();
        let mut values = CounterValues::default();
        if sums.samples < MIN_COUNTER_SAMPLES {
            sums.merge(&self.divided);
            values.is_divided = self.divided.samples > 0;
        }
        if sums.samples == 0 {
            return None;
        }
        values.samples = sums.samples;
        values.sampled_ns = sums.ns.round() as u64;
        if sums.samples >= MIN_COUNTER_SAMPLES {
            values.means = sums.means();
        }
        Some(Box::new(values))
    }
}

#[derive(Clone, Debug, Default)]
struct SampleSums {
    samples: u64,
    ns: f64,
    ns_squared: f64,
    /// Of each of [`SOURCES`].
    metrics: [IntegralMoments; METRICS],
}

/// Sums of an integral, of its square, and of its product with the time; NaN if it was not sampled.
#[derive(Clone, Copy, Debug, Default)]
struct IntegralMoments {
    sum: f64,
    squared: f64,
    by_ns: f64,
}

impl SampleSums {
    fn add(&mut self, ns: f64, integrals: &Integrals) {
        self.samples += 1;
        self.ns += ns;
        self.ns_squared += ns * ns;
        for (sums, integral) in self.metrics.iter_mut().zip(integrals) {
            sums.sum += integral;
            sums.squared += integral * integral;
            sums.by_ns += integral * ns;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.ns += other.ns;
        self.ns_squared += other.ns_squared;
        for (sums, other) in self.metrics.iter_mut().zip(&other.metrics) {
            sums.sum += other.sum;
            sums.squared += other.squared;
            sums.by_ns += other.by_ns;
        }
    }

    fn means(&self) -> Vec<CounterMean> {
        let sampled = SOURCES
            .iter()
            .zip(&self.metrics)
            .filter(|(_, sums)| sums.sum.is_finite() && self.ns > 0.0);
        let means = sampled.map(|(source, sums)| {
            let (ratio, ci95) = self.ratio(sums);
            let mut mean = CounterMean::default();
            mean.metric = source.metric;
            (mean.mean, mean.ci95) = if source.metric.is_bytes_per_s() {
                (ratio * NS_PER_S, ci95 * NS_PER_S)
            } else {
                // Records and samples have different ends.
                (ratio.min(1.0), ci95)
            };
            mean
        });
        means.collect()
    }

    /// The integral over the time, and half the width of its confidence interval: the variance of
    /// the ratio estimator (Cochran, Sampling Techniques, section 6.4).
    fn ratio(&self, sums: &IntegralMoments) -> (f64, f64) {
        let (ratio, samples) = (sums.sum / self.ns, self.samples as f64);
        let residuals = sums.squared - 2.0 * ratio * sums.by_ns + ratio * ratio * self.ns_squared;
        let variance = residuals.max(0.0) * samples / (samples - 1.0).max(1.0);
        (ratio, Z95 * variance.sqrt() / self.ns)
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::Metric;

    use super::{Integrals, METRICS, RowSamples};

    fn read(bytes: f64) -> Integrals {
        let mut integrals = [f64::NAN; METRICS];
        integrals[0] = bytes;
        integrals
    }

    #[test]
    fn a_mean_is_the_ratio_of_the_sums_with_the_spread_of_the_samples() {
        let mut row = RowSamples::default();
        // Ten samples of 10 ns with 2 bytes/ns, and ten of 10 ns with 4.
        for bytes in [20.0, 40.0] {
            (0..10).for_each(|_| row.add(10.0, &read(bytes), false));
        }
        let values = row.values().unwrap();
        assert_eq!((values.samples, values.sampled_ns), (20, 200));
        let [mean] = values.means[..] else {
            panic!("the others were not sampled")
        };
        assert_eq!((mean.metric, mean.mean), (Metric::DramRead, 3e9));
        // Each sample is 10 bytes from the mean: 1.96 · √(20/19 · 20 · 10²) / 200 bytes/ns.
        let expected = 1.96 * (20.0 / 19.0 * 2_000.0_f64).sqrt() / 200.0 * 1e9;
        assert!(
            (mean.ci95 - expected).abs() < 1.0,
            "{} {expected}",
            mean.ci95
        );
    }

    #[test]
    fn divided_samples_are_used_only_where_others_are_too_few() {
        let mut row = RowSamples::default();
        (0..9).for_each(|_| row.add(10.0, &read(10.0), false));
        assert!(row.values().unwrap().means.is_empty());
        (0..9).for_each(|_| row.add(10.0, &read(30.0), true));
        let values = row.values().unwrap();
        let means = (values.is_divided, values.mean(Metric::DramRead));
        assert_eq!(means, (true, Some(2e9)));
        row.add(10.0, &read(10.0), false);
        let values = row.values().unwrap();
        let means = (values.is_divided, values.mean(Metric::DramRead));
        assert_eq!(means, (false, Some(1e9)));
        assert!(RowSamples::default().values().is_none());
    }
}
