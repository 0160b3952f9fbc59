//! A histogram that takes memory only for the buckets that it counts in: that of one among very
//! many rows, most of which have few durations, or similar ones.

use crate::histogram::{bucket_index, quantile};
use crate::profile::Bucket;

/// The counts of a [`Histogram`](crate::histogram::Histogram).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseHistogram {
    /// Those that are not empty, in order.
    buckets: Vec<Bucket>,
}

impl SparseHistogram {
    /// Counts one duration, in ns.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Counts `n` calls of one duration, in ns.
    pub fn record_n(&mut self, ns: u64, n: u32) {
        self.add(Bucket {
            index: bucket_index(ns) as u32,
            count: u64::from(n),
        });
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.buckets.iter().for_each(|bucket| self.add(*bucket));
    }

    pub(crate) fn add(&mut self, bucket: Bucket) {
        if bucket.count == 0 {
            return;
        }
        let found = self
            .buckets
            .binary_search_by_key(&bucket.index, |known| known.index);
        match found {
            Ok(at) => {
                if let Some(known) = self.buckets.get_mut(at) {
                    known.count = known.count.saturating_add(bucket.count);
                }
            }
            Err(at) => {
                if self.buckets.is_empty() {
                    // Most rows need no more. A vector would begin with room for four.
                    self.buckets.reserve_exact(1);
                }
                self.buckets.insert(at, bucket);
            }
        }
    }

    /// The buckets that are not empty, in order.
    #[must_use]
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The duration, in ns, that a share (0 to 1) of all do not exceed: the middle of its bucket,
    /// clamped to `min..=max`.
    #[must_use]
    pub fn quantile(&self, share: f64, min: u64, max: u64) -> u64 {
        let total = total(&self.buckets);
        quantile(self.buckets.iter().copied(), total, share, min..=max)
    }
}

/// How many durations the buckets count.
pub(crate) fn total(buckets: &[Bucket]) -> u64 {
    let counts = buckets.iter().map(|bucket| bucket.count);
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::SparseHistogram;
    use crate::histogram::Histogram;

    #[test]
    fn quantiles_are_those_of_a_dense_histogram() {
        let mut random = fastrand::Rng::with_seed(3);
        let [mut sparse, mut other] = [(); 2].map(|()| SparseHistogram::default());
        let mut dense = Histogram::default();
        assert_eq!(sparse.quantile(0.5, 3, 9), dense.quantile(0.5, 3, 9));
        for _ in 0..2_000 {
            let octave = random.u32(1..50);
            let ns = random.u64(0..1 << octave);
            if random.bool() {
                sparse.record(ns)
            } else {
                other.record(ns)
            }
            dense.record(ns);
        }
        sparse.merge(&other);
        for share in [0.0, 0.01, 0.5, 0.9, 0.99, 1.0] {
            let [found, expected] = [
                sparse.quantile(share, 5, 1 << 40),
                dense.quantile(share, 5, 1 << 40),
            ];
            assert_eq!(found, expected, "{share}");
        }
        assert_eq!(sparse.buckets, dense.buckets().collect::<Vec<_>>());
    }
}
