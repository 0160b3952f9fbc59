//! From the program's threads to the reader: a queue that all threads share and that never makes
//! one wait. Its capacity bounds the memory if the reader falls behind.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_queue::SegQueue;

use super::callback_events::CallbackEvent;
use super::lifecycle;

/// Items beyond it are dropped and counted. From half of it on, each push wakes the reader.
pub(crate) const CAPACITY: usize = 1 << 18;

/// Events that the reader must see in order across threads: changes of graph nodes, and CUDA calls
/// whose order relative to these matters. Other CUDA calls have their
/// [rings](super::cuda_call_rings).
pub(crate) static CALLBACK_EVENTS: BoundedQueue<CallbackEvent> = BoundedQueue::new();

#[derive(Debug)]
pub(crate) struct BoundedQueue<T> {
    // Not an `ArrayQueue`, which would allocate its whole capacity at once.
    queue: SegQueue<T>,
    /// Items dropped since the last [`take_dropped`](Self::take_dropped).
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
        self.push_within(item, CAPACITY);
    }

    /// Pushes an item that corrects an earlier one: dropped only at twice the capacity, when the
    /// earlier one was dropped too.
    pub(crate) fn push_correction(&self, item: T) {
        self.push_within(item, 2 * CAPACITY);
    }

    fn push_within(&self, item: T, capacity: usize) {
        let length = self.queue.len();
        if length >= CAPACITY / 2 {
            lifecycle::wake_reader();
        }
        if length >= capacity {
            self.count_dropped();
            return;
        }
        self.queue.push(item);
    }

    /// Counts an item that could not be made.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Passes the items that are queued now to `each`; returns how many were dropped since the last
    /// [`take_dropped`](Self::take_dropped).
    pub(crate) fn drain(&self, each: impl FnMut(T)) -> u64 {
        // Not those pushed meanwhile, because the program may push forever.
        self.drain_some(self.len(), each);
        self.take_dropped()
    }

    /// Passes at most `max` items to `each`.
    pub(crate) fn drain_some(&self, max: usize, mut each: impl FnMut(T)) {
        for _ in 0..max {
            let Some(item) = self.queue.pop() else { break };
            each(item);
        }
    }

    /// How many items were dropped since the last call.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Relaxed)
    }
}
