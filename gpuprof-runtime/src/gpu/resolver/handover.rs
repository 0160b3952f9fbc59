//! Whether the resolver holds what a thread's samples need: a flag that the thread sets with each sample, and that the resolver
//! takes back once nothing is pending.
//!
//! The thread announces a sample, claims, sends the hold where the claim asks for it, then the sample. The resolver offers,
//! looks whether anything is announced that it has not got, and lets go only where no claim has come since.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use crate::sync::AtomicU8;

/// The resolver does not hold it.
const WITHOUT: u8 = 0;
/// It does, and would let go.
const OFFERED: u8 = 1;
/// It does.
const CLAIMED: u8 = 2;

/// One thread's word with the resolver.
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

    /// On the resolver, which holds it and has nothing pending: whether it may let go. `has_all`: everything announced so far
    /// has come.
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
