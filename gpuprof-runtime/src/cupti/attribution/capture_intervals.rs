//! Time intervals during which a stream was being captured. Launches inside them did not run, so no
//! activity is expected.

use std::collections::VecDeque;

use super::limits::MAX_CAPTURE_MARKS;
use crate::cupti::collect::callback_ids::CallPurpose;
use crate::cupti::collect::record::ApiRecord;

#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Beginnings and ends in order of time; beginnings first at the same time.
    marks: VecDeque<CaptureBoundary>,
    /// Captures open before the oldest mark.
    initial_depth: i64,
}

#[derive(Clone, Copy, Debug)]
struct CaptureBoundary {
    time: u64,
    is_end: bool,
    /// Captures open after this mark; negative if a beginning was not recorded.
    depth: i64,
}

impl Captures {
    /// Adds a CUDA call, if it begins or ends a capture.
    pub(crate) fn add_call(&mut self, api: &ApiRecord) {
        match api.function.purpose() {
            Some(CallPurpose::BeginCapture) if !api.failed => self.add(api.start, false),
            Some(CallPurpose::EndCapture) => self.add(api.end, true),
            _ => {}
        }
    }

    fn add(&mut self, time: u64, is_end: bool) {
        if self.marks.len() == MAX_CAPTURE_MARKS
            && let Some(oldest) = self.marks.pop_front()
        {
            self.initial_depth = oldest.depth;
        }
        let index = self.first_from(time, is_end);
        let depth = self.depth_before(index);
        let mark = CaptureBoundary {
            time,
            is_end,
            depth,
        };
        self.marks.insert(index, mark);
        let change = if is_end { -1 } else { 1 };
        // Nearly always only the new mark.
        let changed = self.marks.range_mut(index..);
        changed.for_each(|mark| mark.depth += change);
    }

    /// Whether any recorded capture was open at `time`.
    pub(crate) fn is_any_open_at(&self, time: u64) -> bool {
        // A capture that ends at `time` is still open then.
        self.depth_before(self.first_from(time, true)) > 0
    }

    fn first_from(&self, time: u64, is_end: bool) -> usize {
        self.marks
            .partition_point(|mark| (mark.time, mark.is_end) < (time, is_end))
    }

    fn depth_before(&self, index: usize) -> i64 {
        let last = index.checked_sub(1).and_then(|last| self.marks.get(last));
        last.map_or(self.initial_depth, |mark| mark.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::{Captures, MAX_CAPTURE_MARKS};

    #[test]
    fn a_capture_is_open_from_its_beginning_to_its_end() {
        let mut captures = Captures::default();
        captures.add(10, false);
        captures.add(20, true);
        let is_open = [9, 10, 15, 20, 21].map(|time| captures.is_any_open_at(time));
        assert_eq!(is_open, [false, true, true, true, false]);
    }

    #[test]
    fn any_order_gives_the_same_as_counting_all_marks() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..300 {
            let count = random.usize(0..40);
            let marks: Vec<(u64, bool)> = (0..count)
                .map(|_| (random.u64(0..50), random.bool()))
                .collect();
            let mut captures = Captures::default();
            marks
                .iter()
                .for_each(|(time, is_end)| captures.add(*time, *is_end));
            for time in 0..52 {
                let begun = marks.iter().filter(|(at, is_end)| !is_end && *at <= time);
                let ended = marks.iter().filter(|(at, is_end)| *is_end && *at < time);
                let expected = begun.count() > ended.count();
                assert_eq!(captures.is_any_open_at(time), expected, "{time}: {marks:?}");
            }
        }
    }

    #[test]
    fn an_open_capture_outlives_the_mark_of_its_beginning() {
        let mut captures = Captures::default();
        captures.add(5, false);
        for at in 1..=MAX_CAPTURE_MARKS as u64 {
            captures.add(at * 10, false);
            captures.add(at * 10 + 3, true);
        }
        assert_eq!(captures.marks.len(), MAX_CAPTURE_MARKS);
        assert!(captures.is_any_open_at(100), "before the oldest mark");
        assert!(captures.is_any_open_at(MAX_CAPTURE_MARKS as u64 * 10 + 7));
        assert!(captures.is_any_open_at(u64::MAX));
    }
}
