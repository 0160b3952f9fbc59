//! Median and quartiles of repeated measurements, and their format in rows.

pub(crate) use promises::time;

use crate::check::{Row, RunMode};

/// The distribution of a set of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) mean: f64,
    /// The lower quartile.
    pub(crate) p25: f64,
    /// The upper quartile.
    pub(crate) p75: f64,
    pub(crate) least: f64,
}

impl Spread {
    /// Without measurements all fields are NaN, which fails every comparison.
    pub(crate) fn of(measured: &[f64]) -> Spread {
        let mut sorted = measured.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let position = share * sorted.len().saturating_sub(1) as f64;
            let value = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
            let (below, above) = (value(position.floor()), value(position.ceil()));
            below + (above - below) * position.fract()
        };
        Spread {
            median: quantile(0.5),
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p25: quantile(0.25),
            p75: quantile(0.75),
            least: quantile(0.0),
        }
    }

    /// Median and quartiles of durations in ns.
    pub(crate) fn time(&self) -> String {
        format!(
            "{} ({} to {})",
            time(self.median),
            time(self.p25),
            time(self.p75)
        )
    }

    /// Median and quartiles of ratios.
    pub(crate) fn ratio(&self) -> String {
        format!("{:.3} ({:.3} to {:.3})", self.median, self.p25, self.p75)
    }
}

/// What `run` measures of each of so many methods in all repeats. The methods take turns, so that
/// the runs of a repeat are adjacent in time, and each repeat begins with another method.
///
/// # Errors
/// The first of `run`.
pub(crate) fn in_turn<T>(
    methods: usize,
    repeats: usize,
    mut run: impl FnMut(usize) -> Result<T, String>,
) -> Result<Vec<Vec<T>>, String> {
    let mut measured: Vec<Vec<T>> = (0..methods).map(|_| Vec::new()).collect();
    for repeat in 0..repeats {
        for turn in 0..methods {
            let method = (turn + repeat) % methods;
            measured[method].push(run(method)?);
        }
    }
    Ok(measured)
}

/// The ratio of each run to that of the same repeat.
pub(crate) fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

/// A median with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MedianInterval {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl MedianInterval {
    /// Measurements of which so many lie below and above the true median with 97.5 % probability:
    /// the quantile of the binomial distribution, by its normal approximation. `None` for fewer
    /// than 8.
    pub(crate) fn of(measured: &[f64]) -> Option<Self> {
        const FEWEST: usize = 8;
        if measured.len() < FEWEST {
            return None;
        }
        let mut sorted = measured.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let rank = (count / 2.0 - 0.98 * count.sqrt()).floor().max(1.0) as usize;
        Some(Self {
            median: Spread::of(measured).median,
            low: *sorted.get(rank - 1)?,
            high: *sorted.get(sorted.len() - rank)?,
        })
    }

    pub(crate) fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// The relative difference of `is` from `wanted`.
pub(crate) fn off(is: f64, wanted: f64) -> f64 {
    (is - wanted) / wanted
}

/// A ratio as a percentage with its sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:+.2} %", 100.0 * share)
}

/// A row about speed or accuracy: checked on a GPU, reported only if nothing was measured.
pub(crate) fn performance(
    run_mode: &RunMode,
    what: impl Into<String>,
    measured: impl Into<String>,
    wanted: impl Into<String>,
    good: bool,
) -> Row {
    match no_measurement(run_mode) {
        Some(why) => Row::info(what, format!("{why}: {}", measured.into())),
        None => Row::judged(what, measured, wanted, good),
    }
}

/// A figure about which nothing is promised.
pub(crate) fn figure(
    run_mode: &RunMode,
    what: impl Into<String>,
    measured: impl Into<String>,
) -> Row {
    match no_measurement(run_mode) {
        Some(why) => Row::info(what, format!("{why}: {}", measured.into())),
        None => Row::info(what, measured),
    }
}

fn no_measurement(run_mode: &RunMode) -> Option<&'static str> {
    match (run_mode.simulated, run_mode.short) {
        (true, _) => Some("simulated device"),
        (false, true) => Some("short run"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Verdict;

    #[test]
    fn methods_take_turns_and_each_repeat_begins_with_another() {
        let mut order = Vec::new();
        let measured = in_turn(3, 2, |method| {
            order.push(method);
            Ok(order.len())
        });
        assert_eq!(order, [0, 1, 2, 1, 2, 0]);
        assert_eq!(measured, Ok(vec![vec![1, 6], vec![2, 4], vec![3, 5]]));
    }

    #[test]
    fn a_medians_interval_narrows_with_more_measurements() {
        let of = |count: u32| MedianInterval::of(&(1..=count).map(f64::from).collect::<Vec<_>>());
        assert_eq!(of(7), None);
        // Exact are ranks 1 and 8, 6 and 15, 40 and 61: the approximation errs on the safe side.
        let interval = |count| of(count).map(|found| (found.low, found.high));
        assert_eq!(interval(8), Some((1.0, 8.0)));
        assert_eq!(interval(20), Some((5.0, 16.0)));
        assert_eq!(interval(100), Some((40.0, 61.0)));
    }

    #[test]
    fn quartiles_lie_between_their_neighbours() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((spread.median, spread.mean, spread.least), (2.5, 2.5, 1.0));
        assert_eq!((spread.p25, spread.p75), (1.75, 3.25));
        assert!(Spread::of(&[]).median.is_nan());
    }

    #[test]
    fn what_was_not_measured_is_only_told() {
        let row = |simulated, short| {
            let run_mode = RunMode { simulated, short };
            performance(&run_mode, "a", "1", "2", false)
        };
        assert_eq!(row(false, false).verdict, Verdict::Fail);
        for (row, said) in [
            (row(true, true), "simulated device: 1"),
            (row(false, true), "short run: 1"),
        ] {
            assert_eq!(
                (row.verdict, &*row.measured, &*row.wanted),
                (Verdict::Info, said, "")
            );
        }
    }
}
