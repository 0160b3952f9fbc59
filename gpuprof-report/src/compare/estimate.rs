//! Changes of many items between two sides of runs: common factors of runs, moderated variances,
//! intervals and probabilities. The module [`compare`](super) states the method and its sources.

use super::distributions::{digamma, inverse_trigamma, trigamma, two_sided_p, two_sided_quantile};

/// Items from which a common factor of runs is estimated, at the least.
pub(super) const MIN_FACTOR_ITEMS: usize = 5;
/// Beyond this number of items, leaving one out makes no difference.
const MAX_LEAVE_ONE_OUT: usize = 64;
/// The smallest standard deviation of runs that is believed: 0.1 %.
const MIN_DEVIATION: f64 = 0.001;
/// Items from which variances are moderated, at the least.
const MIN_MODERATED: usize = 5;
/// The most that other items may count against an item's own runs, in degrees of freedom.
const MAX_PRIOR_DF: f64 = 8.0;

/// Values of one item per run, as logarithms; `None` where the item is not in a run. The first
/// `old` of them are of the old side.
pub(super) type LogValues = Vec<Option<f64>>;

/// What is estimated of one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ItemEstimate {
    /// Difference of the logarithms, new minus old.
    pub(super) difference: f64,
    /// Half the width of its 95 % interval, and the probability of such a difference without a
    /// change; `None` if the spread of the runs is unknown.
    pub(super) doubt: Option<(f64, f64)>,
    /// Whether the ranks of the runs agree that the sides differ.
    pub(super) ranks_differ: bool,
}

/// The middle of a list; `None` if it is empty.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    match values.len() % 2 {
        1 => Some(upper),
        _ => Some((values.get(middle.wrapping_sub(1))? + upper) / 2.0),
    }
}

/// Deviations of each item that all runs have from its own median.
pub(super) fn deviations(items: &[&LogValues]) -> Vec<Vec<f64>> {
    let complete = items.iter().filter_map(|item| {
        let values: Vec<f64> = item.iter().copied().collect::<Option<_>>()?;
        let middle = median(values.clone())?;
        Some(values.into_iter().map(|value| value - middle).collect())
    });
    complete.collect()
}

/// The median over items of the deviations of each run: what the run's items have in common.
/// `without` is an item that is left out.
fn run_factors(deviations: &[Vec<f64>], runs: usize, without: Option<usize>) -> Vec<f64> {
    let factors = (0..runs).map(|run| {
        let items = deviations
            .iter()
            .enumerate()
            .filter(|(item, _)| Some(*item) != without);
        let of_run = items.filter_map(|(_, item)| item.get(run).copied());
        median(of_run.collect()).unwrap_or(0.0)
    });
    factors.collect()
}

/// The common factors of runs, as logarithms.
pub(super) struct CommonFactors {
    deviations: Vec<Vec<f64>>,
    pub(super) of_runs: Vec<f64>,
}

impl CommonFactors {
    /// From `items`; `None` if too few of them are in every run.
    pub(super) fn new(items: &[&LogValues], runs: usize) -> Option<Self> {
        let deviations = deviations(items);
        (deviations.len() >= MIN_FACTOR_ITEMS).then(|| Self {
            of_runs: run_factors(&deviations, runs, None),
            deviations,
        })
    }

    /// The factors that an item is corrected by. `number` is its place among the items that they
    /// were estimated from: it does not count in its own correction.
    pub(super) fn without(&self, number: Option<usize>) -> Vec<f64> {
        match number {
            Some(_) if self.deviations.len() <= MAX_LEAVE_ONE_OUT => {
                run_factors(&self.deviations, self.of_runs.len(), number)
            }
            _ => self.of_runs.clone(),
        }
    }
}

/// `values` without the factors of their runs.
pub(super) fn corrected(values: &LogValues, factors: &[f64]) -> LogValues {
    let pairs = values.iter().zip(factors);
    pairs
        .map(|(value, factor)| value.map(|value| value - factor))
        .collect()
}

/// Means and spread of one item.
#[derive(Clone, Copy, Debug)]
struct ItemSummary {
    difference: f64,
    /// 1/n of the old side plus 1/n of the new one.
    weight: f64,
    /// Pooled variance of the runs, and its degrees of freedom.
    variance: f64,
    df: f64,
    ranks_differ: bool,
}

