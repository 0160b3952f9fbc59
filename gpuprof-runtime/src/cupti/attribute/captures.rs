//! When streams were being captured, in CUPTI's time: what was launched then ran in no way yet, so nobody must wait for it.
//!
//! Must not import anything that calls CUPTI.

use std::collections::VecDeque;

use crate::cupti::collect::callback_ids::Purpose;
use crate::cupti::collect::record::Api;

/// Beginnings and ends that are kept.
const MOST: usize = 4_096;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// In order of time, at the same time beginnings first.
    marks: VecDeque<Mark>,
    /// Captures under way before the oldest mark.
    before: i64,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    time: u64,
    ends: bool,
    /// Captures under way from here on. Less than none: the beginning of one was not seen.
    depth: i64,
}

impl Captures {
    /// Takes note of a call that begins or ends a capture.
    pub(crate) fn note(&mut self, api: &Api) {
        match api.function.purpose() {
            Some(Purpose::BeginCapture) if !api.failed => self.add(api.start, false),
            Some(Purpose::EndCapture) => self.add(api.end, true),
            _ => {}
        }
    }

    fn add(&mut self, time: u64, ends: bool) {
        if self.marks.len() == MOST
            && let Some(oldest) = self.marks.pop_front()
        {
            self.before = oldest.depth;
        }
        let at = self.first_from(time, ends);
        let depth = self.depth_before(at);
        self.marks.insert(at, Mark { time, ends, depth });
        let change = if ends { -1 } else { 1 };
        // Nearly always it alone.
        let changed = self.marks.range_mut(at..);
        changed.for_each(|mark| mark.depth += change);
    }

    /// Whether any stream was being captured at `time`, as far as that is known.
    pub(crate) fn is_any_at(&self, time: u64) -> bool {
        // One that ends at that very moment was still under way.
        self.depth_before(self.first_from(time, true)) > 0
    }

    fn first_from(&self, time: u64, ends: bool) -> usize {
        self.marks
            .partition_point(|mark| (mark.time, mark.ends) < (time, ends))
    }

    fn depth_before(&self, at: usize) -> i64 {
        let last = at.checked_sub(1).and_then(|last| self.marks.get(last));
        last.map_or(self.before, |mark| mark.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::{Captures, MOST};

    #[test]
    fn a_capture_is_under_way_from_its_beginning_to_its_end() {
        let mut captures = Captures::default();
        captures.add(10, false);
        captures.add(20, true);
        let under_way = [9, 10, 15, 20, 21].map(|time| captures.is_any_at(time));
        assert_eq!(under_way, [false, true, true, true, false]);
    }

    #[test]
    fn it_is_the_same_as_counting_all_of_them_whatever_order_they_come_in() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..300 {
            let count = random.usize(0..40);
            let marks: Vec<(u64, bool)> = (0..count)
                .map(|_| (random.u64(0..50), random.bool()))
                .collect();
            let mut captures = Captures::default();
            marks
                .iter()
                .for_each(|(time, ends)| captures.add(*time, *ends));
            for time in 0..52 {
                let begun = marks.iter().filter(|(at, ends)| !ends && *at <= time);
                let ended = marks.iter().filter(|(at, ends)| *ends && *at < time);
                let expected = begun.count() > ended.count();
                assert_eq!(captures.is_any_at(time), expected, "{time}: {marks:?}");
            }
        }
    }

    #[test]
    fn one_that_goes_on_is_known_after_its_beginning_is_forgotten() {
        let mut captures = Captures::default();
        captures.add(5, false);
        for at in 1..=MOST as u64 {
            captures.add(at * 10, false);
            captures.add(at * 10 + 3, true);
        }
        assert_eq!(captures.marks.len(), MOST);
        assert!(captures.is_any_at(100), "of the forgotten");
        assert!(captures.is_any_at(MOST as u64 * 10 + 7));
        assert!(captures.is_any_at(u64::MAX));
    }
}
