//! Count, sum and spread of durations, plain and with one concurrent writer.

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicU64;

/// Count, sum and spread of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Durations {
    pub(crate) calls: u64,
    pub(crate) total: u64,
    /// The part of `total` that nested spans took.
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
        self.add_weighted(1, ns);
    }

    /// Adds a duration that represents those of `calls` calls.
    pub(crate) fn add_weighted(&mut self, calls: u32, ns: u64) {
        self.calls += u64::from(calls);
        let ns_of_all = ns.saturating_mul(u64::from(calls));
        self.total = self.total.saturating_add(ns_of_all);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.squares += ns as f64 * ns as f64 * f64::from(calls);
    }

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

/// [`Durations`] with one writer. The number of durations is counted elsewhere.
#[derive(Debug)]
pub(super) struct AtomicDurations {
    total: AtomicU64,
    nested: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    /// Sum of squares as the bits of an f64, in ns².
    squares: AtomicU64,
}

impl AtomicDurations {
    pub(super) fn new() -> Self {
        Self {
            total: AtomicU64::new(0),
            nested: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            squares: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(super) fn add(&self, ns: u64, nested: u64) {
        self.total
            .store(self.total.load(Relaxed).wrapping_add(ns), Relaxed);
        self.nested
            .store(self.nested.load(Relaxed).wrapping_add(nested), Relaxed);
        if ns < self.min.load(Relaxed) {
            self.min.store(ns, Relaxed);
        }
        if ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
        // From a signed integer this is one instruction, from an unsigned one eight; no duration
        // has the highest bit.
        let ns = ns as i64 as f64;
        add_f64(&self.squares, ns * ns);
    }

    /// Resets the extremes, which are of one window only.
    pub(super) fn reset_extremes(&self) {
        self.min.store(u64::MAX, Relaxed);
        self.max.store(0, Relaxed);
    }

    pub(super) fn read(&self, calls: u64, current: bool) -> Durations {
        let (min, max) = match current {
            true => (self.min.load(Relaxed), self.max.load(Relaxed)),
            false => (u64::MAX, 0),
        };
        Durations {
            calls,
            total: self.total.load(Relaxed),
            nested: self.nested.load(Relaxed),
            min,
            max,
            squares: f64::from_bits(self.squares.load(Relaxed)),
        }
    }
}

/// Adds to an `f64` that is stored as its bits and has one writer.
#[inline]
pub(super) fn add_f64(cell: &AtomicU64, value: f64) {
    cell.store(
        (f64::from_bits(cell.load(Relaxed)) + value).to_bits(),
        Relaxed,
    );
}