impl ItemSummary {
    fn new(values: &LogValues, old: usize) -> Option<Self> {
        let (before, after) = values.split_at_checked(old)?;
        let [before, after] =
            [before, after].map(|side| -> Vec<f64> { side.iter().copied().flatten().collect() });
        let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
        let squares = |side: &[f64]| -> f64 {
            let mean = mean(side);
            side.iter().map(|value| (value - mean).powi(2)).sum()
        };
        if before.is_empty() || after.is_empty() {
            return None;
        }
        let df = (before.len() + after.len() - 2) as f64;
        let variance = (squares(&before) + squares(&after)) / df.max(1.0);
        Some(Self {
            difference: mean(&after) - mean(&before),
            weight: 1.0 / before.len() as f64 + 1.0 / after.len() as f64,
            variance: variance.max(MIN_DEVIATION * MIN_DEVIATION),
            df,
            ranks_differ: ranks_differ(values, old),
        })
    }

    /// With the variance that many items have in common, and its degrees of freedom.
    fn estimate(&self, prior: Prior) -> ItemEstimate {
        let df = self.df + prior.df;
        let variance = (self.df * self.variance + prior.df * prior.variance) / df;
        // Raised, never lowered: an item may be noisier than all others.
        let error = (variance.max(self.variance) * self.weight).sqrt();
        let doubt = || {
            let half = two_sided_quantile(0.05, df) * error;
            (half, two_sided_p(self.difference / error, df))
        };
        ItemEstimate {
            difference: self.difference,
            doubt: (self.df > 0.0).then(doubt),
            ranks_differ: self.ranks_differ,
        }
    }
}

/// What the variances of many items say about that of any: a scaled inverse χ² distribution.
#[derive(Clone, Copy, Debug)]
struct Prior {
    variance: f64,
    df: f64,
}

impl Prior {
    const NONE: Self = Self {
        variance: 0.0,
        df: 0.0,
    };

    /// By the moments of the logarithms of the variances (Smyth 2004, section 6.2).
    fn new(summaries: &[ItemSummary]) -> Self {
        let known = || summaries.iter().filter(|summary| summary.df > 0.0);
        let number = known().count();
        if number < MIN_MODERATED {
            return Self::NONE;
        }
        let logs =
            || known().map(|of| of.variance.ln() - digamma(of.df / 2.0) + (of.df / 2.0).ln());
        let mean = logs().sum::<f64>() / number as f64;
        let spread = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / (number - 1) as f64;
        let expected = known().map(|of| trigamma(of.df / 2.0)).sum::<f64>() / number as f64;
        let excess = spread - expected;
        if excess <= 0.0 {
            return Self {
                variance: mean.exp(),
                df: MAX_PRIOR_DF,
            };
        }
        let df = 2.0 * inverse_trigamma(excess);
        Self {
            variance: (mean + digamma(df / 2.0) - (df / 2.0).ln()).exp(),
            df: df.min(MAX_PRIOR_DF),
        }
    }
}

/// Estimates the changes of items with the variances that they have in common. `None` for an item
/// that a side lacks.
pub(super) fn estimates(items: &[LogValues], old: usize) -> Vec<Option<ItemEstimate>> {
    let summaries: Vec<_> = items
        .iter()
        .map(|values| ItemSummary::new(values, old))
        .collect();
    let known: Vec<ItemSummary> = summaries.iter().copied().flatten().collect();
    let prior = Prior::new(&known);
    let estimates = summaries
        .iter()
        .map(|summary| Some(summary.as_ref()?.estimate(prior)));
    estimates.collect()
}

/// Estimates the change of one item by its own runs.
pub(super) fn estimate(values: &LogValues, old: usize) -> Option<ItemEstimate> {
    Some(ItemSummary::new(values, old)?.estimate(Prior::NONE))
}

/// Whether the ranks of the runs agree that the sides differ, so that one odd run does not decide:
/// by the test of Mann and Whitney (1947) at 2 %, in its normal approximation, or because every run
/// of one side is below every run of the other.
fn ranks_differ(values: &LogValues, old: usize) -> bool {
    let (before, after) = values.split_at_checked(old).unwrap_or((values, &[]));
    let (n, m) = (
        before.iter().flatten().count(),
        after.iter().flatten().count(),
    );
    let pairs = before.iter().flatten().flat_map(|old| {
        let news = after.iter().flatten();
        news.map(move |new| match new.total_cmp(old) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.0,
        })
    });
    let below: f64 = pairs.sum();
    let all = (n * m) as f64;
    let least = below.min(all - below);
    let deviation = (all * (n + m + 1) as f64 / 12.0).sqrt();
    least <= 0.0 || (all / 2.0 - least) / deviation >= Z_2_PERCENT
}

