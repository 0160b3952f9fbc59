//! The time during which at least one of many intervals was running: their union, never their sum.
//!
//! Plain arithmetic. Must not import anything of gpuprof's.

/// Intervals that one union keeps apart; past it the earlier half is only a sum from then on.
const MOST: usize = 1 << 16;

/// A union of half-open intervals that come in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Union {
    /// In order, none touching the next.
    apart: Vec<(u64, u64)>,
    /// Length of what is not kept apart any more, all of it before `floor`.
    summed_ns: u64,
    floor: u64,
}

impl Union {
    /// Intervals kept apart.
    pub(crate) fn len(&self) -> usize {
        self.apart.len()
    }

    /// Its length.
    pub(crate) fn ns(&self) -> u64 {
        let apart = self.apart.iter().map(|(start, end)| end - start);
        self.summed_ns + apart.sum::<u64>()
    }

    /// What is before this is only a sum.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// Its length within an interval; what is only a sum does not count.
    pub(crate) fn within(&self, start: u64, end: u64) -> u64 {
        let from = self.apart.partition_point(|&(_, known)| known <= start);
        let inside = self.apart.iter().skip(from);
        inside
            .take_while(|(known, _)| *known < end)
            .map(|&(from, to)| to.min(end).saturating_sub(from.max(start)))
            .sum()
    }

    /// Adds an interval. Returns whether its overlap with all others is known; else its early part was added as if it had
    /// none.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> bool {
        let is_known = start >= self.floor;
        if !is_known {
            self.summed_ns += end.min(self.floor).saturating_sub(start);
        }
        let start = start.max(self.floor);
        if start < end {
            self.insert(start, end);
        }
        if self.apart.len() > MOST {
            self.sum_up();
        }
        is_known
    }

    fn insert(&mut self, start: u64, end: u64) {
        // Nearly always the latest.
        match self.apart.last() {
            Some(&(_, last)) if start <= last => {}
            _ => return self.apart.push((start, end)),
        }
        let from = self.apart.partition_point(|&(_, known)| known < start);
        let to = self.apart.partition_point(|&(known, _)| known <= end);
        let touched = self.apart.get(from..to).unwrap_or_default();
        let whole = match (touched.first(), touched.last()) {
            (Some(first), Some(last)) => (start.min(first.0), end.max(last.1)),
            _ => (start, end),
        };
        if to == from + 1
            && let Some(one) = self.apart.get_mut(from)
        {
            *one = whole;
            return;
        }
        self.apart.splice(from..to, [whole]);
    }

    /// Adds another union; returns whether every overlap was known.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        let mut is_known = other.summed_ns == 0 || self.apart.is_empty();
        self.summed_ns += other.summed_ns;
        for &(start, end) in &other.apart {
            is_known &= self.add(start, end);
        }
        is_known
    }

    /// Keeps only the sum of the earlier half.
    pub(crate) fn sum_up(&mut self) {
        let half = self.apart.len() / 2;
        for (start, end) in self.apart.drain(..half) {
            self.summed_ns += end - start;
            self.floor = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Union;

    /// One mark for each ns.
    fn by_hand(intervals: &[(u64, u64)]) -> u64 {
        let mut marks = vec![false; 4_096];
        for &(start, end) in intervals {
            (start..end).for_each(|ns| marks[ns as usize] = true);
        }
        marks.iter().filter(|mark| **mark).count() as u64
    }

    fn intervals(random: &mut fastrand::Rng) -> Vec<(u64, u64)> {
        let (count, longest) = (random.usize(0..60), random.u64(1..400));
        let one = |_| {
            let start = random.u64(0..3_600);
            (start, start + random.u64(0..=longest))
        };
        (0..count).map(one).collect()
    }

    fn union(intervals: &[(u64, u64)]) -> Union {
        let mut union = Union::default();
        for &(start, end) in intervals {
            assert!(union.add(start, end));
        }
        union
    }

    #[test]
    fn a_union_is_as_long_as_its_marks_one_by_one() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..4_000 {
            let (a, b) = (intervals(&mut random), intervals(&mut random));
            let mut whole = union(&a);
            assert_eq!(whole.ns(), by_hand(&a), "round {round}: {a:?}");
            assert!(whole.apart.windows(2).all(|pair| pair[0].1 < pair[1].0));
            assert!(whole.merge(&union(&b)));
            let both = [a, b].concat();
            assert_eq!(whole.ns(), by_hand(&both), "round {round}: {both:?}");
            let (start, end) = (random.u64(0..4_000), 4_000);
            let cut = |&(from, to): &(u64, u64)| (from.clamp(start, end), to.clamp(start, end));
            let inside: Vec<_> = both.iter().map(cut).collect();
            assert_eq!(whole.within(start, end), by_hand(&inside), "round {round}");
        }
    }

    #[test]
    fn what_is_summed_up_stays_in_the_sum_and_bounds_the_memory() {
        let mut union = Union::default();
        for at in 0..200_000 {
            assert!(union.add(at * 10, at * 10 + 4));
        }
        assert_eq!(union.ns(), 800_000);
        assert!(union.len() <= super::MOST);
        // What comes for a time that is only a sum is added to it, and said.
        assert!(!union.add(0, 4));
        assert_eq!(union.ns(), 800_004);
        assert!(union.add(2_000_000, 2_000_001));
    }
}
