//! From the program's threads to the reader: a queue that never makes a thread wait.
//!
//! Its capacity bounds the memory if the reader falls behind.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_queue::SegQueue;

use super::lifecycle;

/// Items beyond it are dropped and counted. From half of it on, each push wakes the reader.
pub(crate) const CAPACITY: usize = 1 << 18;

#[derive(Debug)]
pub(crate) struct BoundedQueue<T> {
    // Not an `ArrayQueue`, which would allocate its whole capacity at once.
    queue: SegQueue<T>,
    /// Items dropped since the last [`drain`](Self::drain).
    dropped: AtomicU64,
}

impl<T> Default for BoundedQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> BoundedQueue<T> {
    pub(crate) const fn new() -> Self {
        Self {
            queue: SegQueue::new(),
            dropped: AtomicU64::new(0),
        }
    }

    pub(crate) fn push(&self, item: T) {
        let length = self.queue.len();
        if length >= CAPACITY / 2 {
            lifecycle::wake_reader();
        }
        if length >= CAPACITY {
            self.count_dropped();
            return;
        }
        self.queue.push(item);
    }

    /// Counts an item that could not be made.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Passes the queued items to `each`; returns how many were dropped since the last call.
    pub(crate) fn drain(&self, mut each: impl FnMut(T)) -> u64 {
        // Only as many as there are now, because the program may push forever.
        for _ in 0..self.queue.len() {
            let Some(item) = self.queue.pop() else { break };
            each(item);
        }
        self.dropped.swap(0, Relaxed)
    }
}
