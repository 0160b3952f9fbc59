//! How a span's thread and the resolver agree without a lock: when the resolver sleeps, and how
//! long it holds the context that pending samples need.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{AtomicBool, AtomicU8};

/// Whether the resolver has nothing to do and may be asleep.
///
/// A span looks at the flag after its sample is in the ring; the resolver looks at the rings after
/// it has set the flag. There is no fence between the two, which would be a locked instruction in
/// every span: both may see the earlier state, and the resolver then sleeps on until its park times
/// out.
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

/// The resolver does not hold it.
const WITHOUT: u8 = 0;
/// It does, and would let go.
const OFFERED: u8 = 1;
/// It does.
const CLAIMED: u8 = 2;

/// Whether the resolver holds the context that a thread's samples need.
///
/// The thread announces a sample, claims the hold, sends the context if the claim asks for it, then
/// sends the sample. The resolver offers the hold back, checks that it has received everything that
/// was announced, and releases the context only if no claim has come since.
#[derive(Debug)]
pub(in crate::gpu) struct Handover(AtomicU8);

impl Handover {
    pub(in crate::gpu) fn new() -> Self {
        Self(AtomicU8::new(WITHOUT))
    }

    /// On the thread, after a sample is announced: whether the hold has to go before it.
    #[inline]
    pub(in crate::gpu) fn claim(&self) -> bool {
        self.0.swap(CLAIMED, AcqRel) == WITHOUT
    }

    /// On the thread: there was nothing to hold.
    pub(in crate::gpu) fn withdraw(&self) {
        self.0.store(WITHOUT, Release);
    }

    /// On the resolver, which holds it and has nothing pending: whether it may let go. `has_all`:
    /// everything announced so far has come.
    pub(in crate::gpu) fn offer(&self, has_all: impl FnOnce() -> bool) -> bool {
        // Where it fails it has been offered before, and nobody has claimed it since.
        let _ = self.0.compare_exchange(CLAIMED, OFFERED, AcqRel, Acquire);
        has_all()
            && self
                .0
                .compare_exchange(OFFERED, WITHOUT, AcqRel, Acquire)
                .is_ok()
    }
}
