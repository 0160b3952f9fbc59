//! The clock of the callbacks: the processor's tick counter, converted to CUPTI's time by the
//! reader. Asking CUPTI for its time takes longer than all else in a callback (80 of 100 ns on an
//! H200's machine).

use parking_lot::Mutex;

use super::library::CuptiLibrary;
use crate::clock;
use crate::os::tick_counter;
use gpuprof_report::trace::{ClockMap, ClockPair};

/// Pairs of reads for one anchor, of which the closest counts: the thread may be interrupted
/// between two.
const PAIRS: u32 = 4;
/// Above it, every second anchor is forgotten.
const MAX_ANCHORS: usize = 4_096;

/// A moment on the callbacks' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

#[derive(Debug)]
pub(crate) struct CallbackClock {
    /// Whether stamps are ticks of the counter. Otherwise they are ns of CUPTI's clock: where the
    /// counter does not run at one rate, or a test drives the clock.
    counts_ticks: bool,
    /// From ticks to ns of CUPTI's clock.
    anchors: Mutex<ClockMap>,
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
            let from = before + apart / 2;
            Some((apart, ClockPair { from, to: ns }))
        });
        let (_, anchor) = pairs.min_by_key(|(apart, _)| *apart)?;
        // Two threads may have read the clocks in another order than they come here.
        self.anchors.lock().add(anchor, MAX_ANCHORS);
        Some(anchor.to)
    }

    /// Moments on CUPTI's clock, in ns, and on the host's, in ticks.
    pub(super) fn moments(&self) -> Vec<(u64, u64)> {
        let anchors = self.anchors.lock();
        let moments = anchors.moments().iter();
        moments.map(|at| (at.to, at.from)).collect()
    }

    /// The time of CUPTI's clock in ns. Stamps up to the latest anchor keep their order among each
    /// other and with anchors.
    pub(crate) fn ns(&self, Stamp(stamp): Stamp) -> u64 {
        if self.counts_ticks {
            let anchors = self.anchors.lock();
            match anchors.moments() {
                // It tells no rate.
                [only] => only.to,
                _ => anchors.convert(stamp),
            }
        } else {
            stamp
        }
    }
}

fn cupti_time(library: &CuptiLibrary) -> Option<u64> {
    library.timestamp().ok()
}
