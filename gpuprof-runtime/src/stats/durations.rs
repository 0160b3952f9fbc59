//! Count, sum and spread of durations, plain and with one concurrent writer.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock::Scale;
use crate::sync::AtomicU64;

/// The unit of CPU times until they are reported: ticks of the [clock](crate::clock).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ticks;

/// The unit of GPU times, and of all times that are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ns;

/// Count, sum and spread of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DurationSums<Unit = Ns> {
    pub(crate) calls: u64,
    pub(crate) total: u64,
    /// The part of `total` that nested spans took.
    pub(crate) nested: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// Sum of squares.
    pub(crate) squares: f64,
    unit: PhantomData<Unit>,
}

impl<Unit> Default for DurationSums<Unit> {
    fn default() -> Self {
        Self {
            calls: 0,
            total: 0,
            nested: 0,
            min: u64::MAX,
            max: 0,
            squares: 0.0,
            unit: PhantomData,
        }
    }
}

impl DurationSums<Ns> {
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

impl DurationSums<Ticks> {
    /// The same in ns.
    pub(super) fn to_ns(self, scale: Scale) -> DurationSums<Ns> {
        let calls = self.calls.max(1);
        let total = scale.ns(self.total);
        let (min, max) = if self.min <= self.max {
            // Both are rounded down, and no mean exceeds the maximum.
            (
                scale.ns(self.min),
                scale.ns(self.max).max(total.div_ceil(calls)),
            )
        } else {
            (self.min, self.max)
        };
        // The total is rounded, and the standard deviation is the difference of two large numbers.
        let square_of = |total: u64| total as f64 * total as f64 / calls as f64;
        let spread = (self.squares - square_of(self.total)).max(0.0);
        DurationSums {
            calls: self.calls,
            total,
            nested: scale.ns(self.nested),
            min,
            max,
            squares: spread * scale.tick_ns() * scale.tick_ns() + square_of(total),
            unit: PhantomData,
        }
    }
}

impl<Unit> DurationSums<Unit> {
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
}

/// [`DurationSums`] in ticks, with one writer. The number of durations is counted elsewhere.
#[derive(Debug)]
pub(super) struct AtomicDurations {
    total: AtomicU64,
    nested: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    /// Sum of squares as the bits of an f64.
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
    pub(super) fn add(&self, ticks: u64, nested: u64) {
        self.total
            .store(self.total.load(Relaxed).wrapping_add(ticks), Relaxed);
        self.nested
            .store(self.nested.load(Relaxed).wrapping_add(nested), Relaxed);
        if ticks < self.min.load(Relaxed) {
            self.min.store(ticks, Relaxed);
        }
        if ticks > self.max.load(Relaxed) {
            self.max.store(ticks, Relaxed);
        }
        // From a signed integer this is one instruction, from an unsigned one eight; no duration
        // has the highest bit.
        let ticks = ticks as i64 as f64;
        add_f64(&self.squares, ticks * ticks);
    }

    #[inline]
    pub(super) fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// Resets the extremes, which are of one window only.
    pub(super) fn reset_extremes(&self) {
        self.min.store(u64::MAX, Relaxed);
        self.max.store(0, Relaxed);
    }

    pub(super) fn read(&self, calls: u64, current: bool) -> DurationSums<Ticks> {
        let (min, max) = if current {
            (self.min.load(Relaxed), self.max.load(Relaxed))
        } else {
            (u64::MAX, 0)
        };
        DurationSums {
            calls,
            total: self.total.load(Relaxed),
            nested: self.nested.load(Relaxed),
            min,
            max,
            squares: f64::from_bits(self.squares.load(Relaxed)),
            unit: PhantomData,
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

#[cfg(test)]
mod tests {
    use super::{DurationSums, Ns, Ticks};
    use crate::clock::Scale;

    /// Calls of these ticks, in ns at `ghz` ticks per ns.
    fn in_ns(calls: &[u64], ghz: f64) -> DurationSums<Ns> {
        let mut ticks = DurationSums::<Ticks>::default();
        for &call in calls {
            ticks.calls += 1;
            ticks.total += call;
            ticks.min = ticks.min.min(call);
            ticks.max = ticks.max.max(call);
            ticks.squares += (call as f64).powi(2);
        }
        ticks.to_ns(Scale::from_ghz(ghz))
    }

    #[test]
    fn the_mean_lies_between_the_extremes_in_ns() {
        for ghz in [0.024, 1.0, 1.9, 2.1, 3.7] {
            for calls in [
                &[0_u64][..],
                &[1; 7],
                &[20; 1_000],
                &[20, 21],
                &[3, 99, 1 << 40],
            ] {
                let ns = in_ns(calls, ghz);
                let mean = ns.mean().round() as u64;
                assert!((ns.min..=ns.max).contains(&mean), "{ghz} GHz: {ns:?}");
                assert!(calls.len() > 1 || ns.min == ns.max, "{ghz} GHz: {ns:?}");
            }
        }
    }

    #[test]
    fn rounding_a_long_total_adds_no_deviation() {
        let second = 2_100_000_001;
        assert_eq!(in_ns(&[second; 2], 2.1).stddev().round(), 0.0);
        let deviation = in_ns(&[second, second + 4_200], 2.1).stddev();
        assert!((deviation - 1_000.0).abs() < 100.0, "{deviation}");
    }
}
