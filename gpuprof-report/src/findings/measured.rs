//! How close a function came to its peaks, by hardware counters.

use super::profile_index::ProfileIndex;
use crate::peak_shares::{Unit, own_samples, peak_shares};
use crate::profile::{CounterValues, Function, KernelStats};

/// Shares of what the device can do while the function's kernels run; 1 is the peak.
pub(super) struct MeasuredShares {
    pub(super) memory: f64,
    /// Of all units, the nearest first.
    pub(super) all: Vec<(Unit, f64)>,
}

impl MeasuredShares {
    /// `None` without samples of its own, if the peak is unknown, or if its kernels ran on several
    /// devices or on an unknown one.
    pub(super) fn of_function(index: &ProfileIndex<'_>, function: &Function) -> Option<Self> {
        let work = &function.activity;
        let ordinal = work.kernels.first()?.device;
        if work.kernels.iter().any(|kernel| kernel.device != ordinal) {
            return None;
        }
        Self::new(index, own_samples(work.counters.as_deref())?, ordinal)
    }

    /// The same of a kernel.
    pub(super) fn of_kernel(index: &ProfileIndex<'_>, kernel: &KernelStats) -> Option<Self> {
        let counters = own_samples(kernel.counters.as_deref())?;
        Self::new(index, counters, kernel.device)
    }

    fn new(index: &ProfileIndex<'_>, counters: &CounterValues, ordinal: u32) -> Option<Self> {
        let peak = index.device(ordinal)?.peak_bytes_per_s? as f64;
        let memory = counters.dram_bytes_per_s()? / peak;
        let all = peak_shares(counters, Some(memory))?;
        memory.is_finite().then_some(Self { memory, all })
    }

    /// Whether the unit was sampled.
    pub(super) fn has(&self, unit: Unit) -> bool {
        self.all.iter().any(|(known, _)| *known == unit)
    }

    /// The share of the nearest peak.
    pub(super) fn nearest(&self) -> f64 {
        self.all.first().map_or(0.0, |(_, share)| *share)
    }
}
