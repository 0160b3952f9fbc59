//! Profiled calls for which activity records may still arrive, with the GPU activity of each,
//! nested calls included.
//!
//! Records arrive long after their call has ended, so ended calls stay open while there is room,
//! and longest those whose records are awaited.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::call_activity::{ActivityInterval, CallActivity};
use super::limits::{MAX_AWAITED_CALLS, MAX_ENDED_CALLS, MAX_RUNNING_CALLS, MAX_TOTAL_INTERVALS};
use crate::stats::profiled_call::EndedCall;

/// A call that was closed, and its activities in the window it ended in.
pub(crate) struct ClosedCall {
    pub(crate) ended: EndedCall,
    pub(crate) activity: CallActivity,
    /// What became of its activities in the enclosing call.
    pub(crate) merged: Added,
}

/// What became of an activity that was added to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    Exact,
    /// It may overlap others, which then count twice in busy times.
    Inexact,
    /// Its call or an enclosing one was forgotten, so it is missing from that one's busy time.
    Missing,
}

/// A call that is not closed.
#[derive(Clone, Debug, Default)]
struct CallAwaitingRecords {
    /// The window of `activity`.
    epoch: u32,
    activity: CallActivity,
    ended: Option<EndedCall>,
    /// CUDA calls and ended nested calls whose records are awaited.
    awaited: u32,
    /// The number of its latest change among those of all calls.
    latest_change: u64,
}

impl CallAwaitingRecords {
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
pub(crate) struct CallsAwaitingRecords {
    open: FxHashMap<u64, CallAwaitingRecords>,
    /// The latest ended calls that are open, in order: nested calls before their enclosing calls.
    ended: VecDeque<u64>,
    /// Earlier ended calls whose records are awaited, in order.
    awaited: VecDeque<u64>,
    total_intervals: usize,
    closed: FxHashMap<u64, EndedCall>,
    closed_order: VecDeque<u64>,
    changes: u64,
    /// Activities of running calls that were forgotten since the last
    /// [`take_forgotten`](Self::take_forgotten).
    forgotten: u64,
}

impl CallsAwaitingRecords {
    /// Adds a call that has not ended, unless it is known. `id` 0 is no call.
    pub(crate) fn add_running(&mut self, id: u64) {
        if id == 0 || self.open.contains_key(&id) || self.closed.contains_key(&id) {
            return;
        }
        let running = CallAwaitingRecords {
            latest_change: self.next_change(),
            ..CallAwaitingRecords::default()
        };
        self.open.insert(id, running);
        if self.running() > MAX_RUNNING_CALLS {
            self.forget_running();
        }
    }

    fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    fn running(&self) -> usize {
        let ended = self.ended.len() + self.awaited.len();
        self.open.len().saturating_sub(ended)
    }

    /// Forgets the running calls whose latest change is in the earlier half. Calls that never end
    /// are among them: their end was dropped, or their span leaked.
    fn forget_running(&mut self) {
        let running = self.open.values().filter(|open| open.ended.is_none());
        let mut changes: Vec<u64> = running.map(|open| open.latest_change).collect();
        let half = changes.len() / 2;
        let (_, median, _) = changes.select_nth_unstable(half);
        let median = *median;
        self.open.retain(|_, open| {
            let is_kept = open.ended.is_some() || open.latest_change >= median;
            if !is_kept {
                self.forgotten += open.activity.activities;
                self.total_intervals = self
                    .total_intervals
                    .saturating_sub(open.activity.busy.len());
            }
            is_kept
        });
    }

    /// Activities that are missing from busy times because their running calls were forgotten since
    /// the last call.
    pub(crate) fn take_forgotten(&mut self) -> u64 {
        std::mem::take(&mut self.forgotten)
    }

    /// Keeps an open call open until [`stop_awaiting`](Self::stop_awaiting), while there is room.
    pub(crate) fn await_records(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.awaited += 1;
        }
    }

