//! Joins the samples of a device's hardware counters with what ran on it at the time.
//!
//! Records arrive in any order and after their samples, so that both wait until the window ends or
//! there are too many.

use std::collections::VecDeque;

use super::limits::{MAX_PENDING_SAMPLED_ACTIVITIES, MAX_PENDING_SAMPLES};
use super::row_keys::KernelKey;
use crate::cupti::collect::pm_sampling::metrics::PmSample;
use crate::cupti::collect::record::{ActivityRecord, ActivitySpan};

/// When a kernel, copy or memset ran, and where it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledActivity {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_kernel: bool,
    /// `None` for copies and memsets, and for kernels that count in no window.
    pub(crate) row: Option<SampledKernel>,
}

impl SampledActivity {
    pub(crate) fn new(activity: &ActivityRecord, row: Option<SampledKernel>) -> Self {
        let ActivitySpan { start, end, .. } = *activity.span();
        Self {
            start,
            end,
            is_kernel: matches!(activity, ActivityRecord::Kernel(_)),
            row,
        }
    }
}

/// Where the samples of a kernel count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledKernel {
    /// The window it was launched in.
    pub(crate) epoch: u32,
    pub(crate) key: KernelKey,
    /// Of the function that launched it, or captured it; `None` outside any.
    pub(crate) site: Option<u32>,
}

/// A sample, and what ran during it.
#[derive(Debug)]
pub(crate) struct JoinedSample<'a> {
    pub(crate) sample: &'a PmSample,
    /// How long at least one activity ran, ns.
    pub(crate) busy_ns: u64,
    /// How long at least one kernel ran, ns.
    pub(crate) kernel_busy_ns: u64,
    /// The activities, and how long each of them ran, ns.
    pub(crate) parts: &'a [(SampledActivity, u64)],
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SampleJoin {
    activities: Vec<SampledActivity>,
    /// In order of time.
    samples: VecDeque<PmSample>,
    /// The end of the latest sample that was joined.
    joined_until: u64,
    latest: Option<PmSample>,
}

impl SampleJoin {
    /// Whether an activity began before the end of the latest sample.
    pub(crate) fn may_have_run_in(&self, activity: &SampledActivity) -> bool {
        self.latest
            .is_some_and(|latest| activity.start < latest.end)
    }

    /// Adds an activity. Returns for how long it ran during samples that were joined before, ns.
    #[must_use]
    pub(crate) fn add_activity(&mut self, activity: SampledActivity) -> u64 {
        let late_ns = self
            .joined_until
            .min(activity.end)
            .saturating_sub(activity.start);
        if activity.end > self.joined_until {
            self.activities.push(activity);
        }
        late_ns
    }

    /// Adds a sample. Returns the one before it.
    pub(crate) fn add_sample(&mut self, sample: PmSample) -> Option<PmSample> {
        self.samples.push_back(sample);
        self.latest.replace(sample)
    }

    /// Joins the earlier half of the samples if too many of them, or too many activities, wait. If
    /// too many activities still wait after that, drops the earlier ones. Returns their total run
    /// time, ns.
    pub(crate) fn enforce_limits(&mut self, each: impl FnMut(JoinedSample<'_>)) -> u64 {
        let has_many_activities = self.activities.len() > MAX_PENDING_SAMPLED_ACTIVITIES;
        if has_many_activities || self.samples.len() > MAX_PENDING_SAMPLES {
            self.join(self.samples.len().div_ceil(2), each);
        }
        if self.activities.len() <= MAX_PENDING_SAMPLED_ACTIVITIES {
            return 0;
        }
        // Their samples have not come.
        let dropped = self.activities.drain(..MAX_PENDING_SAMPLED_ACTIVITIES / 2);
        let times = dropped.map(|activity| activity.end.saturating_sub(activity.start));
        times.sum()
    }

    /// Joins all samples so far.
    pub(crate) fn join_all(&mut self, each: impl FnMut(JoinedSample<'_>)) {
        self.join(self.samples.len(), each);
    }

    fn join(&mut self, count: usize, mut each: impl FnMut(JoinedSample<'_>)) {
        // Mostly in order already, which a stable sort makes use of.
        self.activities.sort_by_key(|activity| activity.start);
        let mut next = 0;
        let mut running: Vec<SampledActivity> = Vec::new();
        let mut parts = Vec::new();
        for sample in self.samples.drain(..count) {
            running.retain(|activity| activity.end > sample.start);
            while let Some(activity) = self.activities.get(next)
                && activity.start < sample.end
            {
                running.push(*activity);
                next += 1;
            }
            parts.clear();
            let (mut busy, mut kernels) = (Union::new(&sample), Union::new(&sample));
            for activity in &running {
                let end = activity.end.min(sample.end);
                let ns = end.saturating_sub(activity.start.max(sample.start));
                if ns == 0 {
                    continue;
                }
                parts.push((*activity, ns));
                busy.add(activity.start, end);
                if activity.is_kernel {
                    kernels.add(activity.start, end);
                }
            }
            each(JoinedSample {
                sample: &sample,
                busy_ns: busy.ns,
                kernel_busy_ns: kernels.ns,
                parts: &parts,
            });
            self.joined_until = self.joined_until.max(sample.end);
        }
        let joined_until = self.joined_until;
        self.activities
            .retain(|activity| activity.end > joined_until);
    }
}

/// The time that intervals cover in a sample.
struct Union {
    ns: u64,
    until: u64,
}

impl Union {
    fn new(sample: &PmSample) -> Self {
        Self {
            ns: 0,
            until: sample.start,
        }
    }

    /// Adds an interval. They come in the order of their starts.
    fn add(&mut self, start: u64, end: u64) {
        self.ns += end.saturating_sub(start.max(self.until));
        self.until = self.until.max(end);
    }
}

#[cfg(test)]
mod tests;
