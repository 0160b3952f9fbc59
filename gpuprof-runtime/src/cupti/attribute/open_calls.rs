//! What each call of a profiled function had the GPU do, with the calls inside it, until the call is over and its records are in.
//!
//! Records come long after their call, so ended calls are kept open for as long as there is room. Must not import anything
//! that calls CUPTI.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::interval_union::Union;
use super::totals::Streams;
use crate::cupti::call_stack::Ended;

/// Ended calls that are kept open, and closed calls that are remembered for records that come too late.
const MOST_ENDED: usize = 1 << 16;
/// Intervals of all of them together: 16 MiB.
const MOST_INTERVALS: usize = 1 << 20;
/// A union of this many intervals or more has some to spare when there are too many.
const LARGE: usize = 1_024;
/// Rounds for which nothing came of a call that has not ended, after which it is taken for one that never will, where there
/// are more than [`MOST_ENDED`] of them.
const FORGOTTEN: u32 = 600;

/// One kernel, copy or memset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_kernel: bool,
    /// Context and stream.
    pub(crate) stream: (u32, u32),
    pub(crate) device: u32,
}

/// What a call and those inside it had the GPU do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    pub(crate) busy: Union,
    pub(crate) activities: u64,
    pub(crate) launches: u64,
    pub(crate) streams: Streams,
    /// One bit for each, the last one for all from there on.
    pub(crate) devices: u64,
}

impl Done {
    fn add(&mut self, run: &Run) -> bool {
        self.activities += 1;
        self.launches += u64::from(run.is_kernel);
        self.streams.add(run.stream);
        self.devices |= 1 << run.device.min(u64::BITS - 1);
        self.busy.add(run.start, run.end)
    }

    fn merge(&mut self, other: &Self) -> bool {
        self.activities += other.activities;
        self.launches += other.launches;
        self.streams.merge(&other.streams);
        self.devices |= other.devices;
        self.busy.merge(&other.busy)
    }
}

/// A call that is not closed.
#[derive(Clone, Debug, Default)]
struct Open {
    /// The window that `done` is of.
    epoch: u32,
    done: Done,
    ended: Option<Ended>,
    touched: u32,
}

impl Open {
    /// Makes it ready for what ran in this window; `None` where it has something of a later one.
    fn of(&mut self, epoch: u32) -> Option<&mut Done> {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.done = Done::default();
        }
        (epoch == self.epoch).then_some(&mut self.done)
    }
}

/// All calls of which something may still come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    open: FxHashMap<u64, Open>,
    /// Those of `open` that have ended, in this order: inner ones before the ones around them.
    ended: VecDeque<u64>,
    intervals: usize,
    closed: FxHashMap<u64, Ended>,
    closed_order: VecDeque<u64>,
    pub(crate) round: u32,
}

impl Calls {
    /// Adds what ran for a call; returns whether all that it overlaps in an open call is known. `too_late` gets each closed call
    /// that it should have been in.
    pub(crate) fn add(
        &mut self,
        call: u64,
        epoch: u32,
        run: &Run,
        mut too_late: impl FnMut(&Ended),
    ) -> bool {
        let mut at = call;
        while let Some(closed) = self.closed.get(&at) {
            if closed.epoch == epoch {
                too_late(closed);
            }
            at = closed.parent;
        }
        if at == 0 {
            return true;
        }
        let open = self.open.entry(at).or_default();
        open.touched = self.round;
        open.of(epoch).is_none_or(|done| {
            let before = done.busy.len();
            let is_known = done.add(run);
            self.intervals = (self.intervals + done.busy.len()).saturating_sub(before);
            is_known
        })
    }

    pub(crate) fn ended(&mut self, ended: Ended) {
        let open = self.open.entry(ended.call).or_default();
        open.ended = Some(ended);
        self.ended.push_back(ended.call);
    }

    /// Whether a call ended while its stream was being captured.
    pub(crate) fn is_captured(&self, call: u64) -> bool {
        let open = self.open.get(&call).and_then(|open| open.ended.as_ref());
        open.or_else(|| self.closed.get(&call))
            .is_some_and(|ended| ended.captured)
    }

    /// Whether the oldest ended call has to be closed.
    pub(crate) fn is_full(&self) -> bool {
        self.ended.len() > MOST_ENDED || (self.intervals > MOST_INTERVALS && !self.ended.is_empty())
    }

    /// Closes the call that ended first, and hands what it did on to the call around it. Returns as well whether all that it
    /// overlaps there is known.
    pub(crate) fn close_oldest(&mut self) -> Option<(Ended, Done, bool)> {
        let call = self.ended.pop_front()?;
        let open = self.open.remove(&call)?;
        self.intervals = self.intervals.saturating_sub(open.done.busy.len());
        let ended = open.ended?;
        self.remember(ended);
        let of_window = open.epoch == ended.epoch;
        let is_known = !of_window || open.done.activities == 0 || self.hand_on(ended.parent, &open);
        let done = if of_window {
            open.done
        } else {
            Done::default()
        };
        Some((ended, done, is_known))
    }

