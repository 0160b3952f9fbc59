//! What one row of the table shows, worked out from the profile and not yet turned into digits.

use std::cmp::{Ordering, Reverse};

use super::peak::{self, PeakKind, share};
use super::qualifiers::Doubt;
use crate::peak_shares::dram_share_of_function;
use crate::profile::{CounterValues, Device, Function, GpuSpanStats, Precision, Profile, TreeNode};
use crate::setting_values::Sort;
use crate::sorting::sort_by;

/// One row. `None` is a figure that does not exist or does not add up. Times in ns, rates per
/// second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) calls: u64,
    /// Calls in progress; `None` if there are none.
    pub(super) open_calls: Option<u64>,
    /// Their time so far.
    pub(super) open_ns: Option<u64>,
    /// What is to be said of the GPU sums.
    pub(super) doubt: Doubt,
    pub(super) gpu_self: Option<u64>,
    pub(super) gpu_total: Option<u64>,
    /// GPU time of the spans inside, where the function has no stream of its own.
    pub(super) gpu_inside: Option<u64>,
    /// GPU busy time by CUPTI's records; of a kernel, its GPU time.
    pub(super) busy: Option<u64>,
    /// Mean of `busy` per call.
    pub(super) busy_avg: Option<u64>,
    /// Idle share of the GPU spans, 1 being the whole.
    pub(super) idle: Option<f64>,
    pub(super) gpu_avg: Option<u64>,
    pub(super) gpu_p50: Option<u64>,
    pub(super) gpu_p95: Option<u64>,
    pub(super) gpu_max: Option<u64>,
    pub(super) cpu_total: Option<u64>,
    pub(super) cpu_self: Option<u64>,
    pub(super) cpu_avg: Option<u64>,
    /// Mean time from the first poll to the end; of async functions.
    pub(super) wall_avg: Option<u64>,
    pub(super) bytes_per_s: Option<f64>,
    pub(super) flops_per_s: Option<f64>,
    pub(super) items_per_s: Option<f64>,
    /// The larger of the bandwidth share and the arithmetic share, 1 being the peak. Of copies
    /// between host and device, the share of the link.
    pub(super) peak: Option<(f64, PeakKind)>,
    /// What the hardware counters measured while its kernels ran.
    pub(super) counters: Option<CounterValues>,
    /// Measured bandwidth of device memory, 1 being the peak.
    pub(super) dram_share: Option<f64>,
}

impl Figures {
    /// The row of a whole function.
    pub(super) fn of_function(function: &Function, devices: &[Device]) -> Self {
        let cpu = &function.cpu;
        let mut row = function.gpu.as_ref().map_or_else(Self::default, |gpu| {
            Self::of_gpu(
                gpu,
                function.gpu_on_each_device(),
                devices,
                function.precision,
            )
        });
        let parts = function.gpu_on_each_device();
        row.peak = peak::shown(row.peak, function, parts, devices);
        row.calls = function.calls;
        row.open_calls = (function.open_calls > 0).then_some(function.open_calls);
        row.open_ns = row.open_calls.map(|_| function.open_ns);
        row.doubt = Doubt::of(function);
        row.gpu_inside =
            (!function.has_stream && function.gpu_nested_ns > 0).then_some(function.gpu_nested_ns);
        row.busy = function.activity.busy_ns;
        row.busy_avg = mean(row.busy, function.activity.busy_calls);
        row.idle = idle_share(function.activity.idle_ns, row.busy);
        row.counters = function.activity.counters.as_deref().cloned();
        row.dram_share = dram_share_of_function(function, devices);
        row.wall_avg = function.wall.as_ref().map(|wall| wall.mean_ns);
        // Replays, which may be all that ran in a window, have no time on the CPU.
        let called = function.calls > 0;
        row.cpu_total = called.then_some(cpu.total_ns);
        row.cpu_self = called.then_some(cpu.self_ns);
        row.cpu_avg = called.then_some(cpu.mean_ns);
        if function.cpu_only && function.gpu.is_none() {
            row.bytes_per_s = per_second(function.bytes, cpu.total_ns);
            row.flops_per_s = per_second(function.flops, cpu.total_ns);
            row.items_per_s = per_second(function.items, cpu.total_ns);
        }
        row
    }

