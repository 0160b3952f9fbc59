//! What the program's threads leave for the reader: a queue that never makes anyone wait, and is bounded for a process in which the
//! reader does not come round.
//!
//! Must not import span, collector or report.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_queue::SegQueue;

use super::subscriber;

/// Past so many they are lost and counted; from half of it on each wakes the reader.
pub(crate) const MOST: usize = 1 << 18;

/// See the module.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    queue: SegQueue<T>,
    /// Those that found no room, since the last look.
    lost: AtomicU64,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Waiting<T> {
    pub(crate) const fn new() -> Self {
        Self {
            queue: SegQueue::new(),
            lost: AtomicU64::new(0),
        }
    }

    pub(crate) fn push(&self, one: T) {
        let waiting = self.queue.len();
        if waiting >= MOST / 2 {
            subscriber::wake();
        }
        if waiting >= MOST {
            self.lose();
            return;
        }
        self.queue.push(one);
    }

    /// Counts one that cannot be pushed.
    pub(crate) fn lose(&self) {
        self.lost.fetch_add(1, Relaxed);
    }

    /// Hands over what waits, and returns how many were lost since it was last called.
    pub(crate) fn take(&self, mut each: impl FnMut(T)) -> u64 {
        // No more than there are now: others go on.
        for _ in 0..self.queue.len() {
            let Some(one) = self.queue.pop() else { break };
            each(one);
        }
        self.lost.swap(0, Relaxed)
    }
}
