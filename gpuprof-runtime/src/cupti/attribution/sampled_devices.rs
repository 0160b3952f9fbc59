//! The samples of all devices, and what they add to the tables of their windows.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::sample_join::{JoinedSample, SampleJoin, SampledActivity};
use super::window_history::{RecordedWindows, WindowHistory};
use crate::cupti::collect::pm_sampling;
use crate::cupti::collect::pm_sampling::metrics::{METRICS, Sample};

/// Samples and activities that are not joined yet, by device.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampledDevices(FxHashMap<u32, SampleJoin>);

impl SampledDevices {
    /// Adds an activity if its device is sampled. Returns for how long it ran during samples that
    /// were joined before, ns.
    pub(crate) fn add_activity(&mut self, device: u32, activity: SampledActivity) -> u64 {
        match self.0.contains_key(&device) || pm_sampling::is_requested() {
            true => self.0.entry(device).or_default().add_activity(activity),
            false => 0,
        }
    }

    /// Adds a sample. Returns the time without samples before it, ns.
    pub(crate) fn add_sample(&mut self, device: u32, sample: Sample) -> u64 {
        self.0.entry(device).or_default().add_sample(sample)
    }

    /// Joins the earlier half of a device's samples if too many wait.
    pub(crate) fn enforce_limit(&mut self, device: u32, each: impl FnMut(JoinedSample<'_>)) {
        if let Some(join) = self.0.get_mut(&device) {
            join.enforce_limit(each);
        }
    }

    /// Joins all samples so far.
    pub(crate) fn join_all(&mut self, mut each: impl FnMut(u32, JoinedSample<'_>)) {
        for (device, join) in &mut self.0 {
            join.join_all(|joined| each(*device, joined));
        }
    }
}

/// Adds a sample to the totals of its device, and to the kernels that ran during it and their call
/// paths: to each in proportion to its time.
pub(super) fn add_joined(
    windows: &WindowHistory,
    recorded: &mut RecordedWindows,
    device: u32,
    JoinedSample {
        sample,
        busy_ns,
        parts,
    }: JoinedSample<'_>,
) {
    if let Some(tables) = windows.at(sample.start).and_then(|at| recorded.tables(at)) {
        let samples = tables.device_samples.entry(device).or_default();
        samples.add(sample, busy_ns > 0);
    }
    let all_ns: u64 = parts.iter().map(|(_, ns)| ns).sum();
    let part = |ns: u64| {
        let share = ns as f64 / all_ns as f64;
        let mut integrals = [0.0; METRICS];
        let parts = integrals.iter_mut().zip(sample.integrals);
        parts.for_each(|(part, integral)| *part = integral * share);
        (busy_ns as f64 * share, integrals, ns < all_ns)
    };
    let kernels = parts
        .iter()
        .filter_map(|(activity, ns)| Some(((activity.epoch, activity.kernel?), *ns)));
    let kernels = summed(kernels);
    let paths = kernels
        .iter()
        .filter(|((_, kernel), _)| kernel.path.is_attributed())
        .map(|((epoch, kernel), ns)| ((*epoch, kernel.path.of_calls()), *ns));
    for ((epoch, path), ns) in summed(paths) {
        if let Some(tables) = recorded.tables(epoch) {
            let (ns, integrals, is_divided) = part(ns);
            let samples = tables.path_samples.entry(path).or_default();
            samples.add(ns, &integrals, is_divided);
        }
    }
    for ((epoch, kernel), ns) in kernels {
        if let Some(tables) = recorded.tables(epoch) {
            let (ns, integrals, is_divided) = part(ns);
            let samples = tables.kernel(kernel).samples.get_or_insert_default();
            samples.add(ns, &integrals, is_divided);
        }
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