    pub(crate) fn stop_awaiting(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.awaited = open.awaited.saturating_sub(1);
        }
    }

    /// Adds an activity to `call` or, if that is closed, to its innermost open enclosing call.
    /// `on_late` gets each closed call that should have included it.
    pub(crate) fn add(
        &mut self,
        call: u64,
        epoch: u32,
        interval: &ActivityInterval,
        on_late: impl FnMut(&EndedCall),
    ) -> Added {
        self.update_nearest(call, epoch, on_late, |activity| activity.add(interval))
    }

    /// Updates the activities in a window of `call` or, if that is closed, of its innermost open
    /// enclosing call. `update` returns whether the busy time is still exact.
    fn update_nearest(
        &mut self,
        call: u64,
        epoch: u32,
        mut on_late: impl FnMut(&EndedCall),
        update: impl FnOnce(&mut CallActivity) -> bool,
    ) -> Added {
        let mut id = call;
        while let Some(closed) = self.closed.get(&id) {
            if closed.epoch == epoch {
                on_late(closed);
            }
            id = closed.parent;
        }
        if id == 0 {
            return Added::Exact;
        }
        let change = self.next_change();
        let Some(open) = self.open.get_mut(&id) else {
            return Added::Missing;
        };
        open.latest_change = change;
        let before = open.activity.busy.len();
        let Some(activity) = open.activity_in(epoch) else {
            return Added::Exact;
        };
        let is_exact = update(activity);
        self.total_intervals = (self.total_intervals + activity.busy.len()).saturating_sub(before);
        if is_exact {
            Added::Exact
        } else {
            Added::Inexact
        }
    }

    pub(crate) fn end(&mut self, ended: EndedCall) {
        // The parent may have no CUDA call of its own, and gets the activities of this call.
        self.add_running(ended.parent);
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
        let has_ended = !self.ended.is_empty() || !self.awaited.is_empty();
        self.ended.len() > MAX_ENDED_CALLS
            || self.awaited.len() > MAX_AWAITED_CALLS
            || (self.total_intervals > MAX_TOTAL_INTERVALS && has_ended)
    }

    /// Closes the call that ended first, and adds its activities to the enclosing call. A call
    /// whose records are awaited is closed last.
    pub(crate) fn close_oldest(&mut self) -> Option<ClosedCall> {
        while self.awaited.len() <= MAX_AWAITED_CALLS
            && let Some(id) = self.ended.pop_front()
        {
            let open = self.open.get(&id).filter(|open| open.awaited > 0);
            let Some(ended) = open.and_then(|open| open.ended) else {
                return self.close(id);
            };
            self.awaited.push_back(id);
            self.await_records(ended.parent);
        }
        let id = self.awaited.pop_front()?;
        let closed = self.close(id)?;
        self.stop_awaiting(closed.ended.parent);
        Some(closed)
    }

    fn close(&mut self, id: u64) -> Option<ClosedCall> {
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
                merged: Added::Exact,
            });
        }
        let merged = match open.activity.activities {
            0 => Added::Exact,
            _ => self.merge_into_parent(&ended, &open),
        };
        Some(ClosedCall {
            ended,
            activity: open.activity,
            merged,
        })
    }

    /// Adds to the nearest enclosing call that is open: a parent may have ended first.
    fn merge_into_parent(&mut self, ended: &EndedCall, inner: &CallAwaitingRecords) -> Added {
        let merge = |activity: &mut CallActivity| activity.merge(&inner.activity);
        self.update_nearest(ended.parent, inner.epoch, |_| {}, merge)
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

    /// Reduces the busy times of running calls to their lengths, the largest first, if they take
    /// too much memory. Their overlap with later records is then unknown.
    pub(crate) fn compact(&mut self) {
        if self.total_intervals <= MAX_TOTAL_INTERVALS {
            return;
        }
        // The unions of at least half the mean size have at least half of all intervals.
        let large = self.total_intervals / self.open.len().max(1) / 2;
        self.total_intervals = 0;
        for CallAwaitingRecords { activity, .. } in self.open.values_mut() {
            if activity.busy.len() >= large {
                activity.busy.compact();
            }
            self.total_intervals += activity.busy.len();
        }
    }
}

#[cfg(test)]
mod tests;
