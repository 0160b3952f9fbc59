//! The measuring windows in CUPTI's time, and what each of them measured.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::activity_path::{Cause, ClosedNs};
use super::call_activity::ActivityInterval;
use super::calls_awaiting_records::{Added, CallsAwaitingRecords, ClosedCall};
use super::limits::MAX_WINDOW_CHANGES;
use super::row_keys::KernelKey;
use super::window_tables::WindowTables;
use crate::cupti::collect::record::{ActivityRecord, ActivitySpan};
use crate::stats::by_window::{ByWindow, Since};
use crate::stats::profiled_call::{EndedCall, site_of};

/// Which window was open when. Its lock is held for as long as it takes to find or add an entry: a
/// CUDA call of the program's may change it.
#[derive(Debug, Default)]
pub(crate) struct WindowHistory {
    /// In order of time.
    changes: Mutex<VecDeque<WindowChange>>,
}

#[derive(Clone, Copy, Debug)]
struct WindowChange {
    since: u64,
    /// `None`: no window was open from then on, or it was paused.
    epoch: Option<u32>,
    /// For how long no window was open before `since`.
    closed_ns: u64,
}

impl WindowChange {
    fn closed_ns_until(&self, time: u64) -> u64 {
        match self.epoch {
            Some(_) => self.closed_ns,
            None => self.closed_ns + time.saturating_sub(self.since),
        }
    }
}

impl WindowHistory {
    /// From `now` on the window `epoch` is open, or none.
    pub(crate) fn change(&self, now: u64, epoch: Option<u32>) {
        let mut changes = self.changes.lock();
        let last = changes.back().copied();
        if last.and_then(|last| last.epoch) == epoch {
            return;
        }
        if changes.len() == MAX_WINDOW_CHANGES {
            changes.pop_front();
        }
        // Another thread may have read the clock later and come here first.
        let since = last.map_or(now, |last| now.max(last.since));
        changes.push_back(WindowChange {
            since,
            epoch,
            closed_ns: last.map_or(0, |last| last.closed_ns_until(since)),
        });
    }

    /// The window that was open at `time`.
    pub(crate) fn window_at(&self, time: u64) -> Option<u32> {
        self.change_at(time)?.epoch
    }

    /// For how long no window was open until an activity's times.
    pub(crate) fn closed_ns(&self, launched_at: u64, span: &ActivitySpan) -> ClosedNs {
        let [at_launch, at_start, at_end] =
            [launched_at, span.start, span.end].map(|time| self.closed_ns_until(time));
        ClosedNs {
            at_launch,
            at_start,
            at_end,
        }
    }

    fn closed_ns_until(&self, time: u64) -> u64 {
        let change = self.change_at(time);
        change.map_or(0, |change| change.closed_ns_until(time))
    }

    /// The cause of an activity without a known CUDA call.
    pub(crate) fn unattributed(&self, span: &ActivitySpan) -> Cause {
        Cause {
            closed: self.closed_ns(span.start, span),
            ..Cause::UNATTRIBUTED
        }
    }

    fn change_at(&self, time: u64) -> Option<WindowChange> {
        let changes = self.changes.lock();
        let after = changes.partition_point(|change| change.since <= time);
        changes.get(after.checked_sub(1)?).copied()
    }
}

/// The tables by window, and the open calls.
#[derive(Debug, Default)]
pub(crate) struct RecordedWindows {
    pub(super) tables: ByWindow<WindowTables>,
    pub(crate) calls: CallsAwaitingRecords,
}

impl RecordedWindows {
    fn close_oldest(&mut self) -> bool {
        let Some(closed) = self.calls.close_oldest() else {
            return false;
        };
        let ClosedCall {
            ended,
            activity,
            merged,
        } = closed;
        if let Some(tables) = self.tables.get_mut(ended.epoch) {
            tables.add_call(&ended, &activity);
            tables.count_inexact(merged, activity.activities);
        }
        true
    }

    pub(crate) fn end_call(&mut self, ended: EndedCall) {
        self.calls.end(ended);
        self.enforce_limits();
    }

