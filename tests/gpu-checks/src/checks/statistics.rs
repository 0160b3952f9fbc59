//! Many measurements of one thing as a few numbers, and how rows show them. Must never import
//! anything that measures.

use crate::check::{Row, World};

/// What a set of measurements comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) mean: f64,
    /// A quarter of the measurements are below.
    pub(crate) p25: f64,
    /// A quarter of the measurements are above.
    pub(crate) p75: f64,
    pub(crate) least: f64,
}

impl Spread {
    /// Nothing can be said of no measurement: then all is NaN, which no comparison finds good.
    pub(crate) fn of(measured: &[f64]) -> Spread {
        let mut sorted = measured.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let at = share * sorted.len().saturating_sub(1) as f64;
            let value = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
            let (below, above) = (value(at.floor()), value(at.ceil()));
            below + (above - below) * at.fract()
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

/// A duration in ns, with its unit.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        1e9.. => format!("{:.3} s", ns / 1e9),
        1e6.. => format!("{:.3} ms", ns / 1e6),
        1e4.. => format!("{:.2} µs", ns / 1e3),
        1e3.. => format!("{:.3} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}

/// How far `is` lies from `wanted`, as a share of it.
pub(crate) fn off(is: f64, wanted: f64) -> f64 {
    (is - wanted) / wanted
}

/// A share as a percentage, with its sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:+.2} %", 100.0 * share)
}

/// A row about speed or exactness of times: held on a GPU, only told where nothing was measured.
pub(crate) fn performance(
    world: &World,
    what: impl Into<String>,
    measured: impl Into<String>,
    wanted: impl Into<String>,
    good: bool,
) -> Row {
    match no_measurement(world) {
        Some(why) => Row::told(what, format!("{why}: {}", measured.into())),
        None => Row::held(what, measured, wanted, good),
    }
}

/// A figure that nothing was promised about.
pub(crate) fn figure(world: &World, what: impl Into<String>, measured: impl Into<String>) -> Row {
    match no_measurement(world) {
        Some(why) => Row::told(what, format!("{why}: {}", measured.into())),
        None => Row::told(what, measured),
    }
}

fn no_measurement(world: &World) -> Option<&'static str> {
    match (world.simulated, world.short) {
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
    fn quartiles_lie_between_their_neighbours() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((spread.median, spread.mean, spread.least), (2.5, 2.5, 1.0));
        assert_eq!((spread.p25, spread.p75), (1.75, 3.25));
        assert!(Spread::of(&[]).median.is_nan());
    }

    #[test]
    fn times_carry_their_unit() {
        let shown = [900.0, 1_234.0, 12_345.0, 1.5e6, -2e9].map(time);
        let expected = ["900 ns", "1.234 µs", "12.35 µs", "1.500 ms", "-2.000 s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_was_not_measured_is_only_told() {
        let row = |simulated, short| {
            let world = World { simulated, short };
            performance(&world, "a", "1", "2", false)
        };
        assert_eq!(row(false, false).verdict, Verdict::Bad);
        for (row, said) in [
            (row(true, true), "simulated device: 1"),
            (row(false, true), "short run: 1"),
        ] {
            assert_eq!(
                (row.verdict, &*row.measured, &*row.wanted),
                (Verdict::Told, said, "")
            );
        }
    }
}
