//! How close to its peaks a function came, by hardware counters.

use super::profile_facts::ProfileFacts;
use crate::profile::{Function, Metric};

/// Shares of what the device can do while the function's kernels run; 1 is the peak.
pub(super) struct MeasuredShares {
    pub(super) memory: f64,
    /// Of the instructions.
    pub(super) issue: f64,
    /// Of the tensor cores; `None` if they were not sampled.
    pub(super) tensor: Option<f64>,
}

impl MeasuredShares {
    /// `None` without samples of its own, if the peak is unknown, or if its kernels ran on several
    /// devices or on an unknown one.
    pub(super) fn of_function(facts: &ProfileFacts<'_>, function: &Function) -> Option<Self> {
        let work = &function.activity;
        let counters = work
            .counters
            .as_ref()
            .filter(|counters| !counters.is_divided)?;
        let ordinal = work.kernels.first()?.device;
        let peak = facts.device(ordinal)?.peak_bytes_per_s? as f64;
        if work.kernels.iter().any(|kernel| kernel.device != ordinal) {
            return None;
        }
        let memory = counters.dram_bytes_per_s()? / peak;
        memory.is_finite().then_some(Self {
            memory,
            issue: counters.mean(Metric::IssueRate)?,
            tensor: counters.mean(Metric::TensorActive),
        })
    }

    /// The share of the nearest peak.
    pub(super) fn nearest(&self) -> f64 {
        self.memory.max(self.issue).max(self.tensor.unwrap_or(0.0))
    }
}
