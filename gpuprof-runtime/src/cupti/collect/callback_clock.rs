//! The clock of the callbacks: the processor's tick counter, converted to CUPTI's time by the
//! reader. Asking CUPTI for its time takes longer than all else in a callback (80 of 100 ns on an
//! H200's machine).

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::library::CuptiLibrary;
use crate::clock;
use crate::os::tick_counter;

/// Pairs of reads for one anchor, of which the closest counts: the thread may be interrupted
/// between two.
const PAIRS: u32 = 4;
/// Above it, every second anchor is forgotten.
const MAX_ANCHORS: usize = 4_096;

/// A moment on the callbacks' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

/// One moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct CuptiClockAnchor {
    ticks: u64,
    /// ns of CUPTI's clock.
    ns: u64,
}

#[derive(Debug)]
pub(crate) struct CallbackClock {
    /// Whether stamps are ticks of the counter. Otherwise they are ns of CUPTI's clock: where the
    /// counter does not run at one rate, or a test drives the clock.
    counts_ticks: bool,
    anchors: Mutex<CuptiClockAnchors>,
}

impl Stamp {
    /// Before every other.
    pub(crate) const START: Self = Self(0);
}

#[cfg(test)]
impl Stamp {
    pub(crate) fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// On a clock whose stamps are ns.
    pub(crate) fn as_ns(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
impl CallbackClock {
    /// A clock whose stamps are ns.
    pub(crate) fn nanosecond_clock() -> Self {
        Self {
            counts_ticks: false,
            anchors: Mutex::default(),
        }
    }
}

impl CallbackClock {
    pub(crate) fn new() -> Self {
        Self {
            counts_ticks: clock::is_tick_counter(),
            anchors: Mutex::default(),
        }
    }

    /// The present moment; `None` if CUPTI's clock fails.
    #[inline]
    pub(crate) fn now(&self, library: &CuptiLibrary) -> Option<Stamp> {
        if self.counts_ticks {
            Some(Stamp(tick_counter::read()))
        } else {
            cupti_time(library).map(Stamp)
        }
    }

    /// The present time of CUPTI's clock in ns, which [`ns`](Self::ns) gives for this moment from
    /// now on; `None` if CUPTI's clock fails.
    pub(crate) fn set_anchor(&self, library: &CuptiLibrary) -> Option<u64> {
        let pairs = (0..PAIRS).filter_map(|_| {
            let before = clock::now();
            let ns = cupti_time(library)?;
            let apart = clock::now().saturating_sub(before);
            let ticks = before + apart / 2;
            Some((apart, CuptiClockAnchor { ticks, ns }))
        });
        let (_, anchor) = pairs.min_by_key(|(apart, _)| *apart)?;
        self.anchors.lock().add(anchor);
        Some(anchor.ns)
    }

    /// Moments on CUPTI's clock, in ns, and on the host's, in ticks.
    pub(super) fn moments(&self) -> Vec<(u64, u64)> {
        let anchors = self.anchors.lock();
        anchors.0.iter().map(|at| (at.ns, at.ticks)).collect()
    }

    /// The time of CUPTI's clock in ns. Stamps up to the latest anchor keep their order among each
    /// other and with anchors.
    pub(crate) fn ns(&self, Stamp(stamp): Stamp) -> u64 {
        if self.counts_ticks {
            self.anchors.lock().ns(stamp)
        } else {
            stamp
        }
    }
}

fn cupti_time(library: &CuptiLibrary) -> Option<u64> {
    library.timestamp().ok()
}

/// In order of time.
#[derive(Debug, Default)]
struct CuptiClockAnchors(VecDeque<CuptiClockAnchor>);

impl CuptiClockAnchors {
    fn add(&mut self, anchor: CuptiClockAnchor) {
        // Two threads may have read the clocks in another order than they come here.
        if self
            .0
            .back()
            .is_some_and(|latest| latest.ticks >= anchor.ticks)
        {
            return;
        }
        self.0.push_back(anchor);
        if self.0.len() > MAX_ANCHORS {
            // Their number is odd: the first and the last are kept.
            let mut is_kept = false;
            self.0.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// Between two anchors by their rate, before the first and after the last by that of all.
    fn ns(&self, ticks: u64) -> u64 {
        let after = self.0.partition_point(|anchor| anchor.ticks <= ticks);
        let before = after.checked_sub(1).and_then(|before| self.0.get(before));
        let ends = match (before, self.0.get(after)) {
            (Some(from), Some(to)) => Some((from, from, to)),
            (from, to) => from
                .or(to)
                .zip(self.0.front())
                .zip(self.0.back())
                .map(|((origin, first), last)| (origin, first, last)),
        };
        ends.map_or(0, |(origin, first, last)| {
            let difference = |late: u64, early: u64| i128::from(late) - i128::from(early);
            let elapsed = difference(ticks, origin.ticks) * difference(last.ns, first.ns)
                / difference(last.ticks, first.ticks).max(1);
            u64::try_from(i128::from(origin.ns) + elapsed).unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CuptiClockAnchor, CuptiClockAnchors, MAX_ANCHORS};

    fn anchors(pairs: impl IntoIterator<Item = (u64, u64)>) -> CuptiClockAnchors {
        let mut anchors = CuptiClockAnchors::default();
        for (ticks, ns) in pairs {
            anchors.add(CuptiClockAnchor { ticks, ns });
        }
        anchors
    }

    #[test]
    fn a_stamp_is_converted_by_the_anchors_around_it() {
        // 2 ticks per ns, then 4.
        let anchors = anchors([(1_000, 500), (2_000, 1_000), (4_000, 1_500)]);
        let ns = [1_000, 1_100, 2_000, 2_040, 4_000].map(|ticks| anchors.ns(ticks));
        assert_eq!(ns, [500, 550, 1_000, 1_010, 1_500]);
        // 3 ticks per ns in all.
        assert_eq!((anchors.ns(700), anchors.ns(4_300)), (400, 1_600));
    }

    #[test]
    fn a_clock_that_was_set_back_is_followed() {
        let anchors = anchors([(0, 10_000), (1_000, 11_000), (2_000, 4_000)]);
        assert_eq!((anchors.ns(500), anchors.ns(2_000)), (10_500, 4_000));
    }

    #[test]
    fn many_anchors_are_thinned_and_the_latest_is_kept() {
        let last = 100 * MAX_ANCHORS as u64;
        // A later read of an earlier moment changes nothing.
        let mut anchors = anchors((0..=last).map(|at| (10 * at, at)));
        anchors.add(CuptiClockAnchor {
            ticks: 10 * last,
            ns: 0,
        });
        assert!(anchors.0.len() <= MAX_ANCHORS);
        for at in [0, 1_234, last - 1, last] {
            assert_eq!(anchors.ns(10 * at), at);
        }
    }
}
