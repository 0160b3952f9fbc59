//! What hardware counters measured in several profiles.

use crate::figures::Sum;
use crate::profile::{CounterMean, CounterValues, ListedMean, Metric, MetricUnit};

/// The values of a function or kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterTotals {
    sums: CounterValues,
    metrics: Vec<(Metric, MeanTotals)>,
    listed: Vec<((String, MetricUnit), MeanTotals)>,
}

/// Sums over the profiles that have a mean.
#[derive(Clone, Copy, Debug, Default)]
struct MeanTotals {
    /// Mean · ns, and the square of the half width of the interval · ns².
    sum: f64,
    variance: f64,
    ns: f64,
}

impl MeanTotals {
    fn add(&mut self, mean: f64, ci95: f64, ns: f64) {
        self.sum += mean * ns;
        self.variance += (ci95 * ns).powi(2);
        self.ns += ns;
    }

    /// The mean over the sampled time, and half the width of its interval.
    fn mean(&self) -> Option<(f64, f64)> {
        let mean = (self.sum / self.ns, self.variance.sqrt() / self.ns);
        (self.ns > 0.0).then_some(mean)
    }
}

/// The totals of a key, which are new if it has none.
fn totals_of<K: PartialEq>(all: &mut Vec<(K, MeanTotals)>, key: K) -> Option<&mut MeanTotals> {
    let known = all.iter().position(|(known, _)| *known == key);
    let at = known.unwrap_or_else(|| {
        all.push((key, MeanTotals::default()));
        all.len() - 1
    });
    all.get_mut(at).map(|(_, totals)| totals)
}

impl CounterTotals {
    pub(super) fn add(&mut self, values: &CounterValues) {
        self.sums.add(values);
        let ns = values.sampled_ns as f64;
        for mean in &values.means {
            let ns = if mean.metric.is_in_turn() {
                values.in_turn_ns as f64
            } else {
                ns
            };
            if let Some(totals) = totals_of(&mut self.metrics, mean.metric) {
                totals.add(mean.mean, mean.ci95, ns);
            }
        }
        for mean in &values.listed {
            if let Some(totals) = totals_of(&mut self.listed, (mean.name.clone(), mean.unit)) {
                totals.add(mean.mean, mean.ci95, ns);
            }
        }
    }

    /// The means over the sampled time of all profiles; `None` without a sample.
    pub(super) fn values(&self) -> Option<Box<CounterValues>> {
        let means = self.metrics.iter().filter_map(|(metric, totals)| {
            let (mean, ci95) = totals.mean()?;
            Some(CounterMean {
                metric: *metric,
                mean,
                ci95,
            })
        });
        let listed = self.listed.iter().filter_map(|((name, unit), totals)| {
            let (mean, ci95) = totals.mean()?;
            Some(ListedMean {
                name: name.clone(),
                unit: *unit,
                mean,
                ci95,
            })
        });
        (self.sums.samples + self.sums.in_turn_samples > 0).then(|| {
            Box::new(CounterValues {
                means: means.collect(),
                listed: listed.collect(),
                ..self.sums.clone()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterMean, CounterTotals, CounterValues, ListedMean, Metric, MetricUnit};

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
            ..CounterValues::default()
        }
    }

    #[test]
    fn metrics_in_turn_have_a_time_of_their_own() {
        let mut totals = CounterTotals::default();
        for (in_turn_ns, passes) in [(300, 8.0), (100, 4.0)] {
            let mut values = values(10, 1_000, 4e9);
            (values.in_turn_samples, values.in_turn_ns) = (20, in_turn_ns);
            let passes = CounterMean::new(Metric::AccessPasses, passes, 0.0);
            values.means.push(passes);
            totals.add(&values);
        }
        let merged = totals.values().unwrap();
        assert_eq!((merged.in_turn_samples, merged.in_turn_ns), (40, 400));
        assert_eq!(merged.mean(Metric::AccessPasses), Some(7.0));
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
    #[test]
    fn listed_metrics_are_merged_by_name_and_unit() {
        let listed = |name: &str, unit, mean| ListedMean {
            name: name.to_owned(),
            unit,
            mean,
            ci95: 0.0,
        };
        let sectors = |mean| listed("lts__t_sectors.sum", MetricUnit::PerS, mean);
        let hits = listed("lts__t_sector_hit_rate.pct", MetricUnit::Share, 0.5);
        let mut totals = CounterTotals::default();
        for (ns, means) in [
            (1_000, vec![sectors(4e9), hits.clone()]),
            (3_000, vec![sectors(8e9)]),
        ] {
            totals.add(&CounterValues {
                listed: means,
                ..values(10, ns, 1e9)
            });
        }
        assert_eq!(totals.values().unwrap().listed, [sectors(7e9), hits]);
    }
}