    /// The row of a function on one call path. `alone`: the function, if this is its only path; its
    /// percentiles and rates are then those of the row.
    pub(super) fn of_node(
        node: &TreeNode,
        alone: Option<&Function>,
        doubt: Doubt,
        devices: &[Device],
    ) -> Self {
        let whole = alone.map(|function| Self::of_function(function, devices));
        let mut row = whole.unwrap_or_default();
        row.calls = node.runs();
        row.open_calls = (node.open_calls > 0).then_some(node.open_calls);
        row.open_ns = row.open_calls.map(|_| node.open_ns);
        row.doubt = doubt;
        let replayed = node.captured.as_ref().map(|captured| captured.busy_ns);
        row.busy = node.busy_ns.or(replayed);
        row.busy_avg = mean(row.busy, row.calls);
        row.idle = idle_share(node.idle_ns, node.busy_ns);
        row.gpu_self = node.gpu_self_ns;
        row.gpu_total = node.gpu_total_ns;
        row.gpu_inside =
            (row.gpu_total.is_none() && node.gpu_nested_ns > 0).then_some(node.gpu_nested_ns);
        // So that average times calls is the total. A total that lacks calls has no such average.
        if doubt.estimated || row.gpu_avg.is_none() {
            let of_all = mean(row.gpu_total.or(row.gpu_inside), row.calls);
            row.gpu_avg = of_all.filter(|_| !doubt.partial || doubt.estimated);
        }
        let ended = node.calls > 0 || node.open_calls == 0;
        let called = node.captured.is_none() && ended;
        row.cpu_total = called.then_some(node.cpu_total_ns);
        row.cpu_self = called.then_some(node.cpu_self_ns);
        row.cpu_avg = row.cpu_total.and_then(|ns| mean(Some(ns), node.calls));
        row
    }

    /// The row of a kernel or of copies.
    pub(super) fn of_activity(calls: u64, total_ns: u64) -> Self {
        Self {
            calls,
            busy: Some(total_ns),
            busy_avg: mean(Some(total_ns), calls),
            ..Self::default()
        }
    }

    /// Adds the sums of another row; what is no sum is not added.
    pub(super) fn add(&mut self, other: &Self) {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        self.doubt = self.doubt.and(other.doubt);
        self.calls = self.calls.saturating_add(other.calls);
        add(&mut self.open_calls, other.open_calls);
        add(&mut self.open_ns, other.open_ns);
        add(&mut self.busy, other.busy);
        add(&mut self.gpu_total, other.gpu_total);
        add(&mut self.gpu_inside, other.gpu_inside);
        add(&mut self.gpu_self, other.gpu_self);
        add(&mut self.cpu_total, other.cpu_total);
        add(&mut self.cpu_self, other.cpu_self);
    }

    /// The row of the part that one device ran: GPU figures only, the calls being the timed ones.
    pub(super) fn of_device(
        part: &GpuSpanStats,
        doubt: Doubt,
        devices: &[Device],
        precision: Option<Precision>,
    ) -> Self {
        Self {
            calls: part.timed_calls,
            doubt,
            ..Self::of_gpu(part, std::slice::from_ref(part), devices, precision)
        }
    }

    /// The row that sums up functions: calls and self times, as totals of nested functions do not
    /// add up.
    pub(super) fn of_others<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Self {
        let mut sum = Self::default();
        for function in functions {
            let gpu = function.gpu.as_ref();
            sum.add(&Self {
                calls: function.calls,
                open_calls: (function.open_calls > 0).then_some(function.open_calls),
                cpu_self: Some(function.cpu.self_ns),
                gpu_self: gpu.map(|gpu| gpu.times.self_ns),
                doubt: gpu.map_or_else(Doubt::default, |_| Doubt::of(function)),
                ..Self::default()
            });
        }
        sum
    }

