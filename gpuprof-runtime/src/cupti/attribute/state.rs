//! What the collector keeps of the kernel tier: the records joined so far, and the calls that have ended.
//!
//! Spans only push what ended; all else is done by the reader, and by who asks. Must not import span or report.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::correlate::{Join, Seen};
use super::recorded::Symbols;
use super::tables::Tables;
use crate::cupti::call_stack::Ended;
use crate::cupti::collect::queue::Waiting;
use crate::cupti::collect::reader::Sink;
use crate::cupti::collect::record::Record;
use crate::cupti::collect::subscriber;
use crate::gpu::LatePolicy;

/// How long a program's thread waits for the reader, which holds the lock for milliseconds at most. In a forked child it may be held
/// for ever.
const PATIENCE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Work {
    join: Mutex<Join>,
    ended: Waiting<Ended>,
    /// Windows that could not be begun or ended as the lock was held all the time.
    missed: AtomicU64,
}

impl Work {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Hands on a call that has ended.
    pub(crate) fn ended(&self, ended: Ended) {
        self.ended.push(ended);
    }

    /// From now on what is launched counts in the window `epoch`, or in none.
    pub(crate) fn change(&self, epoch: Option<u32>) {
        let Some(now) = subscriber::now() else { return };
        match self.join.try_lock_for(PATIENCE) {
            Some(mut join) => join.windows.change(now, epoch),
            None => self.miss(),
        }
    }

    fn miss(&self) {
        self.missed.fetch_add(1, Relaxed);
    }

    /// What was lost in this process for want of the lock, if anything was.
    pub(crate) fn note(&self) -> Option<String> {
        let missed = self.missed.load(Relaxed);
        (missed > 0).then(|| {
            format!(
                "the records of kernels were held for {PATIENCE:?} as a window began or ended ({missed}x): its tables miss something, or \
                 have something of another window"
            )
        })
    }

    /// Begins the window `epoch`, and returns what the one that ends has measured, and what has come for the one that was
    /// kept before it.
    pub(crate) fn next_window(&self, epoch: u32, late: LatePolicy) -> (Tables, Tables) {
        let Some(mut join) = self.join.try_lock_for(PATIENCE) else {
            self.miss();
            return (Tables::default(), Tables::default());
        };
        self.take_ended(&mut join);
        join.next_window(epoch, late)
    }

    /// What was measured up to now; `None`: the lock was not to be had within `limit`.
    pub(crate) fn seen(&self, limit: Duration) -> Option<Seen> {
        let mut join = self.join.try_lock_for(limit)?;
        self.take_ended(&mut join);
        Some(join.seen())
    }

    /// The kernel names of tables; `None`: the lock was not to be had within `limit`.
    pub(crate) fn symbols(&self, limit: Duration) -> Option<Symbols> {
        Some(self.join.try_lock_for(limit)?.symbols.clone())
    }

    fn take_ended(&self, join: &mut Join) {
        let lost = self.ended.take(|ended| join.ended(ended));
        join.lose(lost);
    }
}

impl Sink for &'static Work {
    fn take(&mut self, record: Record) {
        self.join.lock().take(record);
    }

    fn read(&mut self) {
        self.take_ended(&mut self.join.lock());
    }

    fn flushed(&mut self) {
        self.join.lock().flushed();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LatePolicy, Work};
    use crate::cupti::call_stack::Ended;
    use crate::cupti::collect::queue::MOST;

    fn ended(call: u64) -> Ended {
        Ended {
            call,
            parent: 0,
            outermost: true,
            timed: false,
            captured: false,
            cpu_ns: 1,
            first: false,
            epoch: 0,
        }
    }

    #[test]
    fn calls_that_nobody_takes_are_lost_past_a_bound_and_counted_in_their_window() {
        let work = Work::new();
        for call in 1..=MOST as u64 + 7 {
            work.ended(ended(call << 20));
        }
        let (now, _) = work.next_window(1, LatePolicy::KeepCurrent);
        let calls: u64 = now.calls.values().map(|sums| sums.calls).sum();
        assert_eq!((calls, now.lost_calls), (MOST as u64, 7));
        let (next, _) = work.next_window(2, LatePolicy::KeepCurrent);
        assert_eq!(next.lost_calls, 0);
    }

    #[test]
    fn a_window_that_is_missed_is_told() {
        let work = Work::new();
        assert_eq!(work.note(), None);
        let held = work.join.lock();
        let _ = work.next_window(1, LatePolicy::KeepCurrent);
        drop(held);
        let note = work.note().expect("it was missed");
        assert!(
            note.contains("held for 1s") && note.contains("(1x)"),
            "{note}"
        );
        assert!(work.seen(Duration::ZERO).is_some());
    }
}
