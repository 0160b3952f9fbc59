//! Counters and what they add up to. Must not import gpu, span, collector or cudarc.

pub(crate) mod build_profile;
pub(crate) mod call;
mod call_tree;
mod estimate;
pub(crate) mod gpu_totals;
pub(crate) mod histogram;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod memory_limit;
pub(crate) mod path_counters;
pub(crate) mod path_ids;
pub(crate) mod sampling;
pub(crate) mod thread_counters;
pub(crate) mod totals;
pub(crate) mod windowed;

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of the measuring window: counted up by every reset and every session, honoured by whoever records anything.
static EPOCH: AtomicU32 = AtomicU32::new(1);

/// The current window.
#[inline]
pub(crate) fn epoch() -> u32 {
    EPOCH.load(Ordering::Acquire)
}

/// Begins the next window and returns its number.
pub(crate) fn next_epoch() -> u32 {
    EPOCH.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
}

/// Count, sum and spread of some durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Durations {
    pub(crate) calls: u64,
    pub(crate) total: u64,
    /// Part of `total` that spans inside took.
    pub(crate) nested: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// Sum of squares, ns².
    pub(crate) squares: f64,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            calls: 0,
            total: 0,
            nested: 0,
            min: u64::MAX,
            max: 0,
            squares: 0.0,
        }
    }
}

impl Durations {
    pub(crate) fn add(&mut self, ns: u64) {
        self.add_of(1, ns);
    }

    /// Adds a duration that stands for those of so many calls.
    pub(crate) fn add_of(&mut self, calls: u32, ns: u64) {
        self.calls += u64::from(calls);
        let ns_of_all = ns.saturating_mul(u64::from(calls));
        self.total = self.total.saturating_add(ns_of_all);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.squares += ns as f64 * ns as f64 * f64::from(calls);
    }

    /// Adds `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.calls += other.calls;
        self.total = self.total.wrapping_add(other.total);
        self.nested = self.nested.wrapping_add(other.nested);
        self.squares += other.squares;
    }

    pub(crate) fn subtract(&mut self, earlier: &Self) {
        self.calls = self.calls.saturating_sub(earlier.calls);
        self.total = self.total.wrapping_sub(earlier.total);
        self.nested = self.nested.wrapping_sub(earlier.nested);
        self.squares -= earlier.squares;
    }

    pub(crate) fn mean(&self) -> f64 {
        if self.calls == 0 {
            0.0
        } else {
            self.total as f64 / self.calls as f64
        }
    }

    /// Population standard deviation.
    pub(crate) fn stddev(&self) -> f64 {
        if self.calls == 0 {
            return 0.0;
        }
        let mean = self.mean();
        (self.squares / self.calls as f64 - mean * mean)
            .max(0.0)
            .sqrt()
    }
}
