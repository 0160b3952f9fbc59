//! The clock: raw ticks while the program runs, nanoseconds only where times are reported.

use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};
use std::{hint, thread};

use crate::os::tick_counter;

/// Recording an event takes a few microseconds. If it takes longer than this, it waited: for a
/// place in the stream's queue, which the next launch would have waited for instead, or for other
/// threads.
const LONG_NS: u64 = 50_000;
/// No thread waits longer for others than this, in multiples of [`LONG_NS`]: so many threads at
/// once would have to record events.
const LONGEST_TURN: u64 = 20;
/// How long the first use of the clock compares the counter with the system's clock. Both ends are
/// read to within some 50 ns, so the rate is right to about 300 ppm, far less than the width of a
/// histogram's bucket.
const ROUGH_CALIBRATION: Duration = Duration::from_micros(200);
/// How long they are compared at least before ticks are reported in ns: right to about 10 ppm.
const CALIBRATION: Duration = Duration::from_millis(5);
/// If rates differ by more than one part in so many, the counter and the system's clock did not run
/// at once all the time: the machine slept, or moved.
const PLAUSIBLE: u64 = 500;
/// Pairs of reads at each end, of which the closest one counts: the thread may be interrupted
/// between two.
const PAIRS: u32 = 16;

#[derive(Debug)]
enum TickSource {
    /// The processor's tick counter, since this moment.
    Counter(CounterMoment),
    /// The system's monotonic clock, in nanoseconds since this instant: where the counter does not
    /// run at one rate.
    System(Instant),
    /// A test's clock, in nanoseconds.
    #[cfg(gpuprof_test_hooks)]
    Driven(extern "C" fn() -> u64),
}

static SOURCE: OnceLock<TickSource> = OnceLock::new();
/// Whether the source is the counter: the one check of each read.
static IS_COUNTER: AtomicBool = AtomicBool::new(false);
/// The [`Scale`] by [`ROUGH_CALIBRATION`].
static ROUGH_SCALE: AtomicU64 = AtomicU64::new(Scale::ONE.0);
/// [`LONG_NS`] in ticks.
static LONG_TICKS: AtomicU64 = AtomicU64::new(LONG_NS);
/// The [`Scale`] of all reports; 0 until the first one.
static SCALE: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds of a tick, times 2³².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale(u64);

impl Scale {
    /// Ticks are nanoseconds.
    const ONE: Self = Self(1 << 32);

    /// Ticks in nanoseconds, rounded down: the parts of a time are never more than the whole.
    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.0)) >> 32) as u64
    }

    #[cfg(test)]
    pub(crate) fn from_ghz(ghz: f64) -> Self {
        Self((Self::ONE.0 as f64 / ghz) as u64)
    }

    /// Nanoseconds of a tick.
    pub(crate) fn tick_ns(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }

    fn is_close_to(self, rough: Self) -> bool {
        self.0.abs_diff(rough.0) <= rough.0 / PLAUSIBLE
    }
}

/// The system's clock and the counter at one moment.
#[derive(Clone, Copy, Debug)]
struct CounterMoment {
    at: Instant,
    ticks: u64,
}

impl CounterMoment {
    fn now() -> Self {
        let pairs = (0..PAIRS).map(|_| {
            let before = tick_counter::read();
            let at = Instant::now();
            let apart = tick_counter::read().saturating_sub(before);
            let ticks = before + apart / 2;
            (apart, Self { at, ticks })
        });
        let closest = pairs.min_by_key(|(apart, _)| *apart);
        closest.map_or_else(
            || Self {
                at: Instant::now(),
                ticks: tick_counter::read(),
            },
            |(_, moment)| moment,
        )
    }

    /// The scale between two moments. `None`: the counter stands still, or is far too fast.
    fn scale_until(self, end: Self) -> Option<Scale> {
        let ns = end.at.saturating_duration_since(self.at).as_nanos();
        let ticks = end.ticks.saturating_sub(self.ticks);
        let scale = u64::try_from((ns << 32).checked_div(u128::from(ticks))?).ok()?;
        (scale > 0).then_some(Scale(scale))
    }
}

/// Compares the counter with the system's clock for a moment.
fn calibrate_roughly() -> TickSource {
    let start = CounterMoment::now();
    if !tick_counter::is_invariant() {
        return TickSource::System(start.at);
    }
    // To sleep would take longer, and far longer on a busy machine.
    while start.at.elapsed() < ROUGH_CALIBRATION {
        hint::spin_loop();
    }
    let Some(scale) = start.scale_until(CounterMoment::now()) else {
        return TickSource::System(start.at);
    };
    ROUGH_SCALE.store(scale.0, Relaxed);
    LONG_TICKS.store((LONG_NS as f64 / scale.tick_ns()) as u64, Relaxed);
    TickSource::Counter(start)
}

/// The time in raw ticks. Only differences are meaningful; see [`scale`].
#[inline]
pub(crate) fn now() -> u64 {
    // Acquire: a reader of the counter also finds its rate.
    if IS_COUNTER.load(Acquire) {
        tick_counter::read()
    } else {
        first_or_other_now()
    }
}

