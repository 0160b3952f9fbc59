//! What sampling goes by on one path of one thread. One writer: the thread.

use std::sync::atomic::Ordering::Relaxed;

use super::sampling_decisions::CallHistory;
use crate::sync::{AtomicU32, AtomicU64};

/// A path of which fewer calls are timed makes those around it wanted.
const FEW_TIMED: u64 = 32;
/// After a call of outlying CPU time so many are wanted.
const WANTED_AFTER_OUTLIER: u32 = 8;
/// An outlier takes so many times the mean of the path's calls, of which so many have ended.
const OUTLIER: u64 = 8;
const CALLS_BEFORE_OUTLIER: u64 = 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct PathSampling {
    /// Calls that had ended, and of these the timed ones, when the window began, also on threads
    /// before this one.
    calls_before: AtomicU64,
    timed_before: AtomicU64,
    /// Calls of futures that have begun on this thread: they may end on others.
    futures: AtomicU64,
    /// Outermost calls that are to be timed next, if the budget permits.
    wanted: AtomicU32,
}

impl PathSampling {
    pub(super) fn new() -> Self {
        Self {
            calls_before: AtomicU64::new(0),
            timed_before: AtomicU64::new(0),
            futures: AtomicU64::new(0),
            wanted: AtomicU32::new(0),
        }
    }

    /// A window begins after so many calls and timed calls.
    pub(super) fn begin_window(&self, calls: u64, timed: u64) {
        self.calls_before.store(calls, Relaxed);
        self.timed_before.store(timed, Relaxed);
        self.wanted.store(0, Relaxed);
    }

    /// A call of a future begins.
    pub(super) fn begin_future(&self) {
        self.futures.store(self.futures.load(Relaxed) + 1, Relaxed);
    }

    /// After so many calls. `is_known`: one of them ended in this window.
    #[inline]
    pub(super) fn history(&self, calls: u64, is_known: bool, is_outermost: bool) -> CallHistory {
        let calls = calls.max(self.futures.load(Relaxed));
        if !is_known {
            return CallHistory {
                calls,
                ..CallHistory::default()
            };
        }
        CallHistory {
            calls,
            calls_of_window: calls.saturating_sub(self.calls_before.load(Relaxed)),
            is_wanted: is_outermost && self.wanted.load(Relaxed) > 0,
        }
    }

    /// A wanted call begins.
    #[inline]
    pub(crate) fn take_wanted(&self) {
        let wanted = self.wanted.load(Relaxed);
        self.wanted.store(wanted.saturating_sub(1), Relaxed);
    }

    fn want(&self, calls: u32) {
        self.wanted
            .store(self.wanted.load(Relaxed).max(calls), Relaxed);
    }

    /// A call goes untimed inside one of `outermost`, after so many timed ones: if these are few,
    /// the next ones are wanted.
    #[inline]
    pub(super) fn miss(&self, timed: u64, outermost: &Self) {
        let timed = timed.saturating_sub(self.timed_before.load(Relaxed));
        if timed < FEW_TIMED {
            outermost.want((FEW_TIMED - timed) as u32);
        }
    }

    /// A call inside one of these took so long, where `calls` before it took `total_ticks`.
    #[inline]
    pub(super) fn watch_outliers(&self, ticks: u64, total_ticks: u64, calls: u64) {
        // Multiplied, as each call with a stream would wait for a division.
        let ticks_of_all = (ticks / OUTLIER).saturating_mul(calls);
        if calls >= CALLS_BEFORE_OUTLIER && ticks_of_all > total_ticks {
            self.want(WANTED_AFTER_OUTLIER);
        }
    }
}
