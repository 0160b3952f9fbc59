//! The buckets of the exported histograms: each is a sum of whole buckets of the profile's finer
//! histogram, so its count is exact.

use crate::histogram::BUCKETS_PER_OCTAVE;
use crate::profile::{Bucket, SpanStats};

/// The first bound is 2¹⁰ − 1 ns.
const FIRST_POWER: usize = 10;

/// The octave of the profile's histogram that ends at the first bound: octave `o` ends at
/// 2^(o + 4) − 1 ns.
const FIRST_OCTAVE: usize = FIRST_POWER - 4;

/// Number of finite bounds.
const COUNT: usize = 28;

/// The inclusive upper bounds of the buckets, ns: 2¹⁰ − 1 (1.023 µs) to 2³⁷ − 1 (137.4 s), each
/// twice the one before plus 1. Durations are whole ns, so "at most 1,023" is "below 1,024".
pub const BOUNDS: [u64; COUNT] = bounds();

#[expect(
    clippy::indexing_slicing,
    reason = "it runs when the crate is compiled"
)]
const fn bounds() -> [u64; COUNT] {
    let mut bounds = [0; COUNT];
    let mut at = 0;
    while at < COUNT {
        bounds[at] = (1 << (FIRST_POWER + at)) - 1;
        at += 1;
    }
    bounds
}

/// Durations in the buckets of [`BOUNDS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurationBuckets {
    /// Number of durations.
    pub count: u64,
    /// Their sum, ns.
    pub sum_ns: u64,
    /// Those within each bound and above the one before. The others, up to `count`, are longer than
    /// the last bound, or are missing from the profile's histogram for lack of memory.
    pub buckets: [u64; COUNT],
}

impl DurationBuckets {
    /// Adds the durations of `times`, which are at least `calls`.
    pub(super) fn add(&mut self, times: &SpanStats, calls: u64) {
        let mut counted = 0_u64;
        for bucket in &times.histogram {
            counted = counted.saturating_add(bucket.count);
            if let Some(sum) = self.buckets.get_mut(index(bucket)) {
                *sum = sum.saturating_add(bucket.count);
            }
        }
        self.count = self.count.saturating_add(counted.max(calls));
        self.sum_ns = self.sum_ns.saturating_add(times.sum_ns);
    }
}

fn index(bucket: &Bucket) -> usize {
    (bucket.index as usize / BUCKETS_PER_OCTAVE).saturating_sub(FIRST_OCTAVE)
}

#[cfg(test)]
mod tests {
    use super::{BOUNDS, DurationBuckets};
    use crate::histogram::Histogram;
    use crate::profile::SpanStats;

    fn durations(ns: &[u64]) -> DurationBuckets {
        let mut histogram = Histogram::default();
        ns.iter().for_each(|ns| histogram.record(*ns));
        let times = SpanStats {
            histogram: histogram.buckets().collect(),
            sum_ns: ns.iter().copied().fold(0, u64::saturating_add),
            ..SpanStats::default()
        };
        let mut durations = DurationBuckets::default();
        durations.add(&times, ns.len() as u64);
        durations
    }

    #[test]
    fn a_duration_counts_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        assert_eq!((BOUNDS[0], BOUNDS[27]), (1_023, 137_438_953_471));
        for (at, bound) in BOUNDS.into_iter().enumerate() {
            let below = if at == 0 { 0 } else { BOUNDS[at - 1] + 1 };
            let found = durations(&[below, bound]);
            assert_eq!((found.buckets[at], found.count), (2, 2), "{bound}");
            assert_eq!(found.buckets.iter().sum::<u64>(), 2);
        }
    }

    #[test]
    fn longer_ones_count_in_no_finite_bucket() {
        let found = durations(&[BOUNDS[27] + 1, u64::MAX >> 1]);
        assert_eq!((found.count, found.buckets), (2, [0; 28]));
        assert_eq!(found.sum_ns, BOUNDS[27] + 1 + (u64::MAX >> 1));
    }
}
