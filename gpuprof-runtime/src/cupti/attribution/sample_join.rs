//! Joins the samples of a device's hardware counters with what ran on it at the time.
//!
//! Records arrive in any order and after their samples, so that both wait until the window ends or
//! there are too many.

use std::collections::VecDeque;

use super::limits::{MAX_PENDING_SAMPLED_ACTIVITIES, MAX_PENDING_SAMPLES};
use super::row_keys::KernelKey;
use crate::cupti::collect::pm_sampling::metrics::Sample;

/// When a kernel, copy or memset ran, and where it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledActivity {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The window it was launched in.
    pub(crate) epoch: u32,
    /// `None` for copies and memsets.
    pub(crate) kernel: Option<KernelKey>,
}

/// A sample, and what ran during it.
#[derive(Debug)]
pub(crate) struct JoinedSample<'a> {
    pub(crate) sample: &'a Sample,
    /// How long at least one activity ran, ns.
    pub(crate) busy_ns: u64,
    /// The activities, and how long each of them ran, ns.
    pub(crate) parts: &'a [(SampledActivity, u64)],
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SampleJoin {
    activities: Vec<SampledActivity>,
    /// In order of time.
    samples: VecDeque<Sample>,
    /// The end of the latest sample that was joined.
    joined_until: u64,
    /// The end of the latest sample.
    sampled_until: Option<u64>,
}

impl SampleJoin {
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
        // Without samples nothing else removes them.
        if self.activities.len() > MAX_PENDING_SAMPLED_ACTIVITIES {
            self.activities.drain(..MAX_PENDING_SAMPLED_ACTIVITIES / 2);
        }
        late_ns
    }

    /// Adds a sample. Returns the time without samples before it, ns.
    pub(crate) fn add_sample(&mut self, sample: Sample) -> u64 {
        let before = self.sampled_until.replace(sample.end);
        self.samples.push_back(sample);
        before.map_or(0, |end| sample.start.saturating_sub(end))
    }

    /// Joins the earlier half if too many samples wait.
    pub(crate) fn enforce_limit(&mut self, each: impl FnMut(JoinedSample<'_>)) {
        if self.samples.len() > MAX_PENDING_SAMPLES {
            self.join(MAX_PENDING_SAMPLES / 2, each);
        }
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
            let (mut busy_ns, mut busy_until) = (0, sample.start);
            for activity in &running {
                let end = activity.end.min(sample.end);
                let ns = end.saturating_sub(activity.start.max(sample.start));
                if ns == 0 {
                    continue;
                }
                parts.push((*activity, ns));
                // They are in the order of their starts.
                busy_ns += end.saturating_sub(activity.start.max(busy_until));
                busy_until = busy_until.max(end);
            }
            each(JoinedSample {
                sample: &sample,
                busy_ns,
                parts: &parts,
            });
            self.joined_until = self.joined_until.max(sample.end);
        }
        let joined_until = self.joined_until;
        self.activities
            .retain(|activity| activity.end > joined_until);
    }
}

#[cfg(test)]
mod tests;
