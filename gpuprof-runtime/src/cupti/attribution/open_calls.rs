//! Profiled calls for which activity records may still arrive, with the GPU activity of each,
//! nested calls included.
//!
//! Records arrive long after their call has ended, so ended calls stay open while there is room.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::interval_union::IntervalUnion;
use super::row_totals::StreamIds;
use crate::cupti::call_stack::EndedCall;
use crate::cupti::collect::record::Activity;

/// Limit of ended calls that stay open, and of closed calls that are remembered for late records.
const MAX_ENDED_CALLS: usize = 1 << 16;
/// Limit of the intervals of all open calls together: 16 MiB.
const MAX_TOTAL_INTERVALS: usize = 1 << 20;
/// A union of this size is compacted if there are too many intervals.
const LARGE_UNION: usize = 1_024;
/// With more running calls than [`MAX_ENDED_CALLS`], a call without activity for this many rounds
/// is dropped. A round is one flush of CUPTI's buffers by the reader.
const FORGET_AFTER_ROUNDS: u32 = 600;

/// When and where a kernel, copy or memset ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivityInterval {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_kernel: bool,
    /// Context and stream number.
    pub(crate) stream: (u32, u32),
    pub(crate) device: u32,
}

impl From<&Activity> for ActivityInterval {
    fn from(activity: &Activity) -> Self {
        let span = activity.span();
        Self {
            start: span.start,
            end: span.end,
            is_kernel: matches!(activity, Activity::Kernel(_)),
            stream: (span.context, span.stream),
            device: span.device,
        }
    }
}

/// The GPU activity of a call and its nested calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallActivity {
    pub(crate) busy: IntervalUnion,
    pub(crate) activities: u64,
    pub(crate) launches: u64,
    pub(crate) streams: StreamIds,
    /// Bit n is device n; bit 63 stands for every device from ordinal 63 up.
    pub(crate) devices: u64,
}

impl CallActivity {
    /// Returns whether the busy time is still exact.
    pub(crate) fn add(&mut self, interval: &ActivityInterval) -> bool {
        self.activities += 1;
        self.launches += u64::from(interval.is_kernel);
        self.streams.add(interval.stream);
        self.devices |= 1 << interval.device.min(u64::BITS - 1);
        self.busy.add(interval.start, interval.end)
    }

    /// Returns whether the busy time is still exact.
    fn merge(&mut self, other: &Self) -> bool {
        self.activities += other.activities;
        self.launches += other.launches;
        self.streams.merge(&other.streams);
        self.devices |= other.devices;
        self.busy.merge(&other.busy)
    }
}

/// A call that was closed, and its activities in the window it ended in.
pub(crate) struct ClosedCall {
    pub(crate) ended: EndedCall,
    pub(crate) activity: CallActivity,
    /// Whether the parent's busy time is still exact after this call's was merged into it.
    pub(crate) is_exact: bool,
}

/// A call that is not closed.
#[derive(Clone, Debug, Default)]
struct OpenCall {
    /// The window of `activity`.
    epoch: u32,
    activity: CallActivity,
    ended: Option<EndedCall>,
    latest_round: u32,
}

impl OpenCall {
    /// The activities in this window; `None` if the call already has some of a later window.
    fn activity_in(&mut self, epoch: u32) -> Option<&mut CallActivity> {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.activity = CallActivity::default();
        }
        (epoch == self.epoch).then_some(&mut self.activity)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OpenCalls {
    open: FxHashMap<u64, OpenCall>,
    /// The open calls that have ended, in order: nested calls before their enclosing calls.
    ended: VecDeque<u64>,
    total_intervals: usize,
    closed: FxHashMap<u64, EndedCall>,
    closed_order: VecDeque<u64>,
    round: u32,
}

impl OpenCalls {
    /// Adds an activity to `call` or, if that is closed, to its innermost open enclosing call;
    /// returns whether that call's busy time is still exact. `on_late` gets each closed call that
    /// should have included it.
    pub(crate) fn add(
        &mut self,
        call: u64,
        epoch: u32,
        interval: &ActivityInterval,
        mut on_late: impl FnMut(&EndedCall),
    ) -> bool {
        let mut id = call;
        while let Some(closed) = self.closed.get(&id) {
            if closed.epoch == epoch {
                on_late(closed);
            }
            id = closed.parent;
        }
        if id == 0 {
            return true;
        }
        self.update(id, epoch, |activity| activity.add(interval))
    }

