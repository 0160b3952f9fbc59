//! One thread's counters for one annotated function, summed over all call paths. When the thread
//! ends, a later thread continues them.

use std::sync::atomic::Ordering::Relaxed;

use super::concurrent_histogram::AtomicHistogram;
use super::host_totals::Totals;
use super::memory_limit::BLOCK_OVERHEAD;
use super::window_epoch::WriterEpoch;
use crate::sync::{AtomicU32, AtomicU64};

#[derive(Debug)]
pub(crate) struct SiteCounters {
    pub(super) cpu: AtomicHistogram,
    /// For async functions.
    pub(super) wall: Option<Box<AtomicHistogram>>,
    /// Threads that recorded here, one after another, in the window of `last_writer`.
    threads: AtomicU32,
    /// The [`WriterEpoch`] of the last of them.
    last_writer: AtomicU64,
}

impl SiteCounters {
    /// The bytes that they take from the start.
    pub(super) fn bytes(is_async: bool) -> usize {
        let wall = size_of::<AtomicHistogram>() + BLOCK_OVERHEAD;
        size_of::<Self>() + BLOCK_OVERHEAD + if is_async { wall } else { 0 }
    }

    pub(super) fn leaked(is_async: bool) -> &'static Self {
        Box::leak(Box::new(Self {
            cpu: AtomicHistogram::new(),
            wall: is_async.then(|| Box::new(AtomicHistogram::new())),
            threads: AtomicU32::new(0),
            last_writer: AtomicU64::new(0),
        }))
    }

    /// Adds the durations to `totals` as those of `site`, and its threads in window `epoch`.
    pub(super) fn add_to(&self, site: u32, epoch: u32, totals: &mut Totals) {
        self.cpu.add_to(totals.cpu.entry(site).or_default());
        if let Some(wall) = &self.wall {
            wall.add_to(totals.wall.entry(site).or_default());
        }
        *totals.threads.entry(site).or_default() += self.successive_writers(epoch);
    }

    /// Counts the thread of `writer`, if it is new here.
    pub(super) fn count_thread(&self, writer: WriterEpoch) {
        let last = WriterEpoch::from_bits(self.last_writer.load(Relaxed));
        if last == writer {
            return;
        }
        let before = if last.epoch() == writer.epoch() {
            self.threads.load(Relaxed)
        } else {
            0
        };
        self.threads.store(before + 1, Relaxed);
        self.last_writer.store(writer.bits(), Relaxed);
    }

    /// How many threads, one after another, have written these counters in window `epoch`. The sum
    /// over a function's counters is its number of threads.
    pub(super) fn successive_writers(&self, epoch: u32) -> u32 {
        let last = WriterEpoch::from_bits(self.last_writer.load(Relaxed));
        if last.epoch() == epoch {
            self.threads.load(Relaxed)
        } else {
            0
        }
    }
}
