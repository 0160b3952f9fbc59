//! The time during which at least one of many intervals was running: the length of their union.

/// Beyond so many intervals, the earlier half of a union is reduced to its length.
const MAX_INTERVALS: usize = 1 << 16;

/// A union of half-open intervals, which may be added in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IntervalUnion {
    /// In order; none touches the next.
    intervals: Vec<(u64, u64)>,
    /// The length of the union before `compacted_until`, where the intervals are forgotten.
    compacted_ns: u64,
    compacted_until: u64,
    /// The earliest start.
    start: Option<u64>,
}

impl IntervalUnion {
    /// The number of intervals in memory.
    pub(crate) fn len(&self) -> usize {
        self.intervals.len()
    }

    pub(crate) fn length_ns(&self) -> u64 {
        let lengths = self.intervals.iter().map(|(start, end)| end - start);
        self.compacted_ns + lengths.sum::<u64>()
    }

    /// The end of the latest interval; 0 without any.
    pub(crate) fn end(&self) -> u64 {
        let last = self.intervals.last().map(|(_, end)| *end);
        last.unwrap_or(self.compacted_until)
    }

    /// From the earliest start to the latest end.
    pub(crate) fn extent_ns(&self) -> u64 {
        self.start
            .map_or(0, |start| self.end().saturating_sub(start))
    }

    /// Adds an interval. Returns false if part of it lies in the forgotten time: that part is added
    /// as if it overlapped nothing.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> bool {
        let is_exact = start >= self.compacted_until;
        if start < end {
            self.start = Some(self.start.map_or(start, |first| first.min(start)));
        }
        if !is_exact {
            self.compacted_ns += end.min(self.compacted_until).saturating_sub(start);
        }
        let start = start.max(self.compacted_until);
        if start < end {
            self.insert(start, end);
        }
        if self.intervals.len() > MAX_INTERVALS {
            self.compact();
        }
        is_exact
    }

    fn insert(&mut self, start: u64, end: u64) {
        // Nearly always the interval is the latest.
        match self.intervals.last() {
            Some(&(_, last)) if start <= last => {}
            _ => return self.intervals.push((start, end)),
        }
        let from = self.intervals.partition_point(|&(_, known)| known < start);
        let to = self.intervals.partition_point(|&(known, _)| known <= end);
        let touched = self.intervals.get(from..to).unwrap_or_default();
        let whole = match (touched.first(), touched.last()) {
            (Some(first), Some(last)) => (start.min(first.0), end.max(last.1)),
            _ => (start, end),
        };
        if to == from + 1
            && let Some(interval) = self.intervals.get_mut(from)
        {
            *interval = whole;
            return;
        }
        self.intervals.splice(from..to, [whole]);
    }

    /// Adds another union. Returns false if an overlap with a forgotten part is unknown.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        if self.intervals.is_empty() {
            // With what it has forgotten: later intervals may overlap that.
            self.clone_from(other);
            return true;
        }
        let mut is_exact = other.compacted_ns == 0;
        self.compacted_ns += other.compacted_ns;
        self.start = self.start.into_iter().chain(other.start).min();
        for &(start, end) in &other.intervals {
            is_exact &= self.add(start, end);
        }
        is_exact
    }

    /// Reduces the earlier half of the intervals to its length.
    pub(crate) fn compact(&mut self) {
        let half = self.intervals.len() / 2;
        for (start, end) in self.intervals.drain(..half) {
            self.compacted_ns += end - start;
            self.compacted_until = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IntervalUnion, MAX_INTERVALS};

    /// Reference: the union's length, by marking each ns.
    fn by_marks(intervals: &[(u64, u64)]) -> u64 {
        let mut marks = vec![false; 4_096];
        for &(start, end) in intervals {
            (start..end).for_each(|ns| marks[ns as usize] = true);
        }
        marks.iter().filter(|mark| **mark).count() as u64
    }

    fn intervals(random: &mut fastrand::Rng) -> Vec<(u64, u64)> {
        let (count, longest) = (random.usize(0..60), random.u64(1..400));
        let interval = |_| {
            let start = random.u64(0..3_600);
            (start, start + random.u64(0..=longest))
        };
        (0..count).map(interval).collect()
    }

    fn union(intervals: &[(u64, u64)]) -> IntervalUnion {
        let mut union = IntervalUnion::default();
        for &(start, end) in intervals {
            assert!(union.add(start, end));
        }
        union
    }

    #[test]
    fn a_union_is_as_long_as_its_marks() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..4_000 {
            let (a, b) = (intervals(&mut random), intervals(&mut random));
            let mut whole = union(&a);
            assert_eq!(whole.length_ns(), by_marks(&a), "round {round}: {a:?}");
            assert!(whole.intervals.windows(2).all(|pair| pair[0].1 < pair[1].0));
            assert!(whole.merge(&union(&b)));
            let both = [a, b].concat();
            assert_eq!(
                whole.length_ns(),
                by_marks(&both),
                "round {round}: {both:?}"
            );
        }
    }

    #[test]
    fn compaction_bounds_the_memory_and_preserves_the_length() {
        let mut union = IntervalUnion::default();
        for index in 0..200_000 {
            assert!(union.add(index * 10, index * 10 + 4));
        }
        assert_eq!(union.length_ns(), 800_000);
        assert!(union.len() <= MAX_INTERVALS);
        // An interval in the forgotten time is added to the length, and reported.
        assert!(!union.add(0, 4));
        assert_eq!(union.length_ns(), 800_004);
        assert!(union.add(2_000_000, 2_000_001));
    }
}
