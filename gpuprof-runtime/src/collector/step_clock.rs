//! The wall times of the program's steps in a window.

use std::collections::VecDeque;

use crate::clock::Scale;
use gpuprof_report::profile::{MAX_SLOWEST_STEPS, MAX_STEP_SERIES, SlowStep, StepTimes};

/// Step times so far, in clock ticks. Its memory is bounded by the limits of [`StepTimes`].
#[derive(Clone, Debug, Default)]
pub(super) struct StepClock {
    /// When the step in progress began. `None`: nothing is measured.
    began: Option<u64>,
    count: u64,
    total: u64,
    min: u64,
    max: u64,
    /// Number and time of the longest steps, longest first.
    slowest: Vec<(u64, u64)>,
    /// The last steps, oldest first.
    series: VecDeque<u64>,
}

impl StepClock {
    /// The first step begins.
    pub(super) fn new(began: Option<u64>) -> Self {
        Self {
            began,
            ..Self::default()
        }
    }

    /// One step ends and the next begins; the first since `runs_since` began then. Returns the time
    /// of the step. `now` is asked only if something is measured.
    pub(super) fn step(&mut self, runs_since: u64, now: impl FnOnce() -> u64) -> Option<u64> {
        let (began, now) = (self.began?.max(runs_since), now());
        self.began = Some(now);
        let time = now.saturating_sub(began);
        self.add(time);
        Some(time)
    }

    fn add(&mut self, time: u64) {
        self.min = match self.count {
            0 => time,
            _ => self.min.min(time),
        };
        self.max = self.max.max(time);
        self.count = self.count.saturating_add(1);
        self.total = self.total.saturating_add(time);
        if self.series.len() == MAX_STEP_SERIES {
            self.series.pop_front();
        }
        self.series.push_back(time);
        // Of equally long steps the earlier one is listed.
        let place = self.slowest.partition_point(|(_, known)| *known >= time);
        if place < MAX_SLOWEST_STEPS {
            self.slowest.truncate(MAX_SLOWEST_STEPS - 1);
            self.slowest.insert(place, (self.count, time));
        }
    }

    /// What was measured. `None` without a step.
    pub(super) fn times(&self, scale: Scale) -> Option<StepTimes> {
        let mean = self.total.checked_div(self.count)?;
        let mut times = StepTimes::default();
        times.count = self.count;
        times.total_ns = scale.ns(self.total);
        times.mean_ns = scale.ns(mean);
        times.min_ns = scale.ns(self.min);
        times.max_ns = scale.ns(self.max);
        let slow = |&(step, ticks): &(u64, u64)| {
            let mut slow = SlowStep::default();
            (slow.step, slow.ns) = (step, scale.ns(ticks));
            slow
        };
        times.slowest = self.slowest.iter().map(slow).collect();
        times.series_ns = self.series.iter().map(|&ticks| scale.ns(ticks)).collect();
        Some(times)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn stepped(times: impl IntoIterator<Item = u64>) -> StepTimes {
        let (mut clock, mut now) = (StepClock::new(Some(5)), 5);
        for time in times {
            now += time;
            clock.step(0, || now);
        }
        clock.times(Scale::from_ghz(1.0)).expect("a step ended")
    }

    #[test]
    fn the_series_keeps_the_newest_and_the_figures_are_of_all() {
        let times = stepped((1..=2_500).rev());
        assert_eq!((times.count, times.total_ns), (2_500, 3_126_250));
        assert_eq!(
            (times.min_ns, times.mean_ns, times.max_ns),
            (1, 1_250, 2_500)
        );
        assert_eq!(times.series_ns, (1..=1_000).rev().collect::<Vec<_>>());
        assert_eq!(times.first_of_series(), 1_501);
        let slowest: Vec<_> = (times.slowest.iter())
            .map(|slow| (slow.step, slow.ns))
            .collect();
        let expected: Vec<_> = (1..=10).map(|step| (step, 2_501 - step)).collect();
        assert_eq!(slowest, expected);
    }

    #[test]
    fn of_equally_long_steps_the_earlier_are_listed() {
        let times = stepped(std::iter::repeat_n(7, 20).chain([9]));
        let steps: Vec<_> = times.slowest.iter().map(|slow| slow.step).collect();
        assert_eq!(steps, [21, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_clock_that_goes_back_and_the_largest_time_do_no_harm() {
        let mut clock = StepClock::new(Some(10));
        clock.step(0, || 3);
        clock.step(0, || u64::MAX);
        clock.step(0, || 0);
        clock.step(0, || u64::MAX);
        let times = clock.times(Scale::from_ghz(1.0)).expect("steps ended");
        assert_eq!((times.count, times.min_ns, times.max_ns), (4, 0, u64::MAX));
        assert_eq!(times.total_ns, u64::MAX);
    }

    #[test]
    fn without_a_measurement_the_clock_is_not_read() {
        let mut clock = StepClock::new(None);
        clock.step(0, || panic!("the clock was read"));
        assert_eq!(clock.times(Scale::from_ghz(1.0)), None);
    }
}