    /// Updates an open call's activities in a window; returns whether its busy time is still exact.
    fn update(
        &mut self,
        id: u64,
        epoch: u32,
        update: impl FnOnce(&mut CallActivity) -> bool,
    ) -> bool {
        let open = self.open.entry(id).or_default();
        open.latest_round = self.round;
        open.activity_in(epoch).is_none_or(|activity| {
            let before = activity.busy.len();
            let is_exact = update(activity);
            self.total_intervals =
                (self.total_intervals + activity.busy.len()).saturating_sub(before);
            is_exact
        })
    }

    pub(crate) fn end(&mut self, ended: EndedCall) {
        let open = self.open.entry(ended.id).or_default();
        open.ended = Some(ended);
        self.ended.push_back(ended.id);
    }

    /// Whether a call ended while its stream was being captured.
    pub(crate) fn is_captured(&self, call: u64) -> bool {
        let open = self.open.get(&call).and_then(|open| open.ended.as_ref());
        open.or_else(|| self.closed.get(&call))
            .is_some_and(|ended| ended.is_captured)
    }

    /// Whether the oldest ended call must be closed to make room.
    pub(crate) fn is_full(&self) -> bool {
        self.ended.len() > MAX_ENDED_CALLS
            || (self.total_intervals > MAX_TOTAL_INTERVALS && !self.ended.is_empty())
    }

    /// Closes the call that ended first, and adds its activities to the enclosing call.
    pub(crate) fn close_oldest(&mut self) -> Option<ClosedCall> {
        let id = self.ended.pop_front()?;
        let open = self.open.remove(&id)?;
        self.total_intervals = self
            .total_intervals
            .saturating_sub(open.activity.busy.len());
        let ended = open.ended?;
        self.remember(ended);
        if open.epoch != ended.epoch {
            // The activities belong to an earlier window than the call.
            return Some(ClosedCall {
                ended,
                activity: CallActivity::default(),
                is_exact: true,
            });
        }
        let is_exact = open.activity.activities == 0 || self.merge_into_parent(&ended, &open);
        Some(ClosedCall {
            ended,
            activity: open.activity,
            is_exact,
        })
    }

    fn merge_into_parent(&mut self, ended: &EndedCall, inner: &OpenCall) -> bool {
        // A parent that ended first is closed already; then its own parent is the nearest.
        let mut parent = ended.parent;
        while let Some(closed) = self.closed.get(&parent) {
            parent = closed.parent;
        }
        if parent == 0 {
            return true;
        }
        self.update(parent, inner.epoch, |activity| {
            activity.merge(&inner.activity)
        })
    }

    fn remember(&mut self, ended: EndedCall) {
        if self.closed_order.len() == MAX_ENDED_CALLS
            && let Some(oldest) = self.closed_order.pop_front()
        {
            self.closed.remove(&oldest);
        }
        self.closed.insert(ended.id, ended);
        self.closed_order.push_back(ended.id);
    }

