//! How the resolver lies down and a span gets it up again, without a locked instruction on the span's side.
//!
//! The span looks at the flag after its sample is in the ring, the resolver at the rings after it has set the flag. Without a
//! fence between the two, both may see the state before: the resolver then sleeps on, at most as long as it parks.

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicBool;

/// Whether the resolver has nothing to do and may be asleep.
#[derive(Debug)]
pub(in crate::gpu) struct Doze(AtomicBool);

impl Doze {
    pub(in crate::gpu) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// On the resolver's thread: calls `park` unless there is something to do.
    pub(in crate::gpu) fn lie_down(&self, has_work: impl FnOnce() -> bool, park: impl FnOnce()) {
        self.0.store(true, Relaxed);
        if !has_work() {
            park();
        }
        self.0.store(false, Relaxed);
    }

    /// On any other: calls `wake` if the resolver lies down, after there is something to do.
    pub(in crate::gpu) fn rouse(&self, wake: impl FnOnce()) {
        if self.0.load(Relaxed) {
            wake();
        }
    }
}
