//! What hardware counters measured in several profiles.

use crate::figures::Sum;
use crate::profile::{CounterMean, CounterValues, Metric};

/// The values of a function or kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterTotals {
    sums: CounterValues,
    metrics: Vec<MetricTotals>,
}

/// Sums over the profiles that have a mean.
#[derive(Clone, Copy, Debug)]
struct MetricTotals {
    metric: Metric,
    /// Mean · ns, and the square of the half width of the interval · ns².
    sum: f64,
    variance: f64,
    ns: f64,
}

impl CounterTotals {
    pub(super) fn add(&mut self, values: &CounterValues) {
        self.sums.add(values);
        let ns = values.sampled_ns as f64;
        for mean in &values.means {
            let known = self.metrics.iter().position(|of| of.metric == mean.metric);
            let at = known.unwrap_or_else(|| {
                self.metrics.push(MetricTotals {
                    metric: mean.metric,
                    sum: 0.0,
                    variance: 0.0,
                    ns: 0.0,
                });
                self.metrics.len() - 1
            });
            if let Some(totals) = self.metrics.get_mut(at) {
                totals.sum += mean.mean * ns;
                totals.variance += (mean.ci95 * ns).powi(2);
                totals.ns += ns;
            }
        }
    }

    /// The means over the sampled time of all profiles; `None` without a sample.
    pub(super) fn values(&self) -> Option<Box<CounterValues>> {
        let has_time = |totals: &&MetricTotals| totals.ns > 0.0;
        let means = self
            .metrics
            .iter()
            .filter(has_time)
            .map(|totals| CounterMean {
                metric: totals.metric,
                mean: totals.sum / totals.ns,
                ci95: totals.variance.sqrt() / totals.ns,
            });
        (self.sums.samples > 0).then(|| {
            Box::new(CounterValues {
                means: means.collect(),
                ..self.sums.clone()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterMean, CounterTotals, CounterValues, Metric};

    fn values(samples: u64, sampled_ns: u64, mean: f64) -> CounterValues {
        let dram = CounterMean {
            metric: Metric::DramRead,
            mean,
            ci95: 0.1 * mean,
        };
        CounterValues {
            samples,
            sampled_ns,
            is_divided: false,
            means: vec![dram],
        }
    }

    #[test]
    fn means_are_weighted_by_the_sampled_time() {
        let mut totals = CounterTotals::default();
        assert_eq!(totals.values(), None);
        totals.add(&values(10, 1_000, 4e9));
        totals.add(&values(30, 3_000, 8e9));
        // Too few for a mean.
        totals.add(&CounterValues {
            means: Vec::new(),
            ..values(1, 100, 0.0)
        });
        let merged = totals.values().unwrap();
        assert_eq!((merged.samples, merged.sampled_ns), (41, 4_100));
        assert_eq!(merged.mean(Metric::DramRead), Some(7e9));
        let width = merged.means[0].ci95;
        // 10 % of 4e9 · ¼ and of 8e9 · ¾, which vary independently.
        let expected = f64::hypot(0.1e9, 0.6e9);
        assert!((width - expected).abs() < 1.0, "{width}");
    }
}