    /// Starts a round, and enforces the limits on running calls.
    pub(crate) fn next_round(&mut self) {
        self.round += 1;
        if self.total_intervals > MAX_TOTAL_INTERVALS {
            self.total_intervals = 0;
            for OpenCall { activity, .. } in self.open.values_mut() {
                if activity.busy.len() >= LARGE_UNION {
                    activity.busy.compact();
                }
                self.total_intervals += activity.busy.len();
            }
        }
        let running = self.open.len().saturating_sub(self.ended.len());
        if running > MAX_ENDED_CALLS {
            let round = self.round;
            self.open.retain(|_, open| {
                open.ended.is_some() || round - open.latest_round < FORGET_AFTER_ROUNDS
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ActivityInterval, EndedCall, MAX_ENDED_CALLS, OpenCalls};

    fn interval(start: u64, end: u64) -> ActivityInterval {
        ActivityInterval {
            start,
            end,
            is_kernel: true,
            stream: (1, 7),
            device: 0,
        }
    }

    fn ended(id: u64, parent: u64) -> EndedCall {
        EndedCall {
            id,
            path: 0,
            parent,
            is_outermost: true,
            is_timed: true,
            is_captured: false,
            cpu_ns: 1,
            is_first: false,
            epoch: 1,
        }
    }

    fn close_all(calls: &mut OpenCalls) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| calls.close_oldest())
            .map(|closed| {
                let activity = &closed.activity;
                let busy_ns = activity.busy.length_ns();
                (closed.ended.id, busy_ns, activity.activities)
            })
            .collect()
    }

    fn no_late(_: &EndedCall) {
        panic!("nothing is late");
    }

    #[test]
    fn busy_time_is_the_union_over_a_call_and_its_nested_calls() {
        let mut calls = OpenCalls::default();
        calls.add(1, 1, &interval(0, 10), no_late);
        calls.add(2, 1, &interval(5, 20), no_late);
        calls.end(ended(2, 1));
        calls.add(3, 1, &interval(15, 40), no_late);
        calls.end(ended(3, 1));
        calls.end(ended(1, 0));
        calls.add(3, 1, &interval(60, 70), no_late);
        let closed = close_all(&mut calls);
        assert_eq!(closed, [(2, 15, 1), (3, 35, 2), (1, 50, 4)]);
    }

    #[test]
    fn only_activities_from_the_final_window_of_a_call_are_counted() {
        let mut calls = OpenCalls::default();
        calls.add(1, 1, &interval(0, 10), no_late);
        calls.add(1, 2, &interval(100, 103), no_late);
        calls.add(1, 1, &interval(20, 30), no_late);
        calls.end(EndedCall {
            epoch: 2,
            ..ended(1, 0)
        });
        calls.add(5, 1, &interval(0, 10), no_late);
        calls.end(EndedCall {
            epoch: 2,
            ..ended(5, 0)
        });
        assert_eq!(close_all(&mut calls), [(1, 3, 1), (5, 0, 0)]);
    }

    #[test]
    fn an_activity_of_a_closed_call_is_late_and_counts_in_the_open_parent() {
        let mut calls = OpenCalls::default();
        calls.end(ended(2, 1));
        assert_eq!(close_all(&mut calls), [(2, 0, 0)]);
        let mut late = Vec::new();
        calls.add(2, 1, &interval(0, 10), |closed| late.push(closed.id));
        assert_eq!(late, [2]);
        calls.end(ended(1, 0));
        assert_eq!(close_all(&mut calls), [(1, 10, 1)]);
    }

    #[test]
    fn an_inexact_busy_time_is_reported() {
        let mut calls = OpenCalls::default();
        // One more than the limit of a union.
        for index in 1..=(1 << 16) + 1 {
            let interval = interval(index * 10, index * 10 + 4);
            assert!(calls.add(1, 1, &interval, no_late));
        }
        assert!(!calls.add(1, 1, &interval(12, 13), no_late));
        // Also for a nested call, when that is closed.
        assert!(calls.add(2, 1, &interval(12, 13), no_late));
        calls.end(ended(2, 1));
        calls.end(ended(1, 0));
        let exact: Vec<_> = std::iter::from_fn(|| calls.close_oldest())
            .map(|closed| (closed.ended.id, closed.is_exact))
            .collect();
        assert_eq!(exact, [(2, false), (1, true)]);
    }

    #[test]
    fn ended_calls_are_bounded() {
        let mut calls = OpenCalls::default();
        for call in 1..=MAX_ENDED_CALLS as u64 {
            calls.end(ended(call, 0));
        }
        assert!(!calls.is_full());
        calls.end(ended(u64::MAX, 0));
        assert!(calls.is_full());
    }
}
