//! GPU time of nested spans, which a call subtracts to get its self time.
//!
//! Spans create and share it. The resolver adds the nested times and reads the sum. Whether the
//! call has a time of its own is written once: by the resolver or, for a call that never got there,
//! by the thread that ends it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// GPU time of the spans inside one call, on its own single stream.
///
/// Only the resolver books. The one other writer is the thread of a call that goes to no resolver:
/// it writes that there will be no time. The resolver may see that late, and takes the call for one
/// that is still to come: either way it books nothing there.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    ns: AtomicU64,
    /// One of them stands for several by its own sampling, so the sum can be more than the call.
    sampled: AtomicBool,
    state: AtomicU8,
}

/// How far the call is that the time lies inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enclosing {
    /// Not resolved yet: it will look here.
    Waiting,
    /// Booked already: what comes late is to be taken from its self time.
    Booked,
    /// Without a time of its own.
    Void,
}

impl Inside {
    /// Adds the time of a span inside, and says what the enclosing call has done.
    pub(super) fn add(&self, ns: u64, stands_for: u32) -> Enclosing {
        let ns = ns.saturating_mul(u64::from(stands_for));
        if stands_for > 1 {
            self.sampled.store(true, Relaxed);
        }
        self.ns
            .store(self.ns.load(Relaxed).saturating_add(ns), Relaxed);
        match self.state.load(Relaxed) {
            0 => Enclosing::Waiting,
            1 => Enclosing::Booked,
            _ => Enclosing::Void,
        }
    }

    /// The time inside up to now, for the enclosing call of `ns`, which is being booked or not.
    /// Never more than that, unless sampling makes up for it elsewhere: futures that run beside
    /// each other overlap.
    pub(super) fn close(&self, booked: bool, ns: u64) -> u64 {
        self.state.store(if booked { 1 } else { 2 }, Relaxed);
        let inside = self.ns.load(Relaxed);
        match self.sampled.load(Relaxed) {
            true => inside,
            false => inside.min(ns),
        }
    }
}
