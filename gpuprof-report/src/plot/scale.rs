//! Logarithmic axes.

/// Places of values along a logarithmic axis. Ends are logarithms to base 10, because their powers
/// may not be numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

/// A line across the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) labelled: bool,
}

/// Decades with a labelled tick.
const MAX_DECADES: i32 = 6;

impl Scale {
    /// Has the positive `values` between `start` and `end`, which are pixels, with `margin` pixels
    /// free at both. Covers at least the factor `least`.
    pub(super) fn new(
        values: impl Iterator<Item = f64>,
        (start, end): (f64, f64),
        margin: f64,
        least: f64,
    ) -> Self {
        let empty = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = values.map(f64::log10).fold(empty, |(low, high), value| {
            (value.min(low), value.max(high))
        });
        let (low, high) = if low > high { (0.0, 0.0) } else { (low, high) };
        let span = (high - low).max(least.log10());
        let margin = span * margin / ((end - start).abs() - 2.0 * margin);
        let (middle, half) = ((low + high) / 2.0, span / 2.0 + margin);
        Self {
            low: middle - half,
            high: middle + half,
            start,
            end,
        }
    }

    /// Where a positive value is, in pixels.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        self.start + share * (self.end - self.start)
    }

    pub(super) fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value.log10())
    }

    /// The decades in range; 2 and 5 times them too if they are one or two, and the other whole
    /// multiples without a label if they are up to four.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let decades = self.high.floor() as i32 - self.low.ceil() as i32 + 1;
        let step = (decades + MAX_DECADES - 1) / MAX_DECADES;
        let mut ticks = Vec::new();
        for decade in first..=last {
            let multiples = if decades > 4 { 1..=1 } else { 1..=9 };
            for multiple in multiples {
                let value = f64::from(multiple) * 10f64.powi(decade);
                let labelled = match multiple {
                    1 => step <= 1 || decade.rem_euclid(step) == 0,
                    2 | 5 => decades <= 2,
                    _ => false,
                };
                if super::number::is_positive(value) && self.contains(value) {
                    ticks.push(Tick { value, labelled });
                }
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(low: f64, high: f64) -> Vec<f64> {
        let scale = Scale::new([low, high].into_iter(), (0.0, 100.0), 0.0, 5.0);
        let ticks = scale.ticks().into_iter();
        ticks
            .filter(|tick| tick.labelled)
            .map(|tick| tick.value)
            .collect()
    }

    #[test]
    fn any_range_has_two_to_eight_labels() {
        assert_eq!(labelled(9.0, 1100.0), [10.0, 100.0, 1000.0]);
        assert_eq!(labelled(15.0, 600.0), [20.0, 50.0, 100.0, 200.0, 500.0]);
        for factor in [1.0, 1.1, 3.0, 5.0, 12.0, 101.0, 1e4, 1e9, 1e100, 1e250] {
            for start in [1e-30, 0.99, 1.01, 2.1, 4.9, 5.1, 9.9, 7e50] {
                let count = labelled(start, start * factor).len();
                assert!(
                    (2..=8).contains(&count),
                    "{count} at {start} to {factor} times it"
                );
            }
        }
    }

    #[test]
    fn decades_are_as_far_from_each_other_and_margins_are_free() {
        let scale = Scale::new([1.0, 1000.0].into_iter(), (200.0, 0.0), 10.0, 5.0);
        let places = [1.0, 10.0, 100.0, 1000.0].map(|value| scale.place(value).round());
        assert_eq!(places, [190.0, 130.0, 70.0, 10.0]);
    }
}
