//! Conversion of one clock to another by moments that were read on both.

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// On the clock that is converted.
    pub from: u64,
    /// On the other clock.
    pub to: u64,
}

/// Converts times of one clock to another: between two moments by their rate, outside of them by
/// that of the nearest two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockMap {
    /// Ascending by `from`.
    moments: Vec<Moment>,
}

impl ClockMap {
    /// A conversion by these moments, in any order. Of several at one time the first counts.
    #[must_use]
    pub fn new(mut moments: Vec<Moment>) -> Self {
        moments.sort_by_key(|moment| moment.from);
        moments.dedup_by_key(|moment| moment.from);
        Self { moments }
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
        let last = self.moments.len().saturating_sub(1);
        let right = after.clamp(1, last.max(1));
        let ends = (self.moments.get(right - 1), self.moments.get(right));
        let (origin, [to_ns, from_ns]) = match ends {
            (Some(left), Some(right)) => {
                let apart = [(right.to, left.to), (right.from, left.from)];
                (left, apart.map(|(late, early)| difference(late, early)))
            }
            (Some(only), None) => (only, [1, 1]),
            _ => return 0,
        };
        let since = difference(from, origin.from) * to_ns / from_ns.max(1);
        u64::try_from(i128::from(origin.to) + since).unwrap_or(0)
    }
}

fn difference(late: u64, early: u64) -> i128 {
    i128::from(late) - i128::from(early)
}

#[cfg(test)]
mod tests {
    use super::{ClockMap, Moment};

    fn map(moments: &[(u64, u64)]) -> ClockMap {
        let moment = |&(from, to): &(u64, u64)| Moment { from, to };
        ClockMap::new(moments.iter().map(moment).collect())
    }

    #[test]
    fn times_are_converted_by_the_moments_around_them() {
        // 2 to 1, then 4 to 1.
        let map = map(&[(2_000, 1_000), (1_000, 500), (4_000, 1_500)]);
        let converted = [1_000, 1_100, 2_000, 2_040, 4_000].map(|from| map.convert(from));
        assert_eq!(converted, [500, 550, 1_000, 1_010, 1_500]);
        assert_eq!((map.convert(700), map.convert(4_400)), (350, 1_600));
    }

    #[test]
    fn one_moment_is_an_offset_and_none_is_zero() {
        assert_eq!(map(&[(100, 1_000)]).convert(150), 1_050);
        assert_eq!(map(&[(100, 10)]).convert(50), 0);
        assert_eq!(map(&[]).convert(7), 0);
        assert!(map(&[]).is_empty());
    }

    #[test]
    fn moments_at_one_time_count_once() {
        let map = map(&[(100, 10), (100, 90), (200, 110)]);
        assert_eq!(map.convert(150), 60);
    }
}
