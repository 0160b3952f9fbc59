//! When there are enough samples.

use std::time::Duration;

use crate::measurement::Stopped;
use crate::statistics::{LEAST_SAMPLES, Statistics};

/// When a benchmark has enough samples.
///
/// It ends once the 95 % confidence interval of the median is at most ±`relative_error` wide, or
/// one step of the device's timer, but not before `min_samples`, and in any case after `max_time`
/// or `max_samples`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoppingRule {
    /// Half the width of the median's interval over the median; default 0.002.
    pub relative_error: f64,
    /// Default 30; 6 are the least that have a confidence interval.
    pub min_samples: usize,
    /// Default 100,000.
    pub max_samples: usize,
    /// Time for the samples of one mode, those of the warm-up aside; default 3 s.
    pub max_time: Duration,
}

impl Default for StoppingRule {
    fn default() -> Self {
        Self {
            relative_error: 0.002,
            min_samples: 30,
            max_samples: 100_000,
            max_time: Duration::from_secs(3),
        }
    }
}

impl StoppingRule {
    /// Whether the median is known well enough, beside a timer of this step.
    pub(crate) fn accepts(&self, all: &Statistics, step: f64) -> bool {
        let Some((low, high)) = all.median_ci95 else {
            return false;
        };
        let error = all.relative_error();
        error.is_some_and(|error| error <= self.relative_error) || high - low <= step
    }
}

/// The rule at work. The interval is looked at after ever more samples: a check after each one
/// stops too early, in a lucky moment.
#[derive(Debug)]
pub(crate) struct Stopping {
    rule: StoppingRule,
    next_look: usize,
}

impl Stopping {
    pub(crate) fn new(rule: StoppingRule) -> Self {
        Self {
            rule,
            next_look: rule.min_samples.max(LEAST_SAMPLES),
        }
    }

    /// Whether the samples are enough after `took`, and why. An interval no wider than `step`, the
    /// difference of two values that the timer can tell apart, is as good as it gets.
    pub(crate) fn check(
        &mut self,
        times: &[f64],
        step: impl FnOnce() -> f64,
        took: Duration,
    ) -> Option<Stopped> {
        if times.len() >= self.next_look {
            self.next_look = (times.len() + times.len() / 2).max(times.len() + 1);
            if Statistics::of(times).is_some_and(|all| self.rule.accepts(&all, step())) {
                return Some(Stopped::Converged);
            }
        }
        if times.len() >= self.rule.max_samples {
            return Some(Stopped::SampleLimit);
        }
        (took >= self.rule.max_time && !times.is_empty()).then_some(Stopped::TimeLimit)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Stopping, StoppingRule};
    use crate::measurement::Stopped;
    use crate::statistics::Statistics;

    /// Adds samples until the rule ends it, each of 1 µs.
    fn run(rule: StoppingRule, mut next: impl FnMut(usize) -> f64) -> (Vec<f64>, Stopped) {
        let (mut stopping, mut times) = (Stopping::new(rule), Vec::new());
        loop {
            times.push(next(times.len()));
            let took = Duration::from_micros(times.len() as u64);
            let step = || Statistics::of(&times).map_or(0.0, |all| all.timer_step(1));
            if let Some(stopped) = stopping.check(&times, step, took) {
                return (times, stopped);
            }
        }
    }

    #[test]
    fn equal_samples_need_the_least_number() {
        let (times, stopped) = run(StoppingRule::default(), |_| 7.0);
        assert_eq!((times.len(), stopped), (30, Stopped::Converged));
    }

    #[test]
    fn noise_needs_samples_by_its_square() {
        let mut random = fastrand::Rng::with_seed(9);
        let rule = StoppingRule {
            relative_error: 0.005,
            ..StoppingRule::default()
        };
        // Uniform over ±r: the median's interval is about ±1.96 r/√n wide, so n ≈ (1.96 r/e)².
        let mut needed = |spread: f64| {
            let next = |_| 1.0 + spread * (2.0 * random.f64() - 1.0);
            let (times, stopped) = run(rule, next);
            assert_eq!(stopped, Stopped::Converged);
            let error = Statistics::of(&times).unwrap().relative_error().unwrap();
            assert!(error <= 0.005, "{error}");
            times.len() as f64
        };
        for spread in [0.05, 0.2] {
            let expected = (1.96 * spread / 0.005_f64).powi(2);
            let ratio = needed(spread) / expected;
            assert!(
                (0.5..2.0).contains(&ratio),
                "±{spread}: {ratio} × {expected}"
            );
        }
    }

    /// Of 4 µs, a step of 32 ns is 0.8 %: no number of samples makes the interval narrower.
    #[test]
    fn a_coarse_timer_is_no_reason_to_go_on() {
        let mut random = fastrand::Rng::with_seed(5);
        let next = |_| 4_000.0 + 32.0 * (3.0 * random.f64()).round();
        let (times, stopped) = run(StoppingRule::default(), next);
        assert_eq!(stopped, Stopped::Converged);
        assert!(times.len() < 1_000, "{}", times.len());
        let all = Statistics::of(&times).unwrap();
        let (low, high) = all.median_ci95.unwrap();
        assert!(high - low <= 32.0);
    }

    #[test]
    fn two_states_of_a_long_kernel_are_no_timer() {
        let rule = StoppingRule {
            max_samples: 200,
            ..StoppingRule::default()
        };
        let next = |at: usize| if at.is_multiple_of(2) { 1e6 } else { 1.009e6 };
        assert_eq!(run(rule, next).1, Stopped::SampleLimit);
    }

    #[test]
    fn too_few_samples_are_never_enough() {
        let rule = StoppingRule {
            min_samples: 1,
            ..StoppingRule::default()
        };
        let (times, stopped) = run(rule, |_| 7.0);
        assert_eq!((times.len(), stopped), (6, Stopped::Converged));
        assert_eq!(Statistics::of(&[1.0; 5]).unwrap().median_ci95, None);
    }

    #[test]
    fn two_states_end_at_the_limit() {
        let rule = StoppingRule {
            max_time: Duration::from_micros(500),
            ..StoppingRule::default()
        };
        let (times, stopped) = run(rule, |at| if at % 2 == 0 { 1.0 } else { 2.0 });
        assert_eq!((times.len(), stopped), (500, Stopped::TimeLimit));
        let rule = StoppingRule {
            max_samples: 100,
            ..StoppingRule::default()
        };
        let (times, stopped) = run(rule, |at| if at % 2 == 0 { 1.0 } else { 2.0 });
        assert_eq!((times.len(), stopped), (100, Stopped::SampleLimit));
    }
}
