//! The measuring windows in CUPTI's time, and what each of them measured.

use std::collections::VecDeque;

use super::activity_path::Cause;
use super::call_activity::ActivityInterval;
use super::calls_awaiting_records::{Added, CallsAwaitingRecords, ClosedCall};
use super::limits::MAX_WINDOW_CHANGES;
use super::row_keys::KernelKey;
use super::window_tables::WindowTables;
use crate::cupti::collect::record::ActivityRecord;
use crate::stats::by_window::{ByWindow, Since};
use crate::stats::profiled_call::{EndedCall, site_of};

/// Which window was open when.
#[derive(Debug, Default)]
pub(crate) struct WindowHistory {
    /// In order of time; `None`: no window was open from then on.
    changes: VecDeque<(u64, Option<u32>)>,
}

impl WindowHistory {
    /// From `now` on the window `epoch` is open, or none.
    pub(crate) fn change(&mut self, now: u64, epoch: Option<u32>) {
        let current = self.changes.back().and_then(|(_, epoch)| *epoch);
        if current == epoch {
            return;
        }
        if self.changes.len() == MAX_WINDOW_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back((now, epoch));
    }

    /// The window that was open at `time`.
    pub(crate) fn window_at(&self, time: u64) -> Option<u32> {
        let mut changes = self.changes.iter().rev();
        changes.find(|(since, _)| *since <= time)?.1
    }
}

/// The tables by window, and the open calls.
#[derive(Debug, Default)]
pub(crate) struct RecordedWindows {
    tables: ByWindow<WindowTables>,
    pub(crate) calls: CallsAwaitingRecords,
}

impl RecordedWindows {
    /// The tables of a window; `None` if its records are discarded.
    pub(crate) fn tables(&mut self, epoch: u32) -> Option<&mut WindowTables> {
        self.tables.get_mut(epoch)
    }

    /// Those of the current window; `None` if it is discarded.
    pub(crate) fn current_tables(&mut self) -> Option<&mut WindowTables> {
        self.tables.current_mut()
    }

    /// Whether records of the current window count once the next has begun.
    pub(crate) fn keeps_current(&self) -> bool {
        self.tables.keeps_current()
    }

    fn close_oldest(&mut self) -> bool {
        let Some(closed) = self.calls.close_oldest() else {
            return false;
        };
        let ClosedCall {
            ended,
            activity,
            merged,
        } = closed;
        if let Some(tables) = self.tables(ended.epoch) {
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
        let tables = self.tables(epoch)?;
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
            && let Some(tables) = self.tables(epoch)
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
        if let Some(tables) = self.current_tables() {
            tables.records_without_call += forgotten;
        }
    }

    /// Begins the window of this number.
    pub(crate) fn begin_window(&mut self, window: u32) {
        self.close_all();
        self.tables.begin(window);
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
        let mut windows = WindowHistory::default();
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
        let mut windows = WindowHistory::default();
        for change in 0..10_000 {
            windows.change(change * 10, Some(change as u32));
        }
        assert_eq!(windows.window_at(99_990), Some(9_999));
        assert_eq!(windows.window_at(15), None);
        assert_eq!(windows.changes.len(), MAX_WINDOW_CHANGES);
    }
}
