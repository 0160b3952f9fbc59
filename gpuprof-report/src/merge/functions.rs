//! One function over several profiles.

use super::activities::Activities;
use super::collectives::CollectiveWork;
use super::counters::CounterTotals;
use super::devices::Ordinals;
use super::function_spreads::SpreadTotals;
use super::labels::Labels;
use super::memory::add_function_memory;
use super::totals::{ActivityTotals, SpanTotals, Uncertainty};
use crate::figures::Sum;
use crate::profile::{Function, FunctionRanks, GpuActivity, GpuSpanStats, NVTX_MODULE, Profile};

/// The sums of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionTotals {
    /// The counts, and the function's name and place.
    sums: Function,
    /// The last profile that it was found in.
    pub(super) last_profile: u64,
    cpu: SpanTotals,
    wall: Option<SpanTotals>,
    gpu: Option<MergedGpuSpans>,
    by_device: Vec<(u32, MergedGpuSpans)>,
    labels: Labels,
    pub(super) activities: Activities,
    latency: Option<ActivityTotals>,
    counters: CounterTotals,
    /// Whether a profile that timed calls could not say how long they were idle.
    lacks_idle: bool,
    pub(super) spread: SpreadTotals,
}

/// GPU spans, on one device or on all.
#[derive(Clone, Debug, Default)]
struct MergedGpuSpans {
    sums: GpuSpanStats,
    times: SpanTotals,
    uncertainty: Uncertainty,
}

impl FunctionTotals {
    /// Of no profile yet: `cpu_only` holds until a profile denies it.
    pub(super) fn new() -> Self {
        let mut totals = Self::default();
        totals.sums.cpu_only = true;
        totals
    }

    /// What functions are sorted by.
    pub(super) fn order(&self) -> (String, String, String, u32) {
        let Function {
            name,
            module,
            file,
            line,
            ..
        } = &self.sums;
        (name.clone(), module.clone(), file.clone(), *line)
    }

    /// Adds the function of one profile.
    pub(super) fn add(
        &mut self,
        profile: &Profile,
        function: &Function,
        ranks: Option<(u32, &FunctionRanks)>,
        work: Option<&CollectiveWork>,
        ordinals: &Ordinals,
    ) {
        self.sums.add(function);
        self.cpu
            .add(&function.cpu, function.calls, function.cpu.total_ns);
        if let Some(wall) = &function.wall {
            let totals = self.wall.get_or_insert_default();
            totals.add(wall, function.calls, wall.total_ns);
        }
        if let Some(gpu) = &function.gpu {
            self.gpu.get_or_insert_default().add(gpu);
        }
        for gpu in function.gpu_on_each_device() {
            let Some(device) = gpu.device else { continue };
            self.on_device(ordinals.of_model(device)).add(gpu);
        }
        self.labels.add(&function.labels);
        add_function_memory(&mut self.sums.memory, &function.memory);
        self.add_activity(function, ordinals);
        match ranks {
            Some((processes, ranks)) => self.spread.add_merged(processes, ranks),
            None if function.has_run() => self.spread.add(profile, function, work),
            None => {}
        }
    }

    fn on_device(&mut self, device: u32) -> &mut MergedGpuSpans {
        let at = match self
            .by_device
            .binary_search_by_key(&device, |(known, _)| *known)
        {
            Ok(at) => at,
            Err(at) => {
                self.by_device
                    .insert(at, (device, MergedGpuSpans::default()));
                at
            }
        };
        // `at` is that of an element.
        #[expect(clippy::indexing_slicing)]
        &mut self.by_device[at].1
    }

    fn add_activity(&mut self, function: &Function, ordinals: &Ordinals) {
        let of = &function.activity;
        let device = |ordinal| ordinals.of_model(ordinal);
        self.activities
            .add(&of.kernels, &of.copies, &of.api, device);
        // The span of a range is that of its work.
        let has_span = function.gpu.is_some() || function.module == NVTX_MODULE;
        let is_timed = has_span
            && of
                .busy_ns
                .is_some_and(|ns| ns > 0 || function.gpu.is_some());
        self.lacks_idle |= is_timed && of.idle_ns.is_none();
        if let Some(latency) = &of.launch_latency {
            self.latency.get_or_insert_default().add(latency);
        }
        if let Some(counters) = &of.counters {
            self.counters.add(counters);
        }
    }

    /// The function of the merged profile.
    pub(super) fn finish(self) -> Function {
        let mut by_device: Vec<GpuSpanStats> = (self.by_device.iter())
            .map(|(device, gpu)| gpu.stats(Some(*device)))
            .collect();
        let only_device = match by_device.as_slice() {
            [only] => only.device,
            _ => None,
        };
        if only_device.is_some() {
            by_device.clear();
        }
        let sums = self.sums;
        let tables = self.activities.finish();
        Function {
            cpu: self.cpu.stats(),
            wall: self.wall.as_ref().map(SpanTotals::stats),
            gpu: self.gpu.as_ref().map(|gpu| gpu.stats(only_device)),
            gpu_by_device: by_device,
            labels: self.labels.finish(),
            activity: GpuActivity {
                kernels: tables.kernels,
                copies: tables.copies,
                api: tables.api,
                idle_ns: sums.activity.idle_ns.filter(|_| !self.lacks_idle),
                launch_latency: self.latency.as_ref().map(ActivityTotals::stats),
                counters: self.counters.values(),
                ..sums.activity
            },
            ..sums
        }
    }
}

impl MergedGpuSpans {
    fn add(&mut self, gpu: &GpuSpanStats) {
        self.sums.add(gpu);
        self.times.add(&gpu.times, gpu.timed_calls, gpu.timed_ns);
        self.uncertainty.add_estimate(gpu.estimate.as_ref());
    }

    fn stats(&self, device: Option<u32>) -> GpuSpanStats {
        GpuSpanStats {
            device,
            times: self.times.stats(),
            estimate: self.uncertainty.estimate(),
            ..self.sums.clone()
        }
    }
}