    fn hand_on(&mut self, parent: u64, inner: &Open) -> bool {
        // One that outlived the call around it hands on to whatever is around that.
        let mut parent = parent;
        while let Some(closed) = self.closed.get(&parent) {
            parent = closed.parent;
        }
        if parent == 0 {
            return true;
        }
        let outer = self.open.entry(parent).or_default();
        outer.touched = self.round;
        outer.of(inner.epoch).is_none_or(|done| {
            let before = done.busy.len();
            let is_known = done.merge(&inner.done);
            self.intervals = (self.intervals + done.busy.len()).saturating_sub(before);
            is_known
        })
    }

    fn remember(&mut self, ended: Ended) {
        if self.closed_order.len() == MOST_ENDED
            && let Some(oldest) = self.closed_order.pop_front()
        {
            self.closed.remove(&oldest);
        }
        self.closed.insert(ended.call, ended);
        self.closed_order.push_back(ended.call);
    }

    /// Keeps what has not ended within its bounds, once a round.
    pub(crate) fn tidy(&mut self) {
        self.round += 1;
        if self.intervals > MOST_INTERVALS {
            let large = |open: &&mut Open| open.done.busy.len() >= LARGE;
            self.open
                .values_mut()
                .filter(large)
                .for_each(|open| open.done.busy.sum_up());
            self.intervals = self.open.values().map(|open| open.done.busy.len()).sum();
        }
        if self.open.len() - self.ended.len().min(self.open.len()) > MOST_ENDED {
            let round = self.round;
            self.open
                .retain(|_, open| open.ended.is_some() || round - open.touched < FORGOTTEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, Done, Ended, MOST_ENDED, Run};

    fn run(start: u64, end: u64) -> Run {
        Run {
            start,
            end,
            is_kernel: true,
            stream: (1, 7),
            device: 0,
        }
    }

    fn ended(call: u64, parent: u64) -> Ended {
        Ended {
            call,
            parent,
            outermost: true,
            timed: true,
            captured: false,
            cpu_ns: 1,
            first: false,
            epoch: 1,
        }
    }

    fn close_all(calls: &mut Calls) -> Vec<(u64, u64, u64)> {
        let close = || calls.close_oldest();
        std::iter::from_fn(close)
            .map(|(ended, done, _): (Ended, Done, bool)| {
                (ended.call, done.busy.ns(), done.activities)
            })
            .collect()
    }

    fn no_late(_: &Ended) {
        panic!("nothing is late");
    }

    #[test]
    fn a_call_has_the_union_of_its_own_and_of_the_calls_inside() {
        let mut calls = Calls::default();
        calls.add(1, 1, &run(0, 10), no_late);
        calls.add(2, 1, &run(5, 20), no_late);
        calls.ended(ended(2, 1));
        calls.add(3, 1, &run(15, 40), no_late);
        calls.ended(ended(3, 1));
        calls.ended(ended(1, 0));
        calls.add(3, 1, &run(60, 70), no_late);
        let closed = close_all(&mut calls);
        assert_eq!(closed, [(2, 15, 1), (3, 35, 2), (1, 50, 4)]);
    }

    #[test]
    fn a_call_keeps_only_what_ran_in_the_window_it_ended_in() {
        let mut calls = Calls::default();
        calls.add(1, 1, &run(0, 10), no_late);
        calls.add(1, 2, &run(100, 103), no_late);
        calls.add(1, 1, &run(20, 30), no_late);
        calls.ended(Ended {
            epoch: 2,
            ..ended(1, 0)
        });
        calls.add(5, 1, &run(0, 10), no_late);
        calls.ended(Ended {
            epoch: 2,
            ..ended(5, 0)
        });
        assert_eq!(close_all(&mut calls), [(1, 3, 1), (5, 0, 0)]);
    }

    #[test]
    fn what_comes_for_a_closed_call_is_late_there_and_counts_in_the_open_one_around() {
        let mut calls = Calls::default();
        calls.ended(ended(2, 1));
        assert_eq!(close_all(&mut calls), [(2, 0, 0)]);
        let mut late = Vec::new();
        calls.add(2, 1, &run(0, 10), |closed| late.push(closed.call));
        assert_eq!(late, [2]);
        calls.ended(ended(1, 0));
        assert_eq!(close_all(&mut calls), [(1, 10, 1)]);
    }

    #[test]
    fn where_a_call_has_only_a_sum_left_it_is_told() {
        let mut calls = Calls::default();
        // One more than a union keeps apart.
        for at in 1..=(1 << 16) + 1 {
            assert!(calls.add(1, 1, &run(at * 10, at * 10 + 4), no_late));
        }
        assert!(!calls.add(1, 1, &run(12, 13), no_late));
        // Of a call inside as well, when that is closed.
        assert!(calls.add(2, 1, &run(12, 13), no_late));
        calls.ended(ended(2, 1));
        calls.ended(ended(1, 0));
        let known: Vec<_> = std::iter::from_fn(|| calls.close_oldest())
            .map(|(ended, _, is_known)| (ended.call, is_known))
            .collect();
        assert_eq!(known, [(2, false), (1, true)]);
    }

    #[test]
    fn it_is_full_in_time() {
        let mut calls = Calls::default();
        for call in 1..=MOST_ENDED as u64 {
            calls.ended(ended(call, 0));
        }
        assert!(!calls.is_full());
        calls.ended(ended(u64::MAX, 0));
        assert!(calls.is_full());
    }
}
