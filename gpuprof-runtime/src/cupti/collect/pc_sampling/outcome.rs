//! What was sampled so far, and why it is not all.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::sampled_stalls::SampledStalls;
use super::samples::PcSamples;
use super::{PcSampling, unavailable};
use crate::cupti::collect::{lifecycle, used_contexts};

impl PcSampling {
    /// What was sampled, and how; `None` if nothing was.
    pub(crate) fn sampled(&self, limit: Duration) -> Option<SampledStalls> {
        if self.clock.lock().total().is_zero() {
            return None;
        }
        let samples = self.samples.try_lock_for(limit)?.clone();
        self.sampled_in_time(samples)
    }

    /// These samples, with the time in which they came; `None` if there was none.
    pub(super) fn sampled_in_time(&self, samples: PcSamples) -> Option<SampledStalls> {
        let sampled = self.clock.lock().total();
        (!sampled.is_zero()).then(|| SampledStalls {
            sampled,
            start_ns: self.start_ns.load(Relaxed),
            samples,
        })
    }

    /// Why nothing is sampled, or not everywhere.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Some(subscription) = lifecycle::subscription().filter(|_| self.is_requested()) else {
            return Vec::new();
        };
        let status_name = |status| subscription.library.status_name(status);
        let unavailable = self.unavailable.lock();
        let mut notes: Vec<String> = unavailable
            .iter()
            .map(|reason| reason.line(status_name))
            .collect();
        if notes.is_empty() && self.counters.has_devices() && self.counters.needs_devices() {
            notes.push(unavailable::ONLY_COUNTERS.to_owned());
        }
        if used_contexts::is_full() {
            notes.push(unavailable::too_many_contexts());
        }
        notes
    }
}
