//! One function over several profiles.

use super::activities::Activities;
use super::collectives::CollectiveWork;
use super::counters::CounterTotals;
use super::devices::Ordinals;
use super::function_spreads::SpreadTotals;
use super::labels::Labels;
use super::memory::{add_function_memory, add_pool_memory};
use super::totals::{ActivityTotals, SpanTotals, Uncertainty, add, add_amount, add_option};
use crate::profile::{Function, FunctionRanks, GpuActivity, GpuSpanStats, Profile};

/// The sums of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionTotals {
    /// What is only counted, and who it is.
    sums: Function,
    /// The last profile that it was found in.
    pub(super) last_profile: u64,
    cpu: SpanTotals,
    wall: Option<SpanTotals>,
    gpu: Option<GpuTotals>,
    by_device: Vec<(u32, GpuTotals)>,
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
struct GpuTotals {
    sums: GpuSpanStats,
    times: SpanTotals,
    uncertainty: Uncertainty,
}

impl FunctionTotals {
    /// A function that bears the name and place of `function`.
    pub(super) fn named_as(function: &Function) -> Self {
        let mut totals = Self::default();
        let sums = &mut totals.sums;
        sums.name.clone_from(&function.name);
        sums.module.clone_from(&function.module);
        sums.file.clone_from(&function.file);
        sums.line = function.line;
        sums.cpu_only = true;
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
        self.add_counts(function);
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
        add_pool_memory(&mut self.sums.pool_memory, &function.pool_memory);
        self.add_activity(function, ordinals);
        match ranks {
            Some((processes, ranks)) => self.spread.add_merged(processes, ranks),
            None if function.has_run() => self.spread.add(profile, function, work),
            None => {}
        }
    }

    fn add_counts(&mut self, function: &Function) {
        let sums = &mut self.sums;
        add(&mut sums.calls, function.calls);
        add(&mut sums.open_calls, function.open_calls);
        add(&mut sums.open_ns, function.open_ns);
        sums.threads = sums.threads.saturating_add(function.threads);
        add(&mut sums.gpu_nested_ns, function.gpu_nested_ns);
        add(&mut sums.gpu_divided_calls, function.gpu_divided_calls);
        add(&mut sums.gpu_inherited_calls, function.gpu_inherited_calls);
        add(&mut sums.gpu_host_calls, function.gpu_host_calls);
        add(&mut sums.unnested_calls, function.unnested_calls);
        sums.gpu_overlaps |= function.gpu_overlaps;
        sums.gpu_nested_partial |= function.gpu_nested_partial;
        sums.gpu_nested_divided |= function.gpu_nested_divided;
        sums.gpu_nested_estimated |= function.gpu_nested_estimated;
        add(&mut sums.captured_calls, function.captured_calls);
        sums.captured_estimated |= function.captured_estimated;
        add(&mut sums.untimed_calls, function.untimed_calls);
        sums.untimed.add(&function.untimed);
        add_amount(&mut sums.bytes, function.bytes);
        add_amount(&mut sums.flops, function.flops);
        add_amount(&mut sums.items, function.items);
        sums.precision = sums.precision.or(function.precision);
        sums.has_stream |= function.has_stream;
        sums.cpu_only &= function.cpu_only;
        sums.is_async |= function.is_async;
    }

    fn on_device(&mut self, device: u32) -> &mut GpuTotals {
        let at = match self
            .by_device
            .binary_search_by_key(&device, |(known, _)| *known)
        {
            Ok(at) => at,
            Err(at) => {
                self.by_device.insert(at, (device, GpuTotals::default()));
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
        let is_timed = function.gpu.is_some() && of.busy_ns.is_some();
        self.lacks_idle |= is_timed && of.idle_ns.is_none();
        if let Some(latency) = &of.launch_latency {
            let totals = self.latency.get_or_insert_default();
            self.activities.estimated |= totals.add(latency);
        }
        if let Some(counters) = &of.counters {
            self.counters.add(counters);
        }
        let sums = &mut self.sums.activity;
        add_option(&mut sums.busy_ns, of.busy_ns);
        add_option(&mut sums.idle_ns, of.idle_ns);
        add(&mut sums.outside_span_ns, of.outside_span_ns);
        add(&mut sums.busy_calls, of.busy_calls);
        add(&mut sums.activities, of.activities);
        add(&mut sums.launches, of.launches);
        sums.work_streams = sums.work_streams.max(of.work_streams);
        sums.first_call_ns = sums.first_call_ns.or(of.first_call_ns);
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

impl GpuTotals {
    fn add(&mut self, gpu: &GpuSpanStats) {
        let sums = &mut self.sums;
        self.times.add(&gpu.times, gpu.timed_calls, gpu.timed_ns);
        add(&mut sums.timed_calls, gpu.timed_calls);
        add(&mut sums.timed_ns, gpu.timed_ns);
        add_amount(&mut sums.timed_bytes, gpu.timed_bytes);
        add_amount(&mut sums.timed_flops, gpu.timed_flops);
        add_amount(&mut sums.timed_items, gpu.timed_items);
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
