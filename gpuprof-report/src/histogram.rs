//! Log-linear histograms of durations: 16 buckets an octave, so a bucket's middle is within 1/32 of what it counts.

const SUB_BITS: u32 = 4;
/// Buckets of an octave.
pub const SUBS: usize = 1 << SUB_BITS;
/// Octave 0 counts 0 to 15 ns one by one; the last ends at 2⁴³ ns (2.4 h), and longer durations count there.
pub const OCTAVES: usize = 40;

/// A histogram that nobody else writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// Durations that the memory ceiling left out.
    pub dropped: u64,
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, ns: u64) {
        self.record_of(1, ns);
    }

    /// Counts a duration that stands for those of so many calls.
    pub fn record_of(&mut self, calls: u32, ns: u64) {
        let (octave, sub) = place(ns);
        self.add(octave * SUBS + sub, u64::from(calls));
    }

    /// Adds `count` to the bucket of this index.
    pub fn add(&mut self, bucket: usize, count: u64) {
        if count == 0 {
            return;
        }
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        if let Some(cell) = self.counts.get_mut(bucket) {
            *cell += count;
        }
    }

    /// Adds `other`.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, &count) in other.counts.iter().enumerate() {
            self.add(bucket, count);
        }
        self.dropped += other.dropped;
    }

    /// Takes away an earlier state of the same histogram.
    pub fn subtract(&mut self, earlier: &Self) {
        for (count, &gone) in self.counts.iter_mut().zip(&earlier.counts) {
            *count = count.saturating_sub(gone);
        }
        self.dropped = self.dropped.saturating_sub(earlier.dropped);
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The duration that `share` (0 to 1) of all are at or under: the middle of its bucket, held within `min..=max`.
    #[must_use]
    pub fn quantile(&self, share: f64, min: u64, max: u64) -> u64 {
        let rank = ((self.total() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (low, high, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return (low + (high - low) / 2).clamp(min, max.max(min));
            }
        }
        max
    }

    /// `(lowest, highest, count)` of every bucket that counted something, in order; bounds inclusive.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(bucket, &count)| {
                let (low, width) = bounds(bucket);
                (low, low + (width - 1), count)
            })
    }
}

/// The octave of a duration, and the bucket within it.
#[must_use]
pub fn place(ns: u64) -> (usize, usize) {
    if ns < SUBS as u64 {
        return (0, ns as usize);
    }
    let exponent = ns.ilog2();
    let octave = (exponent - SUB_BITS + 1) as usize;
    if octave >= OCTAVES {
        return (OCTAVES - 1, SUBS - 1);
    }
    (octave, (ns >> (exponent - SUB_BITS)) as usize & (SUBS - 1))
}

fn bounds(bucket: usize) -> (u64, u64) {
    let (octave, sub) = (bucket / SUBS, (bucket % SUBS) as u64);
    match octave {
        0 => (sub, 1),
        _ => ((SUBS as u64 + sub) << (octave - 1), 1 << (octave - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, bounds, place};

    #[test]
    fn every_duration_lies_in_its_bucket_and_within_a_thirty_second_of_its_middle() {
        for shift in 0..43 {
            for offset in [0, 1, 3, 7] {
                let ns = (1_u64 << shift) + (offset << shift) / 8;
                let (octave, sub) = place(ns);
                let (low, width) = bounds(octave * 16 + sub);
                assert!((low..low + width).contains(&ns), "{ns}");
                let middle = low + (width - 1) / 2;
                assert!(
                    middle.abs_diff(ns) as f64 <= ns as f64 / 32.0,
                    "{ns} reads {middle}"
                );
            }
        }
    }

    #[test]
    fn quantiles_count_from_the_bottom() {
        let mut plain = Histogram::default();
        (1..=100).for_each(|ms| plain.record(ms * 1_000_000));
        for (share, ms) in [(0.5, 50.0), (0.9, 90.0), (0.99, 99.0)] {
            let read = plain.quantile(share, 0, u64::MAX) as f64 / 1e6;
            assert!((read - ms).abs() / ms <= 1.0 / 32.0, "{share}: {read}");
        }
        // A percentile is never beyond what was really seen.
        assert_eq!(plain.quantile(1.0, 0, 98_000_000), 98_000_000);
    }
}
