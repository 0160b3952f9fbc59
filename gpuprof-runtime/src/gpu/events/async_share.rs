//! How many event pairs of a context pending async calls may occupy.
//!
//! A future occupies its pairs until it completes, which can be never. Without a bound of their
//! own, pending futures would leave no pair for the calls of a whole context.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The pairs of one context that pending async calls occupy.
#[derive(Debug)]
pub(in crate::gpu) struct AsyncShare {
    occupied: AtomicUsize,
    most: usize,
}

impl AsyncShare {
    /// A share of `most` pairs.
    pub(in crate::gpu) const fn new(most: usize) -> Self {
        Self {
            occupied: AtomicUsize::new(0),
            most,
        }
    }

    /// Occupies one pair. Returns false if the share is used up.
    pub(in crate::gpu) fn occupy(&self) -> bool {
        let has_room = self.occupied.fetch_add(1, Relaxed) < self.most;
        if !has_room {
            self.release();
        }
        has_room
    }

    /// Ends the occupation of one pair.
    pub(in crate::gpu) fn release(&self) {
        self.occupied.fetch_sub(1, Relaxed);
    }
}
