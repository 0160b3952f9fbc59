//! Log-linear histograms of durations: 16 buckets per octave.
//!
//! Bucket `b` of octave `o = b / 16` and step `s = b % 16` counts the durations, in whole ns,
//!
//! - `b ..= b` if `o` is 0,
//! - `(16 + s)·2^(o − 1) ..= (17 + s)·2^(o − 1) − 1` otherwise.
//!
//! There are 640 buckets. The last one ends below 2⁴³ ns (2.4 h) and counts all longer durations
//! as well. The middle of a bucket is within 1/32 of every duration that it counts.

use std::ops::RangeInclusive;

use crate::profile::Bucket;

const STEP_BITS: u32 = 4;
/// Buckets per octave.
pub const BUCKETS_PER_OCTAVE: usize = 1 << STEP_BITS;
/// Octaves of a histogram.
pub const OCTAVES: usize = 40;

/// A histogram with one writer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// Durations that were not counted because of the memory limit.
    pub dropped: u64,
}

impl Histogram {
    /// Counts one duration, in ns.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Counts `n` calls of one duration, in ns.
    pub fn record_n(&mut self, ns: u64, n: u32) {
        self.add(bucket_index(ns), u64::from(n));
    }

    /// Adds `count` to a bucket.
    pub fn add(&mut self, bucket: usize, count: u64) {
        if count == 0 {
            return;
        }
        self.reach(bucket / BUCKETS_PER_OCTAVE);
        if let Some(sum) = self.counts.get_mut(bucket) {
            *sum += count;
        }
    }

    /// Adds the counts of all buckets of an octave.
    #[inline]
    pub fn add_octave(&mut self, octave: usize, counts: &[u64; BUCKETS_PER_OCTAVE]) {
        self.reach(octave);
        let first = octave * BUCKETS_PER_OCTAVE;
        let sums = self.counts.get_mut(first..first + BUCKETS_PER_OCTAVE);
        for (sum, count) in sums.into_iter().flatten().zip(counts) {
            *sum += count;
        }
    }

    /// Makes room for the buckets of an octave.
    #[inline]
    fn reach(&mut self, octave: usize) {
        let length = (octave + 1) * BUCKETS_PER_OCTAVE;
        if self.counts.len() < length {
            self.counts.resize(length, 0);
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, &count) in other.counts.iter().enumerate() {
            self.add(bucket, count);
        }
        self.dropped += other.dropped;
    }

    /// Subtracts an earlier state of the same histogram.
    pub fn subtract(&mut self, earlier: &Self) {
        for (count, &before) in self.counts.iter_mut().zip(&earlier.counts) {
            *count = count.saturating_sub(before);
        }
        self.dropped = self.dropped.saturating_sub(earlier.dropped);
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The duration, in ns, that a share (0 to 1) of all do not exceed: the middle of its bucket,
    /// clamped to `min..=max`.
    #[must_use]
    pub fn quantile(&self, share: f64, min: u64, max: u64) -> u64 {
        quantile(self.buckets(), self.total(), share, min..=max)
    }

    /// The buckets that are not empty, in order.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        let counts = self.counts.iter().enumerate();
        counts
            .filter(|&(_, &count)| count > 0)
            .map(|(index, &count)| Bucket {
                index: index as u32,
                count,
            })
    }
}

/// The middle of the bucket in which a share of `total` is reached, in ns, within `range`.
pub(crate) fn quantile(
    buckets: impl Iterator<Item = Bucket>,
    total: u64,
    share: f64,
    range: RangeInclusive<u64>,
) -> u64 {
    let (min, max) = range.into_inner();
    let rank = ((total as f64 * share).ceil() as u64).max(1);
    let mut counted = 0_u64;
    for bucket in buckets {
        counted = bucket.count.saturating_add(counted);
        if counted >= rank {
            let (low, high) = bucket.bounds_ns().into_inner();
            return (low + (high - low) / 2).clamp(min, max.max(min));
        }
    }
    max
}

impl Bucket {
    /// The durations that this bucket counts, in ns. Those beyond the last bucket are counted in
    /// it.
    #[must_use]
    pub fn bounds_ns(&self) -> RangeInclusive<u64> {
        let last = OCTAVES * BUCKETS_PER_OCTAVE - 1;
        let index = (self.index as usize).min(last);
        let (octave, step) = (index / BUCKETS_PER_OCTAVE, index % BUCKETS_PER_OCTAVE);
        if octave == 0 {
            return step as u64..=step as u64;
        }
        let width = 1 << (octave - 1);
        let low = (BUCKETS_PER_OCTAVE + step) as u64 * width;
        low..=low + (width - 1)
    }
}

/// The octave of a duration in ns, and the step within it.
#[inline]
#[must_use]
pub fn octave_and_step(ns: u64) -> (usize, usize) {
    if ns < BUCKETS_PER_OCTAVE as u64 {
        return (0, ns as usize);
    }
    // `^` is `-` here and takes fewer instructions.
    let highest_bit = (u64::BITS - 1) ^ ns.leading_zeros();
    let shift = highest_bit - STEP_BITS;
    let bucket = shift as usize * BUCKETS_PER_OCTAVE + (ns >> shift) as usize;
    let bucket = bucket.min(OCTAVES * BUCKETS_PER_OCTAVE - 1);
    (bucket / BUCKETS_PER_OCTAVE, bucket % BUCKETS_PER_OCTAVE)
}

pub(crate) fn bucket_index(ns: u64) -> usize {
    let (octave, step) = octave_and_step(ns);
    octave * BUCKETS_PER_OCTAVE + step
}

#[cfg(test)]
mod tests {
    use super::{Histogram, bucket_index};
    use crate::profile::Bucket;

    fn bucket(index: usize) -> Bucket {
        Bucket {
            index: index as u32,
            count: 1,
        }
    }

    #[test]
    fn every_duration_lies_in_its_bucket_and_within_a_thirty_second_of_its_middle() {
        for shift in 0..43 {
            for offset in [0, 1, 3, 7] {
                let ns = (1_u64 << shift) + (offset << shift) / 8;
                let bounds = bucket(bucket_index(ns)).bounds_ns();
                assert!(bounds.contains(&ns), "{ns}");
                let middle = bounds.start() + (bounds.end() - bounds.start()) / 2;
                assert!(
                    middle.abs_diff(ns) as f64 <= ns as f64 / 32.0,
                    "{ns} reads {middle}"
                );
            }
        }
    }

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        assert_eq!(bucket(0).bounds_ns(), 0..=0);
        for index in 1..640 {
            let (before, this) = (bucket(index - 1).bounds_ns(), bucket(index).bounds_ns());
            assert_eq!(*this.start(), before.end() + 1, "{index}");
        }
        assert_eq!(*bucket(639).bounds_ns().end(), (1 << 43) - 1);
        assert_eq!(bucket_index(u64::MAX), 639);
    }

    #[test]
    fn quantiles_count_from_the_bottom() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.record(ms * 1_000_000));
        for (share, ms) in [(0.5, 50.0), (0.9, 90.0), (0.99, 99.0)] {
            let read = histogram.quantile(share, 0, u64::MAX) as f64 / 1e6;
            assert!((read - ms).abs() / ms <= 1.0 / 32.0, "{share}: {read}");
        }
        // A percentile is never above the longest duration.
        assert_eq!(histogram.quantile(1.0, 0, 98_000_000), 98_000_000);
    }
}
