//! When each set of metrics is sampled. Changing takes 0.3 s, and decoding the second set more than
//! a processor (H100, CUDA 13.0), so that it has a small part of the time.

use super::metrics::MetricSet;

/// The first set alone, ns: at first, and between two times of the second set.
const FIRST_NS: u64 = 1_000_000_000;
const BETWEEN_NS: u64 = 15_000_000_000;
/// The second set at a time, ns. There is room to decode what is stored meanwhile at once.
const IN_TURN_NS: u64 = 100_000_000;

/// The turns of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    pub(super) set: MetricSet,
    /// When it is the other's turn, ns of CUPTI's clock; `None`: never.
    until: Option<u64>,
}

/// Whether another set is sampled from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Same,
    Other,
    /// For the first time.
    New,
    /// Not yet: samples of the first set were lost.
    Full,
}

impl Turns {
    /// Of a device that samples the first set from `start` on, ns of CUPTI's clock.
    pub(super) fn new(start: Option<u64>) -> Self {
        Self {
            set: MetricSet::First,
            until: start.map(|start| start + FIRST_NS),
        }
    }

    /// The set whose turn it is at `now`, if that is another one.
    pub(super) fn next(&self, now: u64) -> Option<MetricSet> {
        self.until.filter(|until| now >= *until)?;
        Some(match self.set {
            MetricSet::First => MetricSet::InTurn,
            MetricSet::InTurn => MetricSet::First,
        })
    }

    /// The set is sampled from `start` on.
    pub(super) fn begin(&mut self, start: Option<u64>) {
        let ns = match self.set {
            MetricSet::First => BETWEEN_NS,
            MetricSet::InTurn => IN_TURN_NS,
        };
        if self.until.is_some() {
            self.until = start.map(|start| start + ns);
        }
    }

    /// Samples may have been lost before `now`: the first set goes on for a while.
    pub(super) fn put_off(&mut self, now: u64) {
        if self.set == MetricSet::First {
            self.until = self.until.map(|until| until.max(now + IN_TURN_NS));
        }
    }

    /// The first set alone from now on.
    pub(super) fn end(&mut self) {
        self.until = None;
    }
}
