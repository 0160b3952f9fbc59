//! The one clock of gpuprof: raw ticks while a span runs, nanoseconds only when it is booked.
//!
//! It stands behind one cell, so that a test can drive time. Must not import anything of gpuprof's.

use std::sync::OnceLock;

/// Where time comes from.
enum Source {
    /// The processor's counter. Making it calibrates the counter (10 to 20 ms, at most 200 ms): once a process, and only
    /// when something is measured.
    Counter(quanta::Clock),
    /// A test's, in nanoseconds.
    Driven(extern "C" fn() -> u64),
}

static SOURCE: OnceLock<Source> = OnceLock::new();

#[inline]
fn source() -> &'static Source {
    SOURCE.get_or_init(|| Source::Counter(quanta::Clock::new()))
}

/// The time in raw ticks. Only differences mean anything; see [`ns`].
#[inline]
pub(crate) fn now() -> u64 {
    match source() {
        Source::Counter(clock) => clock.raw(),
        Source::Driven(now) => now(),
    }
}

/// A difference of two [`now`] in nanoseconds.
#[inline]
pub(crate) fn ns(ticks: u64) -> u64 {
    match source() {
        Source::Counter(clock) => clock.delta_as_nanos(0, ticks),
        Source::Driven(_) => ticks,
    }
}

/// The time from one [`now`] to a later one in nanoseconds; 0 if it is earlier, as clocks of two processors may have it.
#[inline]
pub(crate) fn ns_between(start: u64, end: u64) -> u64 {
    match source() {
        Source::Counter(clock) => clock.delta_as_nanos(start, end),
        Source::Driven(_) => end.saturating_sub(start),
    }
}

/// Replaces the clock by one that answers nanoseconds. Works only before the first span.
///
/// Returns whether it took effect.
pub fn drive(now: extern "C" fn() -> u64) -> bool {
    SOURCE.set(Source::Driven(now)).is_ok()
}
