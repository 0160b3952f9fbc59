//! Conversion of one clock to another by moments that were read on both.

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockPair {
    /// On the clock that is converted.
    pub from: u64,
    /// On the other clock.
    pub to: u64,
}

/// Converts times of one clock to another: between two moments by their rate, before the first and
/// after the last by that of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockMap {
    /// Ascending by `from`.
    moments: Vec<ClockPair>,
    /// By how much the rate of all may differ from 1, in millionths.
    max_drift_ppm: Option<u32>,
}

impl ClockMap {
    /// A conversion by these moments, in any order. Of several at one time the first counts.
    #[must_use]
    pub fn new(mut moments: Vec<ClockPair>) -> Self {
        moments.sort_by_key(|moment| moment.from);
        moments.dedup_by_key(|moment| moment.from);
        Self {
            moments,
            max_drift_ppm: None,
        }
    }

    /// The same for clocks of one unit: moments that are close together tell little of the rate,
    /// which differs from 1 by at most so many millionths.
    #[must_use]
    pub fn with_max_drift_ppm(self, max_drift_ppm: u32) -> Self {
        Self {
            max_drift_ppm: Some(max_drift_ppm),
            ..self
        }
    }

    /// Adds a moment after all others; an earlier one is ignored. Above `limit` moments, an even
    /// number, every second one is forgotten, but neither the first nor the last.
    pub fn add(&mut self, moment: ClockPair, limit: usize) {
        let last = self.moments.last();
        if last.is_some_and(|last| last.from >= moment.from) {
            return;
        }
        self.moments.push(moment);
        if self.moments.len() > limit {
            let mut is_kept = false;
            self.moments.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// The moments, ascending by `from`.
    #[must_use]
    pub fn moments(&self) -> &[ClockPair] {
        &self.moments
    }

    /// Whether there is no moment to convert by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    /// The time on the other clock; 0 if there is no moment or it would be negative. With one
    /// moment alone both clocks are taken to run at one rate.
    #[must_use]
    pub fn convert(&self, from: u64) -> u64 {
        let after = self.moments.partition_point(|moment| moment.from <= from);
        let before = after
            .checked_sub(1)
            .and_then(|before| self.moments.get(before));
        let (origin, since) = match (before, self.moments.get(after)) {
            (Some(left), Some(right)) => (left, scaled(difference(from, left.from), left, right)),
            (Some(last), None) => (last, self.beyond(difference(from, last.from))),
            (None, Some(first)) => (first, self.beyond(difference(from, first.from))),
            (None, None) => return 0,
        };
        u64::try_from(i128::from(origin.to) + since).unwrap_or(0)
    }

    /// A difference to the first or the last moment.
    fn beyond(&self, since: i128) -> i128 {
        let by_rate = match (self.moments.first(), self.moments.last()) {
            (Some(first), Some(last)) if first.from < last.from => scaled(since, first, last),
            _ => since,
        };
        let Some(ppm) = self.max_drift_ppm else {
            return by_rate;
        };
        let most = since.abs() * i128::from(ppm) / 1_000_000;
        by_rate.clamp(since - most, since + most)
    }
}

/// A difference by the rate between two moments.
fn scaled(since: i128, left: &ClockPair, right: &ClockPair) -> i128 {
    since * difference(right.to, left.to) / difference(right.from, left.from).max(1)
}

fn difference(late: u64, early: u64) -> i128 {
    i128::from(late) - i128::from(early)
}

#[cfg(test)]
mod tests {
    use super::{ClockMap, ClockPair};

    fn map(moments: &[(u64, u64)]) -> ClockMap {
        let moment = |&(from, to): &(u64, u64)| ClockPair { from, to };
        ClockMap::new(moments.iter().map(moment).collect())
    }

    #[test]
    fn times_are_converted_by_the_moments_around_them() {
        // 2 to 1, then 4 to 1.
        let map = map(&[(2_000, 1_000), (1_000, 500), (4_000, 1_500)]);
        let converted = [1_000, 1_100, 2_000, 2_040, 4_000].map(|from| map.convert(from));
        assert_eq!(converted, [500, 550, 1_000, 1_010, 1_500]);
        // 3 to 1 in all.
        assert_eq!((map.convert(700), map.convert(4_300)), (400, 1_600));
    }

    #[test]
    fn one_moment_is_an_offset_and_none_is_zero() {
        assert_eq!(map(&[(100, 1_000)]).convert(150), 1_050);
        assert_eq!(map(&[(100, 10)]).convert(50), 0);
        assert_eq!(map(&[]).convert(7), 0);
        assert!(map(&[]).is_empty());
    }

    #[test]
    fn close_moments_do_not_decide_on_a_rate_that_clocks_do_not_have() {
        // 1,000 ppm by two moments that are 1 µs apart.
        let map = map(&[(0, 500), (1_000, 1_501)]).with_max_drift_ppm(100);
        assert_eq!(map.convert(500), 1_000);
        assert_eq!(map.convert(1_001_000), 1_001_601);
        let slow = super::ClockMap::new(vec![
            ClockPair {
                from: 1_000_000,
                to: 0,
            },
            ClockPair {
                from: 2_000_000,
                to: 1_000_050,
            },
        ]);
        assert_eq!(slow.with_max_drift_ppm(100).convert(12_000_000), 11_000_550);
    }

    #[test]
    fn a_clock_that_was_set_back_is_followed() {
        let map = map(&[(0, 10_000), (1_000, 11_000), (2_000, 4_000)]);
        assert_eq!((map.convert(500), map.convert(2_000)), (10_500, 4_000));
    }

    #[test]
    fn many_moments_are_thinned_and_the_latest_is_kept() {
        let mut map = ClockMap::default();
        let last = 9_999;
        // A later read of an earlier moment changes nothing.
        for (at, to) in (0..=last).map(|at| (at, at)).chain([(last, 0)]) {
            let from = 10 * at;
            map.add(ClockPair { from, to }, 100);
            assert!(map.moments().len() <= 100);
        }
        for at in [0, 1_234, last - 1, last] {
            assert_eq!(map.convert(10 * at), at);
        }
    }

    #[test]
    fn moments_at_one_time_count_once() {
        let map = map(&[(100, 10), (100, 90), (200, 110)]);
        assert_eq!(map.convert(150), 60);
    }
}
