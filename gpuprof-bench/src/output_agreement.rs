//! Whether two implementations compute the same.

use std::fmt;

/// How far a candidate's value may be from the baseline's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// In the unit of the values.
    pub absolute: f64,
    /// Of the baseline's value.
    pub relative: f64,
}

impl Tolerance {
    /// `absolute + relative · |baseline|`; with both 0, values must be equal.
    #[must_use]
    pub const fn new(absolute: f64, relative: f64) -> Self {
        Self { absolute, relative }
    }

    fn allows(self, baseline: f64, candidate: f64) -> bool {
        let difference = (candidate - baseline).abs();
        // Equal infinities have no difference that is a number.
        baseline == candidate
            || difference.is_finite()
                && difference <= self.absolute + self.relative * baseline.abs()
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e} + {:e}·|baseline|", self.absolute, self.relative)
    }
}

/// Two values at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValuePair {
    /// Index into both outputs.
    pub index: usize,
    /// The baseline's value.
    pub baseline: f64,
    /// The candidate's value.
    pub candidate: f64,
}

/// How the outputs of two implementations compare.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// Values of the baseline's output and of the candidate's.
    pub values: (usize, usize),
    /// Values beyond the tolerance. A value that is not a number agrees with nothing.
    pub wrong: usize,
    /// Largest absolute difference of two numbers.
    pub max_absolute: f64,
    /// Largest difference over the baseline's absolute value, where that is not 0.
    pub max_relative: f64,
    /// The pair that is furthest beyond the tolerance, or nearest to it; `None` without values.
    pub worst: Option<ValuePair>,
    /// What was allowed.
    pub tolerance: Tolerance,
}

impl Agreement {
    /// Whether the outputs have the same length and no value is beyond the tolerance.
    #[must_use]
    pub const fn is_within(&self) -> bool {
        self.values.0 == self.values.1 && self.wrong == 0
    }

    pub(crate) fn of(
        baseline: &dyn OutputValues,
        candidate: &dyn OutputValues,
        tolerance: Tolerance,
    ) -> Self {
        let values = (baseline.len(), candidate.len());
        let mut all = Self {
            values,
            tolerance,
            ..Self::default()
        };
        let mut worst = f64::NEG_INFINITY;
        for index in 0..values.0.min(values.1) {
            let pair = ValuePair {
                index,
                baseline: baseline.at(index),
                candidate: candidate.at(index),
            };
            let excess = all.add(&pair);
            if all.worst.is_none() || excess > worst {
                (worst, all.worst) = (excess, Some(pair));
            }
        }
        all
    }

    /// Counts a pair. Returns how far it is beyond the tolerance, negative within it.
    fn add(&mut self, pair: &ValuePair) -> f64 {
        let (baseline, candidate) = (pair.baseline, pair.candidate);
        if !self.tolerance.allows(baseline, candidate) {
            self.wrong += 1;
        }
        let difference = if baseline == candidate {
            0.0
        } else {
            (candidate - baseline).abs()
        };
        if !difference.is_finite() {
            self.max_absolute = self.max_absolute.max(difference);
            return f64::INFINITY;
        }
        self.max_absolute = self.max_absolute.max(difference);
        let relative = difference / baseline.abs();
        if relative.is_finite() {
            self.max_relative = self.max_relative.max(relative);
        }
        difference - self.tolerance.absolute - self.tolerance.relative * baseline.abs()
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ours, theirs) = self.values;
        if ours != theirs {
            return write!(f, "outputs DIFFER: {ours} values and {theirs} values");
        }
        let (wrong, allowed) = (self.wrong, self.tolerance);
        match (wrong, allowed == Tolerance::default()) {
            (0, true) => return write!(f, "outputs agree: {ours} values, all equal"),
            (0, false) => write!(f, "outputs agree: {ours} values within {allowed}")?,
            (_, true) => write!(f, "outputs DIFFER: {wrong} of {ours} values")?,
            (_, false) => write!(
                f,
                "outputs DIFFER: {wrong} of {ours} values beyond {allowed}"
            )?,
        }
        write!(
            f,
            "; largest error {:.2e} absolute, {:.2e} relative",
            self.max_absolute, self.max_relative
        )?;
        if let Some(worst) = self
            .worst
            .filter(|_| self.max_absolute > 0.0 || self.wrong > 0)
        {
            write!(
                f,
                "; worst at index {}: {} and {}",
                worst.index, worst.baseline, worst.candidate
            )?;
        }
        Ok(())
    }
}

/// An output as numbers.
pub(crate) trait OutputValues {
    fn len(&self) -> usize;
    /// NaN beyond the end.
    fn at(&self, index: usize) -> f64;
}

impl<T: Copy + Into<f64>> OutputValues for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn at(&self, index: usize) -> f64 {
        self.get(index).map_or(f64::NAN, |&value| value.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Agreement, Tolerance};

    fn compare(baseline: &[f64], candidate: &[f64], tolerance: Tolerance) -> Agreement {
        Agreement::of(&baseline.to_vec(), &candidate.to_vec(), tolerance)
    }

    #[test]
    fn errors_are_the_largest_and_the_worst_is_furthest_from_what_is_allowed() {
        let tolerance = Tolerance::new(0.25, 0.125);
        // Allowed: 0.25, 1.5, 0.375.
        let found = compare(&[0.0, 10.0, 1.0], &[0.125, 11.0, 1.375], tolerance);
        assert!(found.is_within());
        assert_eq!((found.max_absolute, found.max_relative), (1.0, 0.375));
        assert_eq!(found.worst.map(|pair| pair.index), Some(2));
        assert_eq!(
            found.to_string(),
            "outputs agree: 3 values within 2.5e-1 + 1.25e-1·|baseline|; largest error 1.00e0 \
             absolute, 3.75e-1 relative; worst at index 2: 1 and 1.375"
        );
        let found = compare(&[0.0, 10.0, 1.0], &[0.5, 11.0, 1.5], tolerance);
        assert!(!found.is_within());
        assert_eq!(
            (found.wrong, found.worst.map(|pair| pair.index)),
            (2, Some(0))
        );
    }

    #[test]
    fn without_a_tolerance_values_must_be_equal() {
        let exact = Tolerance::default();
        assert!(compare(&[1.0, f64::INFINITY], &[1.0, f64::INFINITY], exact).is_within());
        assert!(!compare(&[1.0], &[1.0 + f64::EPSILON], exact).is_within());
        assert!(compare(&[], &[], exact).is_within());
    }

    #[test]
    fn what_is_not_a_number_or_missing_is_wrong() {
        let lax = Tolerance::new(1e9, 1e9);
        let found = compare(&[1.0, 2.0, f64::NAN], &[1.0, f64::NAN, f64::NAN], lax);
        assert_eq!(
            (found.wrong, found.worst.map(|pair| pair.index)),
            (2, Some(1))
        );
        let found = compare(&[1.0, 2.0], &[1.0], lax);
        assert!(!found.is_within());
        assert_eq!(found.to_string(), "outputs DIFFER: 2 values and 1 values");
        for other in [-f64::INFINITY, 1.0] {
            assert!(!compare(&[f64::INFINITY], &[other], lax).is_within());
        }
    }
}
