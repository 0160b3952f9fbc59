//! The columns of histogram buckets, one row for each.

use gpuprof_report::histogram::{BUCKETS_PER_OCTAVE, OCTAVES};
use gpuprof_report::profile::Bucket;

use super::columns::{Cell, FleetColumn, Row, column};

const LAST_BUCKET: u32 = (OCTAVES * BUCKETS_PER_OCTAVE - 1) as u32;

/// A bucket of a histogram.
#[derive(Clone, Copy, Debug)]
pub(super) struct InRange {
    pub(super) bucket: Bucket,
    /// Shortest and longest of all durations of the histogram, ns.
    pub(super) range: (u64, u64),
}

/// The columns that say which bucket a row is about.
pub(super) fn bucket_columns<'a, T, N>() -> Vec<FleetColumn<Row<'a, T, N, InRange>>> {
    vec![
        column(
            "bucket",
            "number of the bucket, 0 to 639",
            Cell::Number(|row| u64::from(row.in_range.bucket.index)),
        ),
        column(
            "low_ns",
            "shortest duration that it counts",
            Cell::Number(|row| *row.in_range.bucket.bounds_ns().start()),
        ),
        column(
            "high_ns",
            "longest duration that it counts; bucket 639 also counts all longer ones",
            Cell::Number(|row| *row.in_range.bucket.bounds_ns().end()),
        ),
        column(
            "middle_ns",
            "its middle, which stands for its durations in percentiles",
            Cell::Number(|row| {
                let (low, high) = row.in_range.bucket.bounds_ns().into_inner();
                low + (high - low) / 2
            }),
        ),
        column(
            "calls",
            "calls in it; under sampling a timed call counts once for each call that it stands for",
            Cell::Number(|row| row.in_range.bucket.count),
        ),
        column(
            "min_ns",
            "shortest of all durations of this histogram, not of this bucket alone",
            Cell::Number(|row| row.in_range.range.0),
        ),
        column(
            "max_ns",
            "longest of all durations of this histogram",
            Cell::Number(|row| row.in_range.range.1),
        ),
    ]
}

/// The buckets of a histogram that are not empty. `gpuprof merge` counts those of a hostile file in
/// the same way.
pub(super) fn filled(histogram: &[Bucket]) -> impl Iterator<Item = Bucket> + '_ {
    let filled = histogram.iter().filter(|bucket| bucket.count > 0);
    filled.map(|bucket| {
        let mut bucket = *bucket;
        bucket.index = bucket.index.min(LAST_BUCKET);
        bucket
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(buckets: impl IntoIterator<Item = Bucket>) -> Vec<(u32, u64)> {
        buckets.into_iter().map(Into::into).collect()
    }

    #[test]
    fn empty_buckets_are_omitted_and_the_last_one_counts_what_is_beyond() {
        let histogram = [(3, 0), (4, 2), (9_999, 5)].map(Bucket::from);
        assert_eq!(pairs(filled(&histogram)), [(4, 2), (639, 5)]);
    }
}
