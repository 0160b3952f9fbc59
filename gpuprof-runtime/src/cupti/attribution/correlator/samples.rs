//! Samples of hardware counters, and the activities that ran during them.

use super::Correlator;
use crate::cupti::attribution::sample_join::SampledActivity;
use crate::cupti::attribution::sampled_devices::{SampledDevices, add_joined};
use crate::cupti::attribution::window_history::RecordedWindows;
use crate::cupti::collect::pm_sampling::SamplingEvent;
use crate::cupti::collect::pm_sampling::metrics::PmSample;

impl Correlator {
    /// Adds what happened on a device whose hardware counters are sampled.
    pub(crate) fn add_sampling_event(&mut self, device: u32, event: SamplingEvent) {
        let (time, start_ns, overflows) = match event {
            SamplingEvent::Sample(sample) => return self.add_sample(device, sample),
            SamplingEvent::Started { time, ns } => (time, ns, 0),
            SamplingEvent::Widened { time } => (time, 0, 1),
        };
        if let Some(tables) = self.tables_at(time) {
            let samples = tables.device_samples.entry(device).or_default();
            samples.start_ns += start_ns;
            samples.overflows += overflows;
        }
    }

    fn add_sample(&mut self, device: u32, sample: PmSample) {
        if self.windows.window_at(sample.start).is_some() {
            self.time_line.add_sample(device, sample);
        }
        let before = self.samples.add_sample(device, sample);
        if let (Some(before), Some(tables)) = (before, self.tables_at(sample.start)) {
            let samples = tables.device_samples.entry(device).or_default();
            let gap_ns = sample.start.saturating_sub(before.end);
            samples.add_gap(gap_ns, before.set != sample.set);
        }
        self.limit_samples(device);
    }

    /// Adds an activity that samples may be of; `epoch` is the window that it counts in.
    pub(super) fn sample_activity(
        &mut self,
        device: u32,
        epoch: Option<u32>,
        activity: SampledActivity,
    ) {
        let late_ns = self.samples.add_activity(device, activity);
        if late_ns > 0
            && let Some(tables) = epoch.and_then(|epoch| self.recorded.tables.get_mut(epoch))
        {
            tables.device_samples.entry(device).or_default().late_ns += late_ns;
        }
        self.limit_samples(device);
    }

    fn limit_samples(&mut self, device: u32) {
        let (windows, recorded) = (&self.windows, &mut self.recorded);
        let dropped_ns = self.samples.enforce_limits(device, |joined| {
            add_joined(windows, recorded, device, joined)
        });
        if dropped_ns > 0
            && let Some(tables) = self.recorded.tables.current_mut()
        {
            tables.device_samples.entry(device).or_default().late_ns += dropped_ns;
        }
    }

    /// Joins all samples so far, also with activities whose CUDA call has not arrived.
    pub(super) fn join_samples(
        &self,
        samples: &mut SampledDevices,
        recorded: &mut RecordedWindows,
    ) {
        for activity in self.orphans.iter() {
            let device = activity.span().device;
            // It is late for its function if the call arrives.
            let _ = samples.add_activity(device, SampledActivity::new(activity, None));
        }
        samples.join_all(|device, joined| add_joined(&self.windows, recorded, device, joined));
    }
}
