//! The one clock of gpuprof: raw ticks while a span runs, nanoseconds only when it is booked.
//!
//! It is a pair of functions behind one cell, so that a test can drive time. Must not import anything of gpuprof's.

use std::sync::OnceLock;

/// Where time comes from.
struct Source {
    now: fn() -> u64,
    to_ns: fn(u64) -> u64,
}

static SOURCE: OnceLock<Source> = OnceLock::new();
static QUANTA: OnceLock<quanta::Clock> = OnceLock::new();
static DRIVEN: OnceLock<extern "C" fn() -> u64> = OnceLock::new();

/// The time in raw ticks. Only differences mean anything; see [`ns`].
#[inline]
pub(crate) fn now() -> u64 {
    (source().now)()
}

/// A difference of two [`now`] in nanoseconds.
#[inline]
pub(crate) fn ns(ticks: u64) -> u64 {
    (source().to_ns)(ticks)
}

/// Replaces the clock by one that answers nanoseconds. Works only before the first span.
///
/// Returns whether it took effect.
pub fn drive(now: extern "C" fn() -> u64) -> bool {
    DRIVEN.set(now).is_ok()
        && SOURCE
            .set(Source {
                now: driven_now,
                to_ns: |ticks| ticks,
            })
            .is_ok()
}

fn source() -> &'static Source {
    SOURCE.get_or_init(|| Source {
        now: tsc_now,
        to_ns: tsc_ns,
    })
}

// The first use calibrates the counter (10 to 20 ms, at most 200 ms), once a process and only when something is measured.
fn tsc_now() -> u64 {
    QUANTA.get_or_init(quanta::Clock::new).raw()
}

fn tsc_ns(ticks: u64) -> u64 {
    QUANTA
        .get_or_init(quanta::Clock::new)
        .delta_as_nanos(0, ticks)
}

fn driven_now() -> u64 {
    DRIVEN.get().map_or(0, |now| now())
}
