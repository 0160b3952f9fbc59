//! What was sampled in a window, or in several.

use std::time::Duration;

use gpuprof_report::profile::Stalls;

use super::context_sampler::ContextSampler;
use super::samples::PcSamples;
use super::unavailable;

/// The samples of one window, or of several.
#[derive(Clone, Debug)]
pub(crate) struct SampledStalls {
    /// For how long samples were taken.
    pub(super) sampled: Duration,
    /// Time that all starts took, ns.
    pub(super) start_ns: u64,
    pub(crate) samples: PcSamples,
}

impl SampledStalls {
    /// Adds those of another window of the same sampling.
    pub(crate) fn merge(&mut self, more: &Self) {
        self.sampled += more.sampled;
        self.start_ns = self.start_ns.max(more.start_ns);
        self.samples.merge(&more.samples);
    }

    /// The notes about samples that were lost.
    pub(crate) fn losses(&self) -> Vec<String> {
        unavailable::losses(&self.samples)
    }

    /// The figures of the profile, without the kernels.
    pub(crate) fn figures(&self) -> Stalls {
        let mut stalls = Stalls::default();
        let first = ContextSampler::FIRST_PERIOD_CYCLES;
        stalls.period_cycles = self.samples.period_cycles.max(first);
        stalls.sampled_ns = u64::try_from(self.sampled.as_nanos()).unwrap_or(u64::MAX);
        stalls.start_ns = self.start_ns;
        stalls.other_samples = self.samples.other;
        stalls.dropped_samples = self.samples.dropped;
        stalls
    }
}
