//! Which samples count: those of the part of the program that is measured, in its windows.

use std::sync::atomic::Ordering::Relaxed;

use super::{LOCK_TIMEOUT, PcSampling, SampledStalls, has_driver_ended, lifecycle};

impl PcSampling {
    /// Measuring begins, or pauses.
    pub(crate) fn set_counting(&self, counts: bool) {
        if self.is_counting.load(Relaxed) == counts {
            return;
        }
        if !self.read_between(|| self.is_counting.store(counts, Relaxed)) {
            self.is_counting.store(counts, Relaxed);
        }
    }

    /// A window begins: earlier samples are not its. Returns these.
    pub(crate) fn begin_window(&self) -> Option<SampledStalls> {
        let mut sampled = None;
        let mut take = || sampled = self.take_samples();
        if !self.read_between(&mut take) && self.is_requested() {
            take();
            self.is_stale.store(true, Relaxed);
        }
        sampled
    }

    /// The samples since this was last called.
    pub(super) fn take_samples(&self) -> Option<SampledStalls> {
        let samples = std::mem::take(&mut *self.samples.lock());
        let sampled = self.sampled_in_time(samples);
        self.clock.lock().reset();
        sampled
    }

    /// Reads all samples so far, and does something. Returns false, without either, if nothing is
    /// sampled or a call of CUPTI's takes long.
    fn read_between(&self, then: impl FnOnce()) -> bool {
        if !self.is_requested() || lifecycle::callable_library().is_none() || has_driver_ended() {
            return false;
        }
        let Some(mut samplers) = self.samplers.try_lock_for(LOCK_TIMEOUT) else {
            return false;
        };
        self.read(&mut samplers);
        then();
        self.set_clock(&samplers);
        true
    }
}