    /// Adds an activity to the window `epoch`; returns the row of a kernel.
    pub(crate) fn add(
        &mut self,
        epoch: u32,
        cause: Cause,
        activity: &ActivityRecord,
        symbol: Option<u32>,
    ) -> Option<KernelKey> {
        let tables = self.tables.get_mut(epoch)?;
        let key = match activity {
            ActivityRecord::Kernel(kernel) => Some(tables.add_kernel(cause, symbol, kernel)),
            ActivityRecord::Copy(copy) => {
                tables.add_copy(cause, copy);
                None
            }
        };
        if cause.call != 0 {
            self.add_to_calls(epoch, cause.call, activity);
        }
        key
    }

    fn add_to_calls(&mut self, epoch: u32, call: u64, activity: &ActivityRecord) {
        let interval = ActivityInterval::from(activity);
        let mut closed = Vec::new();
        let added = self
            .calls
            .add(call, epoch, &interval, |ended| closed.push(*ended));
        if (added, closed.is_empty()) != (Added::Exact, true)
            && let Some(tables) = self.tables.get_mut(epoch)
        {
            for ended in &closed {
                tables.add_late(ended, &interval);
            }
            let is_late = added == Added::Exact && !closed.is_empty();
            tables.count_inexact(if is_late { Added::Inexact } else { added }, 1);
        }
        self.enforce_limits();
    }

    fn enforce_limits(&mut self) {
        while self.calls.is_full() && self.close_oldest() {}
        self.calls.compact();
        let forgotten = self.calls.take_forgotten();
        if let Some(tables) = self.tables.current_mut() {
            tables.completeness.records_without_call += forgotten;
        }
    }

    /// Closes every call that has ended.
    pub(crate) fn close_all(&mut self) {
        while self.close_oldest() {}
    }

    /// A copy with what counts in a sum.
    pub(crate) fn copy(&self, since: Since) -> Self {
        Self {
            tables: self.tables.copy(since),
            calls: self.calls.clone(),
        }
    }

    /// What all windows measured.
    pub(crate) fn into_sum(mut self) -> WindowTables {
        self.close_all();
        self.tables.into_sum()
    }
}

/// The site of a call; `None` for CUDA calls outside any.
pub(crate) fn site_of_call(call: u64) -> Option<u32> {
    (call != 0).then(|| site_of(call))
}

#[cfg(test)]
mod tests {
    use super::{MAX_WINDOW_CHANGES, WindowHistory};

    #[test]
    fn a_launch_belongs_to_the_window_that_was_open() {
        let windows = WindowHistory::default();
        windows.change(5, None);
        windows.change(10, Some(1));
        windows.change(20, Some(2));
        windows.change(25, Some(2));
        windows.change(30, None);
        windows.change(40, Some(3));
        let found = [9, 10, 19, 20, 29, 30, 39, 40, 99].map(|time| windows.window_at(time));
        let (one, two, three) = (Some(1), Some(2), Some(3));
        assert_eq!(found, [None, one, one, two, two, None, None, three, three]);
    }

    #[test]
    fn the_oldest_changes_are_forgotten() {
        let windows = WindowHistory::default();
        let last = MAX_WINDOW_CHANGES as u64 + 5;
        for change in 0..=last {
            windows.change(change * 10, Some(change as u32));
        }
        assert_eq!(windows.window_at(last * 10), Some(last as u32));
        assert_eq!(windows.window_at(15), None);
        assert_eq!(windows.changes.lock().len(), MAX_WINDOW_CHANGES);
    }

    #[test]
    fn the_time_without_a_window_is_summed_up() {
        let windows = WindowHistory::default();
        windows.change(10, Some(2));
        windows.change(20, None);
        windows.change(50, Some(2));
        windows.change(60, None);
        // Its thread read the clock before that of the change before.
        windows.change(55, Some(2));
        let found = [5, 15, 20, 30, 50, 59, 60, 99].map(|time| windows.closed_ns_until(time));
        assert_eq!(found, [0, 0, 0, 10, 30, 30, 30, 30]);
        assert_eq!(windows.window_at(60), Some(2));
    }
}
