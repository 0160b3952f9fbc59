//! The clock: raw ticks while a span runs, nanoseconds only when it is recorded. A test can replace
//! it.

use std::sync::OnceLock;

/// Recording an event takes a few microseconds. If it takes longer than this, it waited because the
/// stream's queue was full, and the next launch would have waited instead.
const LONG_NS: u64 = 50_000;

enum Source {
    /// The processor's time stamp counter. It is calibrated once per process, if anything is
    /// measured, which takes 10 to 20 ms and at most 200 ms.
    Counter {
        clock: quanta::Clock,
        /// [`LONG_NS`] in ticks.
        long: u64,
    },
    /// A test's clock, in nanoseconds.
    Driven(extern "C" fn() -> u64),
}

static SOURCE: OnceLock<Source> = OnceLock::new();

#[inline]
fn source() -> &'static Source {
    SOURCE.get_or_init(calibrated)
}

#[cold]
fn calibrated() -> Source {
    const MANY: u64 = 1 << 32;
    let clock = quanta::Clock::new();
    let ns = clock.delta_as_nanos(0, MANY).max(1);
    let long = u128::from(LONG_NS) * u128::from(MANY) / u128::from(ns);
    Source::Counter {
        clock,
        long: u64::try_from(long).unwrap_or(u64::MAX),
    }
}

/// The time in raw ticks. Only differences are meaningful; see [`ns`].
#[inline]
pub(crate) fn now() -> u64 {
    match source() {
        Source::Counter { clock, .. } => clock.raw(),
        Source::Driven(now) => now(),
    }
}

/// A difference of two results of [`now`] in nanoseconds.
#[inline]
pub(crate) fn ns(ticks: u64) -> u64 {
    match source() {
        Source::Counter { clock, .. } => clock.delta_as_nanos(0, ticks),
        Source::Driven(_) => ticks,
    }
}

/// Whether a difference of two results of [`now`] exceeds [`LONG_NS`], without converting it.
#[inline]
pub(crate) fn is_long(ticks: u64) -> bool {
    match source() {
        Source::Counter { long, .. } => ticks > *long,
        Source::Driven(_) => ticks > LONG_NS,
    }
}

/// The time from `start` to `end` in nanoseconds; 0 if `end` is earlier, which the clocks of two
/// processors can cause.
#[inline]
pub(crate) fn ns_between(start: u64, end: u64) -> u64 {
    match source() {
        Source::Counter { clock, .. } => clock.delta_as_nanos(start, end),
        Source::Driven(_) => end.saturating_sub(start),
    }
}

/// Replaces the clock by one that returns nanoseconds, before the first span. Returns whether it
/// took effect.
pub fn drive(now: extern "C" fn() -> u64) -> bool {
    SOURCE.set(Source::Driven(now)).is_ok()
}
