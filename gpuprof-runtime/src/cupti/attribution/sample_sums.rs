//! Sums over samples of hardware counters: for means, and for their confidence intervals.

use gpuprof_report::profile::{
    CounterMean, CounterValues, ListedMean, MIN_COUNTER_SAMPLES, Metric,
};

use crate::cupti::collect::pm_sampling::in_turn::IN_TURN_METRICS;
use crate::cupti::collect::pm_sampling::listed::{Form, ListedMetric};
use crate::cupti::collect::pm_sampling::metrics::{MetricSet, PmSample, SOURCES};

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
    /// Of the second set, in which nothing else ran: ratios of counters of several kernels say
    /// nothing of one.
    in_turn: InTurnSums,
}

impl RowSamples {
    /// Adds a sample, or the part of it that belongs to this row, with the kernel time in it.
    pub(crate) fn add(&mut self, ns: f64, part: &PmSample, is_divided: bool) {
        match (part.set, is_divided) {
            (MetricSet::First, false) => self.own.add(ns, part),
            (MetricSet::First, true) => self.divided.add(ns, part),
            (MetricSet::InTurn, false) => self.in_turn.add(ns, part),
            (MetricSet::InTurn, true) => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.own.merge(&other.own);
        self.divided.merge(&other.divided);
        self.in_turn.merge(&other.in_turn);
    }

    /// The means; `None` without samples. Divided samples are left out where there are enough
    /// others.
    pub(super) fn values(&self) -> Option<Box<CounterValues>> {
        let mut sums = self.own.clone();
        let mut values = CounterValues::default();
        if sums.times.samples < MIN_COUNTER_SAMPLES {
            sums.merge(&self.divided);
            values.is_divided = self.divided.times.samples > 0;
        }
        let in_turn = &self.in_turn.times;
        if sums.times.samples + in_turn.samples == 0 {
            return None;
        }
        values.samples = sums.times.samples;
        values.sampled_ns = sums.times.ns.round() as u64;
        values.in_turn_samples = in_turn.samples;
        values.in_turn_ns = in_turn.ns.round() as u64;
        if sums.times.samples >= MIN_COUNTER_SAMPLES {
            values.means = sums.means();
            values.listed = sums.listed_means();
        }
        if in_turn.samples >= MIN_COUNTER_SAMPLES {
            values.means.extend(self.in_turn.means());
        }
        Some(Box::new(values))
    }
}

#[derive(Clone, Debug, Default)]
struct SampleSums {
    times: TimeSums,
    /// Of each of [`SOURCES`].
    metrics: [IntegralSums; SOURCES.len()],
    /// Of the user's list, with the times of the samples in which the metric has a value.
    listed: Vec<(&'static ListedMetric, TimeSums, IntegralSums)>,
}

/// Sums over samples of the second set.
#[derive(Clone, Debug, Default)]
struct InTurnSums {
    times: TimeSums,
    /// Of each of [`IN_TURN_METRICS`], and of what it is per.
    metrics: [(TimeSums, IntegralSums); IN_TURN_METRICS.len()],
}

/// Sums over samples of the kernel time in them, ns, or of what else a metric is per.
#[derive(Clone, Copy, Debug, Default)]
struct TimeSums {
    samples: u64,
    ns: f64,
    ns_squared: f64,
}

/// Sums of an integral, of its square, and of its product with the time; NaN if it was not sampled.
#[derive(Clone, Copy, Debug, Default)]
struct IntegralSums {
    sum: f64,
    squared: f64,
    by_ns: f64,
}

impl TimeSums {
    fn add(&mut self, ns: f64) {
        self.samples += 1;
        self.ns += ns;
        self.ns_squared += ns * ns;
    }

    fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.ns += other.ns;
        self.ns_squared += other.ns_squared;
    }
}

impl IntegralSums {
    fn add(&mut self, ns: f64, integral: f64) {
        self.sum += integral;
        self.squared += integral * integral;
        self.by_ns += integral * ns;
    }

    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.squared += other.squared;
        self.by_ns += other.by_ns;
    }