#[inline(never)]
fn first_or_other_now() -> u64 {
    match SOURCE.get_or_init(calibrate_roughly) {
        TickSource::Counter(_) => {
            IS_COUNTER.store(true, Release);
            tick_counter::read()
        }
        TickSource::System(start) => u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
        #[cfg(gpuprof_test_hooks)]
        TickSource::Driven(now) => now(),
    }
}

/// Whether [`now`] reads the processor's tick counter.
pub(crate) fn is_tick_counter() -> bool {
    let _ = now();
    IS_COUNTER.load(Acquire)
}

/// A difference of two results of [`now`] in nanoseconds, right to about 300 ppm.
#[inline]
pub(crate) fn rough_ns(ticks: u64) -> u64 {
    // In integers: on some processors a span's next read of the clock waits for this, and a float
    // takes longer.
    Scale(ROUGH_SCALE.load(Relaxed)).ns(ticks)
}

/// Whether a difference of two results of [`now`] exceeds [`LONG_NS`], without converting it.
#[inline]
pub(crate) fn is_long(ticks: u64) -> bool {
    ticks > LONG_TICKS.load(Relaxed)
}

/// Whether it exceeds what a thread waits for the driver's locks.
pub(crate) fn is_longer_than_a_turn(ticks: u64) -> bool {
    ticks / LONGEST_TURN > LONG_TICKS.load(Relaxed)
}

/// The least difference that [`is_long`].
pub(crate) fn long_ticks() -> u64 {
    LONG_TICKS.load(Relaxed).saturating_add(1)
}

/// The scale of all reports. It is measured from the first use of the clock until the first report
/// and constant from then on, so that the difference of two reports is right. Waits until
/// [`CALIBRATION`] is over: never to be called by a span.
pub(crate) fn scale() -> Scale {
    match SCALE.load(Relaxed) {
        0 => first_scale(),
        known => Scale(known),
    }
}

#[cold]
fn first_scale() -> Scale {
    let Some(TickSource::Counter(start)) = SOURCE.get() else {
        return Scale::ONE;
    };
    thread::sleep(CALIBRATION.saturating_sub(start.at.elapsed()));
    let scale = plausible_scale(*start);
    match SCALE.compare_exchange(0, scale.0, Relaxed, Relaxed) {
        Ok(_) => scale,
        Err(known) => Scale(known),
    }
}

/// The scale since `start`, or over the next few milliseconds if that is far from the rough one.
fn plausible_scale(start: CounterMoment) -> Scale {
    let rough = Scale(ROUGH_SCALE.load(Relaxed));
    let since_start = start.scale_until(CounterMoment::now());
    if let Some(scale) = since_start.filter(|scale| scale.is_close_to(rough)) {
        return scale;
    }
    let start = CounterMoment::now();
    thread::sleep(CALIBRATION);
    start.scale_until(CounterMoment::now()).unwrap_or(rough)
}

/// Replaces the clock by one that returns nanoseconds, before the first span. Returns whether it
/// took effect.
#[cfg(gpuprof_test_hooks)]
pub fn drive(now: extern "C" fn() -> u64) -> bool {
    SOURCE.set(TickSource::Driven(now)).is_ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::{Duration, Instant};

    use super::{
        CALIBRATION, CounterMoment, calibrate_roughly, now, plausible_scale, rough_ns, scale,
    };

    /// The relative difference from the system's clock over 20 ms, of the scale and the rough one.
    fn errors() -> (f64, f64) {
        let (began, start) = (Instant::now(), now());
        std::thread::sleep(Duration::from_millis(20));
        let (ticks, took) = (now() - start, began.elapsed().as_nanos() as f64);
        let error = |ns: f64| (ns / took - 1.0).abs();
        (
            error(scale().ns(ticks) as f64),
            error(rough_ns(ticks) as f64),
        )
    }

    #[test]
    fn differences_are_those_of_the_systems_clock() {
        // The thread may be interrupted between two reads, those of the calibration included.
        let least = |one: (f64, f64), other: (f64, f64)| (one.0.min(other.0), one.1.min(other.1));
        let (exact, rough) = (0..20).map(|_| errors()).fold((1.0, 1.0), least);
        assert!(exact < 5e-4, "off by {exact}");
        assert!(rough < 1e-2, "off by {rough}");
    }

    #[test]
    fn the_first_use_takes_less_than_a_millisecond() {
        let took = (0..20).map(|_| {
            let began = Instant::now();
            calibrate_roughly();
            began.elapsed()
        });
        let least = took.min().expect("20 times");
        assert!(least < Duration::from_millis(1), "{least:?}");
    }

    #[test]
    fn a_sleep_of_the_machine_does_not_change_the_scale() {
        now();
        let right = scale();
        let mut slept = CounterMoment::now();
        slept.at -= Duration::from_secs(1);
        let began = Instant::now();
        assert!(plausible_scale(slept).is_close_to(right));
        assert!(began.elapsed() >= CALIBRATION);
    }
}