    fn of_gpu(
        gpu: &GpuSpanStats,
        parts: &[GpuSpanStats],
        devices: &[Device],
        precision: Option<Precision>,
    ) -> Self {
        let times = &gpu.times;
        let per_s = |work| per_second(work, gpu.timed_ns);
        let memory = share(gpu.timed_bytes, parts, devices, |device| {
            device.peak_bytes_per_s
        });
        let precision = precision.unwrap_or(Precision::F32);
        let arithmetic = share(gpu.timed_flops, parts, devices, |device| {
            device.peak_flops(precision)
        });
        Self {
            gpu_self: Some(times.self_ns),
            gpu_total: Some(times.total_ns),
            gpu_avg: Some(times.mean_ns),
            gpu_p50: Some(times.p50_ns),
            gpu_p95: Some(times.p95_ns),
            gpu_max: Some(times.max_ns),
            bytes_per_s: per_s(gpu.timed_bytes),
            flops_per_s: per_s(gpu.timed_flops),
            items_per_s: per_s(gpu.timed_items),
            peak: match (memory, arithmetic) {
                (Some(memory), Some(arithmetic)) if arithmetic > memory => {
                    Some((arithmetic, PeakKind::Arithmetic(precision)))
                }
                (Some(memory), _) => Some((memory, PeakKind::Memory)),
                (None, arithmetic) => {
                    arithmetic.map(|share| (share, PeakKind::Arithmetic(precision)))
                }
            },
            ..Self::default()
        }
    }
}

fn mean(total_ns: Option<u64>, calls: u64) -> Option<u64> {
    Some((total_ns? as f64 / calls as f64).round() as u64).filter(|_| calls > 0)
}

fn idle_share(idle_ns: Option<u64>, busy_ns: Option<u64>) -> Option<f64> {
    let (idle, busy) = (idle_ns? as f64, busy_ns? as f64);
    Some(idle / (idle + busy)).filter(|share| share.is_finite())
}

/// Whether the function was called on this path, or replayed there.
pub(super) fn has_run(node: &TreeNode) -> bool {
    node.has_run() || node.captured.is_some()
}

/// GPU time of a node with everything inside it, ns: busy time, or GPU spans without CUPTI.
pub(crate) fn gpu_inclusive(node: &TreeNode) -> u64 {
    let spans = node.gpu_total_ns.unwrap_or(0).max(node.gpu_nested_ns);
    let replayed = node.captured.as_ref().map(|captured| captured.busy_ns);
    node.busy_ns.or(replayed).unwrap_or(spans)
}

/// `None` if no work is stated or no time passed.
pub(super) fn per_second(work: Option<f64>, ns: u64) -> Option<f64> {
    work.map(|work| work / (ns as f64 / 1e9))
        .filter(|rate| rate.is_finite())
}

/// The functions that ran or are running, in the order wanted.
pub(super) fn sorted(profile: &Profile, sort: Sort) -> Vec<&Function> {
    let mut functions: Vec<&Function> = profile
        .functions
        .iter()
        .filter(|function| function.has_run())
        .collect();
    sort_by(&mut functions, |a, b| compare(a, b, sort));
    functions
}

fn compare(a: &Function, b: &Function, sort: Sort) -> Ordering {
    let first = match sort {
        Sort::Gpu | Sort::Name => Ordering::Equal,
        Sort::Cpu => b.cpu.self_ns.cmp(&a.cpu.self_ns),
        Sort::Calls => b.calls.cmp(&a.calls),
        Sort::Max => longest(b).cmp(&longest(a)),
    };
    let by_name = || a.name.cmp(&b.name);
    if sort == Sort::Name {
        return by_name();
    }
    first
        .then_with(|| gpu_sort_key(a).cmp(&gpu_sort_key(b)))
        .then_with(by_name)
}

/// Longest call: on the GPU first, so that a slow call on the CPU does not hide it.
pub(super) fn longest(function: &Function) -> (u64, u64) {
    (
        function.gpu.as_ref().map_or(0, |gpu| gpu.times.max_ns),
        function.cpu.max_ns,
    )
}

fn gpu_sort_key(function: &Function) -> impl Ord + use<> {
    let gpu_self = function.gpu.as_ref().map_or(0, |gpu| gpu.times.self_ns);
    Reverse((gpu_self, function.gpu_nested_ns, function.cpu.self_ns))
}

#[cfg(test)]
mod tests;
