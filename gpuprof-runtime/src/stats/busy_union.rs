//! The union of the GPU spans of one device, which come in any order.

/// Segments that are remembered. Beyond that the older half is merged by twos, so that later spans
/// still find how much of a whole pair was busy, but not where.
const MAX_SEGMENTS: usize = 512;

/// Where a span is among the spans of the other streams of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanPlace {
    /// None of them was open meanwhile, and on its own stream only spans around it or nested in it.
    Alone,
    /// It started at `start_ns` of the clock of this number.
    At { clock: u32, start_ns: i64 },
    /// They may have been open meanwhile.
    Unknown,
}

/// The time during which at least one of the spans with a place was open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BusyUnion {
    clock: u32,
    /// In order of time, without a common part.
    segments: Vec<Segment>,
    /// Of spans whose places are by other clocks.
    elsewhere_ns: u64,
    /// Of some time it is not known whether it counts twice.
    is_upper_bound: bool,
}

/// The time from `start` to `end` of a clock, ns, of which `busy_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: i64,
    end: i64,
    busy_ns: u64,
}

impl BusyUnion {
    /// Adds a span of `ns` that started at `start_ns` of a clock. Clocks cannot be compared.
    pub(super) fn add(&mut self, clock: u32, start_ns: i64, ns: u64) {
        if self.clock != clock {
            self.leave_clock();
            self.clock = clock;
        }
        self.insert(Segment {
            start: start_ns,
            end: start_ns.saturating_add_unsigned(ns),
            busy_ns: ns,
        });
    }

    /// Adds the spans of another window.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.segments.is_empty() {
            self.clock = other.clock;
        }
        if self.clock == other.clock {
            other.segments.iter().for_each(|more| self.insert(*more));
            self.elsewhere_ns += other.elsewhere_ns;
        } else {
            self.elsewhere_ns += other.ns();
            self.is_upper_bound = true;
        }
        self.is_upper_bound |= other.is_upper_bound;
    }

    pub(super) fn ns(&self) -> u64 {
        let known = self.segments.iter().map(|segment| segment.busy_ns);
        self.elsewhere_ns + known.sum::<u64>()
    }

    pub(super) fn is_upper_bound(&self) -> bool {
        self.is_upper_bound
    }

    fn leave_clock(&mut self) {
        self.is_upper_bound |= !self.segments.is_empty();
        self.elsewhere_ns = self.ns();
        self.segments.clear();
    }

    fn insert(&mut self, new: Segment) {
        if new.busy_ns == 0 {
            return;
        }
        let from = self.segments.partition_point(|known| known.end < new.start);
        let to = self
            .segments
            .partition_point(|known| known.start <= new.end);
        let mut merged = new;
        for known in self.segments.drain(from..to) {
            let (again_ns, is_exact) = known.busy_in_both(&new);
            self.is_upper_bound |= !is_exact;
            merged.start = merged.start.min(known.start);
            merged.end = merged.end.max(known.end);
            merged.busy_ns += known.busy_ns.saturating_sub(again_ns);
        }
        self.segments.insert(from, merged);
        if self.segments.len() > MAX_SEGMENTS {
            self.merge_older();
        }
    }

    fn merge_older(&mut self) {
        let newer = self.segments.split_off(MAX_SEGMENTS / 2);
        let pairs = self.segments.chunks(2).filter_map(|pair| {
            let (first, last) = (pair.first()?, pair.last()?);
            Some(Segment {
                start: first.start,
                end: last.end,
                busy_ns: pair.iter().map(|segment| segment.busy_ns).sum(),
            })
        });
        self.segments = pairs.chain(newer).collect();
    }
}

impl Segment {
    /// The least time that is busy in both, and whether it is exactly that.
    fn busy_in_both(&self, other: &Self) -> (u64, bool) {
        let end = self.end.min(other.end);
        let common_ns = end
            .saturating_sub(self.start.max(other.start))
            .max(0)
            .unsigned_abs();
        let (mine, is_mine_exact) = self.busy_within(common_ns);
        let (its, is_its_exact) = other.busy_within(common_ns);
        let both_ns = (mine + its).saturating_sub(common_ns);
        let is_one_whole = mine == common_ns || its == common_ns;
        (both_ns, is_mine_exact && is_its_exact && is_one_whole)
    }

    /// The least time that is busy in a part of it, and whether it is exactly that.
    fn busy_within(&self, part_ns: u64) -> (u64, bool) {
        let length_ns = self.end.saturating_sub(self.start).unsigned_abs();
        let idle_ns = length_ns.saturating_sub(self.busy_ns);
        let is_exact = idle_ns == 0 || part_ns == 0 || part_ns == length_ns;
        (part_ns.saturating_sub(idle_ns), is_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::{BusyUnion, MAX_SEGMENTS};

    fn union(spans: &[(i64, i64)]) -> BusyUnion {
        let mut union = BusyUnion::default();
        for &(start, end) in spans {
            union.add(0, start, (end - start).unsigned_abs());
        }
        union
    }

    fn read(union: &BusyUnion) -> (u64, bool) {
        (union.ns(), union.is_upper_bound())
    }

    #[test]
    fn time_counts_once_in_whatever_order_spans_come() {
        for spans in [
            [(0, 10), (5, 20), (30, 40)],
            [(30, 40), (5, 20), (0, 10)],
            [(5, 20), (30, 40), (0, 10)],
            [(0, 20), (5, 7), (30, 40)],
            [(5, 7), (30, 40), (0, 20)],
            [(0, 10), (10, 20), (30, 40)],
        ] {
            assert_eq!(read(&union(&spans)), (30, false), "{spans:?}");
        }
        assert_eq!(read(&union(&[(-5, 5), (0, 0), (9, 9)])), (10, false));
        // Over gaps.
        let over = union(&[(0, 1), (4, 5), (8, 9), (-2, 20)]);
        assert_eq!(read(&over), (22, false));
        assert_eq!(over.segments.len(), 1);
    }

    /// More spans than are remembered, each 4 after 10.
    fn many() -> BusyUnion {
        let spans: Vec<_> = (0..20_000).map(|at| (at * 10, at * 10 + 4)).collect();
        union(&spans)
    }

    #[test]
    fn segments_are_bounded_and_a_span_around_all_of_them_is_exact() {
        let mut union = many();
        assert!(union.segments.len() <= MAX_SEGMENTS);
        assert_eq!(read(&union), (80_000, false));
        union.add(0, -10, 200_010);
        assert_eq!(read(&union), (200_010, false));
    }

    #[test]
    fn a_span_that_cuts_a_merged_segment_gives_an_upper_bound() {
        let mut union = many();
        // It begins where a span does and ends where one does; 600 of its 1,004 were idle.
        union.add(0, 50_000, 1_004);
        let (ns, is_upper_bound) = read(&union);
        assert!(is_upper_bound);
        assert!((80_600..=81_004).contains(&ns), "{ns}");
    }

    #[test]
    fn clocks_cannot_be_compared() {
        let mut union = union(&[(0, 10)]);
        union.add(1, 5, 10);
        assert_eq!(read(&union), (20, true));
    }

    #[test]
    fn windows_are_added() {
        let mut all = union(&[(0, 10)]);
        all.merge(&union(&[(5, 15)]));
        assert_eq!(read(&all), (15, false));
        let mut other = BusyUnion::default();
        other.add(1, 0, 10);
        all.merge(&other);
        assert_eq!(read(&all), (25, true));
        let mut fresh = BusyUnion::default();
        fresh.merge(&other);
        assert_eq!(read(&fresh), (10, false));
    }
}