/// What |Z| of the normal distribution exceeds with a probability of 2 %.
const Z_2_PERCENT: f64 = 2.326_347_874;

/// Raises probabilities for their number, so that one below α is a false alarm in at most α of all
/// comparisons (Holm 1979).
pub(super) fn holm(probabilities: &mut [&mut f64]) {
    probabilities.sort_by(|a, b| a.total_cmp(b));
    let number = probabilities.len();
    let mut largest: f64 = 0.0;
    for (rank, p) in probabilities.iter_mut().enumerate() {
        largest = largest.max(**p * (number - rank) as f64).min(1.0);
        **p = largest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_of_one_item_is_students_test() {
        // Means 1 and 4, pooled variance 1, 1/3 + 1/3: t = 3 / √(2/3) with 4 degrees of freedom.
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(Some).to_vec();
        let found = estimate(&values, 3).unwrap();
        assert_eq!(found.difference, 3.0);
        let (half, p) = found.doubt.unwrap();
        let error = (2.0_f64 / 3.0).sqrt();
        assert!((half - 2.776_445_105 * error).abs() < 1e-6);
        assert!((p - two_sided_p(3.0 / error, 4.0)).abs() < 1e-12);
    }

    #[test]
    fn one_run_a_side_says_nothing_about_spread() {
        let found = estimate(&vec![Some(1.0), Some(1.5)], 1).unwrap();
        assert_eq!((found.difference, found.doubt), (0.5, None));
        assert!(estimate(&vec![Some(1.0), None], 1).is_none());
    }

    #[test]
    fn equal_runs_are_not_believed_to_the_last_digit() {
        let (half, p) = estimate(&vec![Some(1.0); 10], 5).unwrap().doubt.unwrap();
        assert!(half > 0.001 && p == 1.0);
    }

    #[test]
    fn the_factor_of_a_run_is_what_its_items_share() {
        let item = |level: f64, changed: f64| -> LogValues {
            vec![
                Some(level),
                Some(level + 0.07),
                Some(level),
                Some(level + 0.07 + changed),
            ]
        };
        let mut items: Vec<LogValues> = (0..6).map(|at| item(f64::from(at), 0.0)).collect();
        items.push(item(9.0, 0.5));
        items.push(vec![None; 4]);
        let items: Vec<&LogValues> = items.iter().collect();
        let factors = CommonFactors::new(&items, 4).unwrap();
        for (found, expected) in factors.of_runs.iter().zip([-0.035, 0.035, -0.035, 0.035]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert!(CommonFactors::new(&items[..4], 4).is_none());
    }

    #[test]
    fn holm_raises_the_smallest_probability_most() {
        let mut p = [0.01, 0.04, 0.03, 0.9];
        holm(&mut p.iter_mut().collect::<Vec<_>>());
        let expected = [0.04, 0.09, 0.09, 0.9];
        assert!(
            p.iter().zip(expected).all(|(p, q)| (p - q).abs() < 1e-12),
            "{p:?}"
        );
    }

    #[test]
    fn one_odd_run_of_five_does_not_make_a_difference_of_ranks() {
        let runs = |new: [f64; 5]| {
            let old = [0.0, 0.1, 0.2, 0.3, 0.4];
            old.into_iter().chain(new).map(Some).collect::<LogValues>()
        };
        assert!(ranks_differ(&runs([1.0, 1.1, 1.2, 1.3, 1.4]), 5));
        assert!(ranks_differ(&runs([0.35, 1.1, 1.2, 1.3, 1.4]), 5));
        assert!(!ranks_differ(&runs([0.15, 1.1, 1.2, 1.3, 1.4]), 5));
        assert!(!ranks_differ(&vec![Some(1.0); 10], 5));
        assert!(ranks_differ(&vec![Some(1.0), Some(2.0)], 1));
    }

    #[test]
    fn medians_are_of_sorted_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }
}
