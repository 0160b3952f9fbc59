//! The clock: raw ticks while a span runs, nanoseconds only when it is recorded.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::os::tick_counter;

/// Recording an event takes a few microseconds. If it takes longer than this, it waited because the
/// stream's queue was full, and the next launch would have waited instead.
const LONG_NS: u64 = 50_000;
/// How long the counter is compared with the system's clock. Both ends are read to within some
/// 50 ns, so the rate is right to about 5 ppm.
const CALIBRATION: Duration = Duration::from_millis(15);
/// Pairs of reads at each end, of which the closest one counts: the thread may be interrupted
/// between two.
const PAIRS: u32 = 16;

enum Source {
    /// The processor's tick counter. It is calibrated once per process, if anything is measured.
    Counter {
        /// Nanoseconds of a tick, times 2³².
        scale: u64,
        /// [`LONG_NS`] in ticks.
        long: u64,
    },
    /// The system's monotonic clock, in nanoseconds since this instant: where the counter does not
    /// run at one rate.
    System(Instant),
    /// A test's clock, in nanoseconds.
    #[cfg(gpuprof_test_hooks)]
    Driven(extern "C" fn() -> u64),
}

static SOURCE: OnceLock<Source> = OnceLock::new();

#[inline]
fn source() -> &'static Source {
    SOURCE.get_or_init(calibrated)
}

#[cold]
fn calibrated() -> Source {
    let (start, first) = read_both();
    if !tick_counter::is_invariant() {
        return Source::System(start);
    }
    thread::sleep(CALIBRATION);
    let (end, last) = read_both();
    let ns = u64::try_from((end - start).as_nanos()).unwrap_or(u64::MAX);
    let ticks = last.saturating_sub(first);
    let scale = u64::try_from((u128::from(ns) << 32) / u128::from(ticks.max(1)));
    match scale {
        Ok(scale @ 1..) => Source::Counter {
            scale,
            long: u64::try_from((u128::from(LONG_NS) << 32) / u128::from(scale))
                .unwrap_or(u64::MAX),
        },
        // The counter stands still, or is far too fast.
        _ => Source::System(start),
    }
}

/// The system's clock and the counter at one moment.
fn read_both() -> (Instant, u64) {
    let pairs = (0..PAIRS).map(|_| {
        let before = tick_counter::read();
        let now = Instant::now();
        let after = tick_counter::read();
        let apart = after.saturating_sub(before);
        (apart, now, before + apart / 2)
    });
    let closest = pairs.min_by_key(|(apart, ..)| *apart);
    closest.map_or_else(
        || (Instant::now(), tick_counter::read()),
        |(_, now, ticks)| (now, ticks),
    )
}

#[inline]
fn scaled(ticks: u64, scale: u64) -> u64 {
    ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
}

fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The time in raw ticks. Only differences are meaningful; see [`ns`].
#[inline]
pub(crate) fn now() -> u64 {
    match source() {
        Source::Counter { .. } => tick_counter::read(),
        Source::System(start) => since(*start),
        #[cfg(gpuprof_test_hooks)]
        Source::Driven(now) => now(),
    }
}

/// A difference of two results of [`now`] in nanoseconds.
#[inline]
pub(crate) fn ns(ticks: u64) -> u64 {
    match source() {
        Source::Counter { scale, .. } => scaled(ticks, *scale),
        _ => ticks,
    }
}

/// Whether a difference of two results of [`now`] exceeds [`LONG_NS`], without converting it.
#[inline]
pub(crate) fn is_long(ticks: u64) -> bool {
    match source() {
        Source::Counter { long, .. } => ticks > *long,
        _ => ticks > LONG_NS,
    }
}

/// The time from `start` to `end` in nanoseconds; 0 if `end` is earlier, which the clocks of two
/// processors can cause.
#[inline]
pub(crate) fn ns_between(start: u64, end: u64) -> u64 {
    match source() {
        Source::Counter { scale, .. } => scaled(end.saturating_sub(start), *scale),
        _ => end.saturating_sub(start),
    }
}

/// Replaces the clock by one that returns nanoseconds, before the first span. Returns whether it
/// took effect.
#[cfg(gpuprof_test_hooks)]
pub fn drive(now: extern "C" fn() -> u64) -> bool {
    SOURCE.set(Source::Driven(now)).is_ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::{Duration, Instant};

    use super::{now, ns_between};

    /// The relative difference from the system's clock over 20 ms.
    fn error() -> f64 {
        let (began, start) = (Instant::now(), now());
        std::thread::sleep(Duration::from_millis(20));
        let (end, took) = (now(), began.elapsed());
        assert_eq!(ns_between(end, start), 0);
        (ns_between(start, end) as f64 / took.as_nanos() as f64 - 1.0).abs()
    }

    #[test]
    fn differences_are_those_of_the_systems_clock() {
        // The thread may be interrupted between two reads.
        let least = (0..20).map(|_| error()).fold(f64::INFINITY, f64::min);
        assert!(least < 1e-4, "off by {least}");
    }
}
