//! What the collector keeps of the kernel tier: the records joined so far, and the calls that have ended.
//!
//! Spans only push what ended; all else is done by the reader, and by who asks. Must not import span or report.

use std::time::Duration;

use crossbeam_queue::SegQueue;
use parking_lot::Mutex;

use super::calls::Ended;
use super::join::{Join, Seen, Symbols};
use super::reader::Sink;
use super::record::Record;
use super::running;
use super::tables::Tables;
use crate::gpu::Late;

/// Ended calls that wait for the reader: what a process in which it does not come round loses is bounded.
const MOST_WAITING: usize = 1 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Work {
    join: Mutex<Join>,
    ended: SegQueue<Ended>,
}

impl Work {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Hands on a call that has ended.
    pub(crate) fn ended(&self, ended: Ended) {
        if self.ended.len() < MOST_WAITING {
            self.ended.push(ended);
        }
    }

    /// From now on what is launched counts in the window `epoch`, or in none.
    pub(crate) fn change(&self, epoch: Option<u32>) {
        if let Some(now) = running::now() {
            self.join.lock().windows.change(now, epoch);
        }
    }

    /// Begins the window `epoch`, and returns what the one that ends has measured, and what has come for the one that was
    /// kept before it.
    pub(crate) fn next_window(&self, epoch: u32, late: Late) -> (Tables, Tables) {
        let mut join = self.join.lock();
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

    /// How often everything finished was read.
    pub(crate) fn rounds(&self) -> u32 {
        self.join.lock().round()
    }

    fn take_ended(&self, join: &mut Join) {
        // No more than there are now: others go on ending.
        for _ in 0..self.ended.len() {
            let Some(ended) = self.ended.pop() else {
                return;
            };
            join.ended(ended);
        }
    }
}

impl Sink for &'static Work {
    fn take(&mut self, record: Record) {
        self.join.lock().take(record);
    }

    fn flushed(&mut self) {
        let mut join = self.join.lock();
        self.take_ended(&mut join);
        join.flushed();
    }
}
