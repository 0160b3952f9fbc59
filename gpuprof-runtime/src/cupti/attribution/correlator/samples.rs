//! Samples of hardware counters, and the activities that ran during them.

use super::Correlator;
use crate::cupti::attribution::row_keys::KernelKey;
use crate::cupti::attribution::sample_join::SampledActivity;
use crate::cupti::attribution::sampled_devices::add_joined;
use crate::cupti::collect::pm_sampling::metrics::Sample;
use crate::cupti::collect::record::ActivitySpan;

impl Correlator {
    /// Adds a sample of a device's hardware counters.
    pub(crate) fn add_sample(&mut self, device: u32, sample: Sample) {
        self.time_line.add_sample(device, sample);
        let (windows, recorded) = (&self.windows, &mut self.recorded);
        let gap_ns = self.samples.add_sample(device, sample);
        if let Some(tables) = windows.at(sample.start).and_then(|at| recorded.tables(at)) {
            tables.device_samples.entry(device).or_default().gap_ns += gap_ns;
        }
        self.samples.enforce_limit(device, |joined| {
            add_joined(windows, recorded, device, joined)
        });
    }

    /// Adds an activity that samples may be of.
    pub(super) fn sample_activity(
        &mut self,
        span: &ActivitySpan,
        epoch: u32,
        kernel: Option<KernelKey>,
    ) {
        let ActivitySpan {
            start, end, device, ..
        } = *span;
        let late_ns = self.samples.add_activity(
            device,
            SampledActivity {
                start,
                end,
                epoch,
                kernel,
            },
        );
        if late_ns > 0
            && let Some(tables) = self.recorded.tables(epoch)
        {
            tables.device_samples.entry(device).or_default().late_ns += late_ns;
        }
    }
}