    /// The integral over the time, and half the width of its confidence interval: the variance of
    /// the ratio estimator (Cochran, Sampling Techniques, section 6.4).
    fn ratio(&self, times: &TimeSums) -> (f64, f64) {
        let (ratio, samples) = (self.sum / times.ns, times.samples as f64);
        let residuals = self.squared - 2.0 * ratio * self.by_ns + ratio * ratio * times.ns_squared;
        let variance = residuals.max(0.0) * samples / (samples - 1.0).max(1.0);
        (ratio, Z95 * variance.sqrt() / times.ns)
    }
}

impl InTurnSums {
    fn add(&mut self, ns: f64, part: &PmSample) {
        self.times.add(ns);
        for (of, (times, sums)) in IN_TURN_METRICS.iter().zip(&mut self.metrics) {
            let (counted, per) = of.ratio(ns, &part.integrals);
            times.add(per);
            sums.add(per, counted);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        for ((times, sums), (more, other)) in self.metrics.iter_mut().zip(&other.metrics) {
            times.merge(more);
            sums.merge(other);
        }
    }

    /// Those that were counted, but for ratios to a counter that stayed 0.
    fn means(&self) -> impl Iterator<Item = CounterMean> {
        let sampled = IN_TURN_METRICS.iter().zip(&self.metrics);
        let sampled = sampled.filter(|(_, (times, sums))| sums.sum.is_finite() && times.ns > 0.0);
        sampled.map(|(of, (times, sums))| {
            let (ratio, ci95) = sums.ratio(times);
            // Records and samples have different ends.
            let mean = match of.metric {
                Metric::AccessPasses => ratio.max(0.0),
                _ => ratio.clamp(0.0, 1.0),
            };
            CounterMean::new(of.metric, mean, ci95)
        })
    }
}

impl SampleSums {
    fn add(&mut self, ns: f64, part: &PmSample) {
        self.times.add(ns);
        let (fixed, listed) = part.integrals.split_at(SOURCES.len());
        for (sums, integral) in self.metrics.iter_mut().zip(fixed) {
            sums.add(ns, *integral);
        }
        // All samples have the same list.
        for (index, (metric, integral)) in part.listed.iter().zip(listed).enumerate() {
            if index == self.listed.len() {
                self.listed
                    .push((metric, TimeSums::default(), IntegralSums::default()));
            }
            if let Some((_, times, sums)) = self.listed.get_mut(index)
                && !integral.is_nan()
            {
                times.add(ns);
                sums.add(ns, *integral);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        for (sums, other) in self.metrics.iter_mut().zip(&other.metrics) {
            sums.merge(other);
        }
        if self.listed.is_empty() {
            self.listed.clone_from(&other.listed);
            return;
        }
        for ((_, times, sums), (_, more, other)) in self.listed.iter_mut().zip(&other.listed) {
            times.merge(more);
            sums.merge(other);
        }
    }

    fn means(&self) -> Vec<CounterMean> {
        let sampled = SOURCES
            .iter()
            .zip(&self.metrics)
            .filter(|(_, sums)| sums.sum.is_finite() && self.times.ns > 0.0);
        let means = sampled.map(|((metric, counter), sums)| {
            let (mean, ci95) = mean_of(counter.form, sums, &self.times);
            CounterMean::new(*metric, mean, ci95)
        });
        means.collect()
    }

    fn listed_means(&self) -> Vec<ListedMean> {
        // Only a ratio has samples without a value: any other was not sampled on each device.
        let is_known = |metric: &ListedMetric, times: &TimeSums| {
            let is_whole = times.samples == self.times.samples;
            is_whole || (metric.form.is_ratio() && times.samples >= MIN_COUNTER_SAMPLES)
        };
        let known = self.listed.iter().filter(|(metric, times, sums)| {
            is_known(metric, times) && sums.sum.is_finite() && times.ns > 0.0
        });
        let means = known.map(|(metric, times, sums)| {
            let mut mean = ListedMean::default();
            mean.name.clone_from(&metric.name);
            mean.unit = metric.form.unit();
            (mean.mean, mean.ci95) = mean_of(metric.form, sums, times);
            mean
        });
        means.collect()
    }
}

/// The mean in the unit of its form, and half the width of its interval.
fn mean_of(form: Form, sums: &IntegralSums, times: &TimeSums) -> (f64, f64) {
    let (ratio, ci95) = sums.ratio(times);
    match form {
        Form::Bytes | Form::Count => (ratio * NS_PER_S, ci95 * NS_PER_S),
        // Records and samples have different ends.
        Form::PeakShare => (ratio.min(1.0), ci95),
        Form::Percent | Form::Ratio => (ratio, ci95),
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::{Metric, MetricUnit};

    use super::{ListedMetric, MetricSet, PmSample, RowSamples, SOURCES};
    use crate::cupti::collect::pm_sampling::in_turn;
    use crate::cupti::collect::pm_sampling::metrics::METRICS;

    fn read(bytes: f64) -> PmSample {
        let mut integrals = [f64::NAN; METRICS];
        integrals[0] = bytes;
        PmSample {
            start: 0,
            end: 10,
            set: MetricSet::First,
            integrals,
            listed: &[],
        }
    }

    #[test]
    fn a_ratio_is_over_the_samples_in_which_it_has_a_value() {
        let names = ["lts__t_sector_hit_rate.pct", "lts__t_sectors.sum"];
        let listed: Vec<_> = names
            .iter()
            .filter_map(|name| ListedMetric::new(name))
            .collect();
        let listed: &'static [ListedMetric] = listed.leak();
        let sample = |ns: f64, hits: f64, sectors: f64| {
            let mut sample = read(0.0);
            sample.listed = listed;
            sample.integrals[SOURCES.len()] = hits * ns;
            sample.integrals[SOURCES.len() + 1] = sectors;
            sample
        };
        let mut row = RowSamples::default();
        // 30 samples of 10 ns with 50 %, 10 of 30 ns with 90 %, and 5 in which nothing was read.
        (0..30).for_each(|_| row.add(10.0, &sample(10.0, 0.5, 4.0), false));
        (0..10).for_each(|_| row.add(30.0, &sample(30.0, 0.9, 12.0), false));
        (0..5).for_each(|_| row.add(10.0, &sample(10.0, f64::NAN, 0.0), false));
        let values = row.values().unwrap();
        let [hits, sectors] = &values.listed[..] else {
            panic!("{values:?}")
        };
        assert_eq!(
            (hits.name.as_str(), hits.unit),
            (names[0], MetricUnit::Share)
        );
        assert!((hits.mean - 0.7).abs() < 1e-9, "{hits:?}");
        // 240 of them in 650 ns.
        assert_eq!(
            (sectors.name.as_str(), sectors.unit),
            (names[1], MetricUnit::PerS)
        );
        assert!(
            (sectors.mean - 240.0 / 650.0 * 1e9).abs() < 1.0,
            "{sectors:?}"
        );
        // A count that another device does not have is that of a part.
        let mut without = sample(10.0, 0.5, 0.0);
        without.integrals[SOURCES.len() + 1] = f64::NAN;
        row.add(10.0, &without, false);
        assert_eq!(row.values().unwrap().listed.len(), 1);
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
    fn metrics_in_turn_are_ratios_of_the_totals_in_samples_of_one_kernel() {
        let sample = |passes: f64, accesses: f64| {
            let mut sample = read(f64::NAN);
            sample.set = MetricSet::InTurn;
            sample.integrals = [0.0; METRICS];
            sample.integrals[in_turn::PASSES] = passes;
            sample.integrals[in_turn::ACCESSES] = accesses;
            sample
        };
        let mut row = RowSamples::default();
        (0..8).for_each(|_| row.add(10.0, &sample(8.0, 1.0), false));
        (0..1).for_each(|_| row.add(10.0, &sample(2.0, 4.0), false));
        (0..9).for_each(|_| row.add(10.0, &sample(900.0, 1.0), true));
        assert!(row.values().unwrap().means.is_empty(), "too few");
        row.add(10.0, &sample(2.0, 4.0), false);
        let values = row.values().unwrap();
        assert_eq!((values.samples, values.in_turn_samples), (0, 10));
        assert_eq!((values.in_turn_ns, values.is_divided), (100, false));
        // 68 passes of 16 accesses.
        assert_eq!(values.mean(Metric::AccessPasses), Some(4.25));
        // Nothing used shared memory.
        assert_eq!(values.mean(Metric::SharedConflicts), None);
        assert_eq!(values.mean(Metric::SharedThroughput), Some(0.0));
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
