//! The one clock of gpuprof: raw ticks while a span runs, nanoseconds only when it is booked.
//!
//! It stands behind one cell, so that a test can drive time. Must not import anything of gpuprof's.

use std::sync::OnceLock;

/// An event record that takes longer than this has not worked but waited: recording takes some microseconds, and blocks when
/// the stream's queue is full, as the next launch would have.
const LONG_NS: u64 = 50_000;

/// Where time comes from.
enum Source {
    /// The processor's counter. Making it calibrates the counter (10 to 20 ms, at most 200 ms): once a process, and only
    /// when something is measured.
    Counter {
        clock: quanta::Clock,
        /// Its ticks in [`LONG_NS`].
        long: u64,
    },
    /// A test's, in nanoseconds.
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

/// The time in raw ticks. Only differences mean anything; see [`ns`].
#[inline]
pub(crate) fn now() -> u64 {
    match source() {
        Source::Counter { clock, .. } => clock.raw(),
        Source::Driven(now) => now(),
    }
}

/// A difference of two [`now`] in nanoseconds.
#[inline]
pub(crate) fn ns(ticks: u64) -> u64 {
    match source() {
        Source::Counter { clock, .. } => clock.delta_as_nanos(0, ticks),
        Source::Driven(_) => ticks,
    }
}

/// Whether a difference of two [`now`] is more than [`LONG_NS`]: without the multiplication that its nanoseconds take.
#[inline]
pub(crate) fn is_long(ticks: u64) -> bool {
    match source() {
        Source::Counter { long, .. } => ticks > *long,
        Source::Driven(_) => ticks > LONG_NS,
    }
}

/// The time from one [`now`] to a later one in nanoseconds; 0 if it is earlier, as clocks of two processors may have it.
#[inline]
pub(crate) fn ns_between(start: u64, end: u64) -> u64 {
    match source() {
        Source::Counter { clock, .. } => clock.delta_as_nanos(start, end),
        Source::Driven(_) => end.saturating_sub(start),
    }
}

/// Replaces the clock by one that answers nanoseconds. Works only before the first span.
///
/// Returns whether it took effect.
pub fn drive(now: extern "C" fn() -> u64) -> bool {
    SOURCE.set(Source::Driven(now)).is_ok()
}
