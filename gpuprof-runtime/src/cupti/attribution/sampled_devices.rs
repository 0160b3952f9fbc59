//! The samples of all devices, and what they add to the tables of their windows.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::sample_join::{JoinedSample, SampleJoin, SampledActivity};
use super::sample_sums::RowSamples;
use super::window_history::{RecordedWindows, WindowHistory};
use crate::cupti::collect::pm_sampling::PmSampling;
use crate::cupti::collect::pm_sampling::metrics::{Division, PmSample};

/// Samples and activities that are not joined yet, by device.
#[derive(Clone, Default)]
pub(crate) struct SampledDevices {
    joins: FxHashMap<u32, SampleJoin>,
    pm_sampling: Arc<PmSampling>,
}

impl SampledDevices {
    pub(crate) fn new(pm_sampling: Arc<PmSampling>) -> Self {
        Self {
            joins: FxHashMap::default(),
            pm_sampling,
        }
    }

    /// Nothing is sampled from now on.
    pub(crate) fn forget(&mut self) {
        self.joins.clear();
    }

    /// Adds an activity if its device is sampled. Returns for how long it ran during samples that
    /// were joined before, ns.
    pub(crate) fn add_activity(&mut self, device: u32, activity: SampledActivity) -> u64 {
        match self.joins.get(&device) {
            _ if self.pm_sampling.is_sampled(device) => {}
            None => {
                // Its stream is named by no profiled function that was called before.
                self.pm_sampling.start_device_later(device);
                return 0;
            }
            // Sampling has ended, but for what ran before.
            Some(join) if join.may_have_run_in(&activity) => {}
            Some(_) => return 0,
        }
        self.joins.entry(device).or_default().add_activity(activity)
    }

    /// Adds a sample. Returns the one before it.
    pub(crate) fn add_sample(&mut self, device: u32, sample: PmSample) -> Option<PmSample> {
        self.joins.entry(device).or_default().add_sample(sample)
    }

    /// Joins the earlier half of a device's samples if there are too many of them, or too many
    /// activities. Returns for how long the activities ran that were dropped, ns.
    pub(crate) fn enforce_limits(
        &mut self,
        device: u32,
        each: impl FnMut(JoinedSample<'_>),
    ) -> u64 {
        let join = self.joins.get_mut(&device);
        join.map_or(0, |join| join.enforce_limits(each))
    }

    /// Joins all samples so far.
    pub(crate) fn join_all(&mut self, mut each: impl FnMut(u32, JoinedSample<'_>)) {
        for (device, join) in &mut self.joins {
            join.join_all(|joined| each(*device, joined));
        }
    }
}

/// Adds a sample to the totals of its device, and to the kernels that ran during it and their
/// functions.
pub(super) fn add_joined(
    windows: &WindowHistory,
    recorded: &mut RecordedWindows,
    device: u32,
    joined: JoinedSample<'_>,
) {
    let sample = joined.sample;
    if let Some(tables) = windows
        .window_at(sample.start)
        .and_then(|at| recorded.tables.get_mut(at))
    {
        let samples = tables.device_samples.entry(device).or_default();
        samples.add(sample, joined.busy_ns > 0);
    }
    let divided = DividedSample::new(&joined);
    let kernels = joined
        .parts
        .iter()
        .filter_map(|(activity, ns)| Some((activity.row?, *ns)));
    let functions = kernels
        .clone()
        .filter_map(|(row, ns)| Some(((row.epoch, row.site?), ns)));
    for ((epoch, site), ns) in summed(functions) {
        if let Some(tables) = recorded.tables.get_mut(epoch) {
            divided.add_to(tables.site_samples.entry(site).or_default(), ns);
        }
    }
    for ((epoch, kernel), ns) in summed(kernels.map(|(row, ns)| ((row.epoch, row.key), ns))) {
        if let Some(tables) = recorded.tables.get_mut(epoch) {
            let samples = &mut tables.kernel(kernel).samples;
            divided.add_to(samples.get_or_insert_default(), ns);
        }
    }
}

/// A sample of which each kernel gets a part.
struct DividedSample {
    /// Of all activities, ns.
    all_ns: u64,
    busy_ns: f64,
    sample: PmSample,
}

impl DividedSample {
    fn new(joined: &JoinedSample<'_>) -> Self {
        let busy_ns = joined.busy_ns as f64;
        let mut sample = *joined.sample;
        let integrals = sample.integrals.iter_mut();
        for (integral, division) in integrals.zip(joined.sample.divisions()) {
            match division {
                Division::Activities => {}
                // Of kernels alone: as if they had run for as long as all activities.
                Division::Kernels => *integral *= busy_ns / joined.kernel_busy_ns.max(1) as f64,
                // As if it had been the same for no longer than they ran.
                Division::SameRatio => *integral *= busy_ns / joined.sample.ns() as f64,
            }
        }
        Self {
            all_ns: joined.parts.iter().map(|(_, ns)| ns).sum(),
            busy_ns,
            sample,
        }
    }

    /// Adds the part of kernels that ran for `ns`, in proportion to the time.
    fn add_to(&self, samples: &mut RowSamples, ns: u64) {
        let share = ns as f64 / self.all_ns as f64;
        let integrals = self.sample.integrals.map(|integral| integral * share);
        let part = PmSample {
            integrals,
            ..self.sample
        };
        samples.add(self.busy_ns * share, &part, ns < self.all_ns);
    }
}

type Sums<K> = SmallVec<[(K, u64); 4]>;

/// Adds up the times of equal keys.
fn summed<K: PartialEq>(times: impl Iterator<Item = (K, u64)>) -> Sums<K> {
    let mut sums = Sums::new();
    for (key, ns) in times {
        match sums.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum += ns,
            None => sums.push((key, ns)),
        }
    }
    sums
}
