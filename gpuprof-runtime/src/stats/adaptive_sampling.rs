//! Adaptive sampling: chooses a rate per function that keeps event overhead below a fixed share of
//! its GPU time, and still times a few calls of each.
//!
//! Each call is drawn at random at the rate that holds when it begins, and is weighted by that
//! rate, so that totals stay unbiased while the rate changes. Spans read the rates; the resolver
//! writes them.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::sampling_decisions::FunctionRate;
use crate::settings::Sampling;

/// What the events of a function's calls may take of the GPU's time: one part in so many.
const SHARE: f64 = 2_000.0;
/// What a pair of events takes from work that is queued back to back, in event overheads. On an
/// H200, where it is 1.25 µs, launches of 5 µs come 3.4 µs apart further with a pair around each
/// (docs/cost.md).
const FLOORS: f64 = 3.0;
/// Calls of a function that are timed before any is left out.
const ALL: u64 = 256;
/// Calls after which one may stand for twice as many: what comes first is often slow, and each
/// stage has its share of the sample.
const STAGE: u64 = 32;
/// The most that one stands for.
const MOST: u32 = 1_024;
/// A function's duration is the mean over about so many of its latest timed calls.
const RECENT: u64 = 64;
/// Functions beyond so many are timed at every call.
const SITES: usize = 4_096;

/// How many calls a session times.
#[derive(Debug)]
pub(crate) struct SamplingRates {
    /// Time 1 call in this many; 0 is [`Sampling::Auto`], so that the setting fits one atomic word.
    session: AtomicU32,
    /// By site; 0 for 1.
    one_in: Box<[AtomicU32]>,
    seen: Mutex<FxHashMap<u32, Seen>>,
}

/// What is known of a function's timed calls, since the session began.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    calls: u64,
    mean_ns: f64,
}

impl SamplingRates {
    pub(crate) fn new() -> Self {
        Self {
            session: AtomicU32::new(1),
            one_in: (0..SITES).map(|_| AtomicU32::new(0)).collect(),
            seen: Mutex::default(),
        }
    }

    /// Begins a session's sampling. If it is automatic, every call is timed until enough of the
    /// function's calls are known.
    pub(crate) fn begin(&self, sampling: Sampling) {
        // The lock is held until all is reset, so that no rate of before is stored in between.
        let mut seen = self.seen.lock();
        seen.clear();
        self.one_in.iter().for_each(|rate| rate.store(0, Relaxed));
        let session = match sampling {
            Sampling::Auto => 0,
            Sampling::OneIn(n) => n.get(),
            _ => 1,
        };
        self.session.store(session, Relaxed);
    }

    /// The session's sampling.
    pub(crate) fn session(&self) -> Sampling {
        match NonZeroU32::new(self.session.load(Relaxed)) {
            None => Sampling::Auto,
            Some(NonZeroU32::MIN) => Sampling::EveryCall,
            Some(n) => Sampling::OneIn(n),
        }
    }

    /// How many outermost calls each timed one is to stand for, and how many calls of `site`, whose
    /// own `sample` is `stated`, or 0.
    #[inline]
    pub(crate) fn of_call(&self, site: u32, stated: u32) -> (u32, FunctionRate) {
        let session = self.session.load(Relaxed);
        let rate = match (session, stated) {
            (0, 0) => FunctionRate::Adaptive(self.of(site)),
            _ => FunctionRate::Stated(stated),
        };
        (session, rate)
    }

    /// How many calls of `site` one is to stand for that is timed now.
    #[inline]
    fn of(&self, site: u32) -> u32 {
        let one_in = self.one_in.get(site as usize);
        one_in.map_or(1, |one_in| one_in.load(Relaxed).max(1))
    }

    /// Takes note, in a session of automatic sampling, of a call that took `ns` between `pairs`
    /// pairs of events on a device with this floor.
    pub(crate) fn note(&self, site: u32, ns: u64, pairs: usize, floor_ns: u64) {
        let Some(one_in) = self.one_in.get(site as usize) else {
            return;
        };
        if self.session.load(Relaxed) != 0 {
            return;
        }
        let mut all = self.seen.lock();
        let seen = all.entry(site).or_default();
        seen.calls += 1;
        seen.mean_ns += (ns as f64 - seen.mean_ns) / seen.calls.min(RECENT) as f64;
        let stages = seen.calls.saturating_sub(ALL) / STAGE;
        let most = 1_u32.checked_shl(u32::try_from(stages).unwrap_or(u32::MAX));
        let events_ns = FLOORS * floor_ns as f64 * pairs as f64;
        let wanted = (SHARE * events_ns / seen.mean_ns.max(1.0)).ceil();
        one_in.store(
            (wanted as u32).clamp(1, most.unwrap_or(MOST).min(MOST)),
            Relaxed,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, MOST, SITES, STAGE, SamplingRates};
    use crate::settings::Sampling;

    #[test]
    fn the_first_calls_are_all_timed_then_fewer_by_stages() {
        let rates = SamplingRates::new();
        rates.begin(Sampling::Auto);
        let note = |calls| (0..calls).for_each(|_| rates.note(3, 10_000, 1, 1_000));
        assert_eq!(rates.of(3), 1);
        note(ALL + STAGE - 1);
        assert_eq!(rates.of(3), 1);
        note(1);
        assert_eq!(rates.of(3), 2);
        note(STAGE);
        assert_eq!(rates.of(3), 4);
        // 3 µs of events in 2000 × 10 µs.
        note(100 * STAGE);
        assert_eq!(rates.of(3), 600);
        assert_eq!(rates.of(4), 1, "another function");
    }

    #[test]
    fn calls_that_last_are_all_timed_and_none_stands_for_too_many() {
        let rates = SamplingRates::new();
        rates.begin(Sampling::Auto);
        let settle = |site, ns, pairs| {
            (0..10_000).for_each(|_| rates.note(site, ns, pairs, 1_000));
            rates.of(site)
        };
        assert_eq!(settle(0, 6_000_000, 1), 1);
        assert_eq!(settle(1, 6_000_000, 2), 2);
        assert_eq!(settle(2, 0, 1), MOST);
        // The function changes.
        assert_eq!(settle(2, 7_000_000, 1), 1);
        assert_eq!(settle(SITES as u32, 10, 1), 1, "one too many");
    }
}
