//! One function of a profile: its counts, times, estimates and GPU activity, over all of its call
//! paths.

use rustc_hash::FxHashSet;

use super::call_outcome::{StatedWork, UntimedReason};
use super::call_tree_node::CallTreeNode;
use super::cluster_sums::ClusterGroup;
use super::durations::{DurationSums, Ns};
use super::gpu_totals::GpuPathTotals;
use super::host_path_totals::HostPathTotals;
use super::path_estimate::{PathEstimate, SampleCounts};
use super::path_ids::ROOT;
use super::profile_inputs::{CuptiActivity, ProfileInputs};
use crate::site::Site;
use gpuprof_report::histogram::Histogram;
use gpuprof_report::profile::{
    Estimate, Function, GpuActivity, GpuSpanStats, SpanStats, UntimedReasons,
};

/// A function that was never called.
pub(super) fn uncalled(site: &Site) -> Function {
    let mut function = Function::default();
    function.name = site.name().to_owned();
    function.module = site.meta.module.to_owned();
    function.file = site.meta.file.to_owned();
    function.line = site.meta.line;
    function.cpu_only = site.meta.cpu;
    function.precision = site.meta.precision;
    function.is_async = site.meta.is_async;
    function
}

/// The function of the site `id`, which was called on the paths `nodes`.
pub(super) fn function(
    inputs: &ProfileInputs<'_>,
    site: &Site,
    id: u32,
    nodes: &[&CallTreeNode<'_>],
) -> Function {
    let mut all = HostPathTotals::<Ns>::default();
    let (mut outermost_cpu, mut outermost_wall) = (0, 0);
    let mut outermost_open = 0;
    let mut nested_ns = 0.0;
    let mut sample = SampleCounts::default();
    for node in nodes {
        all.merge(&node.totals);
        sample.add(&node.estimate.counts);
        if !node.path.recursive {
            outermost_cpu += node.totals.cpu.total;
            outermost_wall += node.totals.wall.total;
            outermost_open += node.totals.open.ticks(inputs.now);
            nested_ns += node.nested_ns;
        }
    }
    let totals = &inputs.totals;
    let gpu = gpu_stats(inputs, id, nodes, &sample, None);
    let gpu_totals = || nodes.iter().flat_map(|node| node.gpu());
    let devices: FxHashSet<u32> = gpu_totals().map(|(device, _)| device).collect();
    let mut devices: Vec<u32> = devices.into_iter().collect();
    devices.sort_unstable();
    // One device's part is the whole.
    let is_split = gpu.as_ref().is_some_and(|gpu| gpu.device.is_none());
    let ordinals = devices.iter().filter(|_| is_split);
    let by_device: Vec<_> = ordinals
        .filter_map(|&ordinal| gpu_stats(inputs, id, nodes, &sample, Some(ordinal)))
        .collect();
    let failed: u64 = gpu_totals().map(|(_, gpu)| gpu.failed).sum();
    let timed = gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let untimed = untimed_reasons(&all, timed, failed, &sample);
    // Idle time needs a span for every busy time. One of two devices may be busy while the other
    // is idle, and a call that was to be timed and was not has busy time and no span.
    let has_idle = devices.len() == 1 && failed == 0 && untimed.unfinished == 0;
    let self_ns = all.cpu.total.saturating_sub(all.cpu.nested);
    // Less than their own time if the call that they are nested in has not ended, or does not hold
    // all polls of one that is a future.
    let outermost_cpu = outermost_cpu.max(self_ns);
    let mut function = uncalled(site);
    function.calls = all.cpu.calls;
    function.open_calls = all.open.count();
    function.open_ns = inputs.scale.ns(outermost_open);
    function.threads = totals.threads.get(&id).copied().unwrap_or(0);
    function.cpu = span_stats(&all.cpu, outermost_cpu, self_ns, totals.cpu.get(&id));
    function.wall = (site.meta.is_async && all.wall.calls > 0).then(|| {
        let histogram = totals.wall.get(&id);
        span_stats(&all.wall, outermost_wall, outermost_wall, histogram)
    });
    let roots = nodes.iter().filter(|node| node.path.parent == ROOT);
    function.unnested_calls = roots.map(|node| node.totals.off_main).sum();
    function.gpu_by_device = by_device;
    function.gpu_nested_ns = nested_ns.round() as u64;
    let sum =
        |field: fn(&GpuPathTotals) -> u64| -> u64 { gpu_totals().map(|(_, gpu)| field(gpu)).sum() };
    function.gpu_divided_calls = sum(|gpu| gpu.divided);
    function.gpu_inherited_calls = sum(|gpu| gpu.inherited);
    function.gpu_host_calls = sum(|gpu| gpu.may_be_host);
    function.gpu_overlaps = match all.counts.with_stream() {
        0 => nodes.iter().any(|node| node.nested_undivided),
        _ => sum(|gpu| gpu.undivided) > 0,
    };
    function.gpu_nested_partial = nodes.iter().any(|node| node.nested_partial);
    function.gpu_nested_divided = nodes.iter().any(|node| node.nested_divided);
    function.gpu_nested_estimated = nodes.iter().any(|node| node.nested_estimated);
    function.captured_calls = all.counts.captured + sample.captured_unasked;
    function.captured_estimated = function.captured_calls > 0 && sample.unasked > 0;
    function.untimed_calls = untimed.sum();
    function.untimed = untimed;
    function.bytes = all.work.bytes;
    function.flops = all.work.flops;
    function.items = all.work.items;
    function.has_stream = all.counts.with_stream() > 0;
    function.activity = gpu_activity(inputs, id, gpu.as_ref().filter(|_| has_idle));
    function.gpu = gpu;
    let memory = inputs
        .cupti
        .as_ref()
        .and_then(|all| all.memory.get(&Some(id)));
    function.memory = memory.cloned().unwrap_or_default();
    function
}

/// A function's activity by CUPTI's records. Idle time is the part of the GPU span that it leaves.
fn gpu_activity(inputs: &ProfileInputs<'_>, site: u32, gpu: Option<&GpuSpanStats>) -> GpuActivity {
    let Some(cupti) = &inputs.cupti else {
        return GpuActivity::default();
    };
    let CuptiActivity {
        mut activity,
        busy_ns_by_label: _,
        called_busy_ns,
        extent_ns,
        timed_busy_ns,
        devices,
    } = cupti.functions.get(&site).cloned().unwrap_or_default();
    let busy_ns = activity.busy_ns.unwrap_or(0);
    activity.busy_ns = Some(busy_ns);
    if inputs.is_range(site) && devices <= 1 {
        // No stream is a range's: its GPU span is that of its work. That of replays is unknown.
        let idle_ns = extent_ns.checked_sub(called_busy_ns);
        activity.idle_ns = idle_ns.filter(|_| busy_ns == called_busy_ns);
    } else if let Some(gpu) = gpu.filter(|_| devices <= 1) {
        // An estimated span covers all calls, and no replays.
        let (busy_ns, error_ns) = match &gpu.estimate {
            Some(estimate) => (
                called_busy_ns,
                estimate.total_ci95_ns.unwrap_or(gpu.times.total_ns),
            ),
            None => (timed_busy_ns, 0),
        };
        let span_ns = gpu.times.total_ns;
        activity.idle_ns = span_ns.checked_sub(busy_ns);
        activity.outside_span_ns = busy_ns.saturating_sub(span_ns.saturating_add(error_ns));
    }
    activity
}

/// Calls by why they were not timed. A call with a stream that has no reason yet is unfinished.
fn untimed_reasons(
    totals: &HostPathTotals<Ns>,
    timed: u64,
    failed: u64,
    sample: &SampleCounts,
) -> UntimedReasons {
    let with_stream = totals.counts.with_stream();
    let mut untimed = UntimedReasons::default();
    untimed.no_stream = match with_stream {
        0 => 0,
        _ => totals.cpu.calls.saturating_sub(with_stream),
    };
    untimed.sampled_out = sample.sampled_out();
    untimed.pool_exhausted = totals.untimed(UntimedReason::PoolExhausted);
    untimed.queue_full = totals.untimed(UntimedReason::QueueFull);
    untimed.cuda_error = totals.untimed(UntimedReason::CudaError) + failed;
    untimed.unavailable = totals.untimed(UntimedReason::Unavailable);
    untimed.stream_unsafe = totals.untimed(UntimedReason::StreamUnsafe);
    untimed.crossed_reset = totals.untimed(UntimedReason::CrossedReset);
    let captured = totals.counts.captured + sample.captured_unasked;
    let explained = timed + captured + untimed.sum();
    untimed.unfinished = (with_stream + untimed.no_stream).saturating_sub(explained);
    untimed
}

/// The GPU spans of a function, on one device or on all. `None`: no time is known.
fn gpu_stats(
    inputs: &ProfileInputs<'_>,
    site: u32,
    nodes: &[&CallTreeNode<'_>],
    sample: &SampleCounts,
    device: Option<u32>,
) -> Option<GpuSpanStats> {
    let (mut timed, mut represented) = (DurationSums::default(), DurationSums::default());
    let mut all = DurationSums::default();
    let mut work = StatedWork::NONE;
    let (mut total, mut self_time) = (0.0, 0.0);
    let mut calls = 0;
    let mut devices = FxHashSet::default();
    let mut histogram = Histogram::default();
    for node in nodes {
        for (ordinal, gpu) in node.gpu() {
            if device.is_some_and(|wanted| wanted != ordinal) {
                continue;
            }
            if gpu.timed.calls > 0 {
                devices.insert(ordinal);
            }
            timed.merge(&gpu.timed);
            represented.merge(&gpu.represented);
            // A call on streams of two devices has a time on each, and is one call.
            calls += device.map_or(gpu.calls, |_| gpu.timed.calls);
            work.add(&gpu.work);
        }
        let estimate = &node.estimate;
        all.merge(&estimate.durations(device));
        estimate.add_to_histogram(device, &mut histogram);
        total += estimate.outermost_ns(device);
        self_time += estimate.own_ns(device);
    }
    if all.calls == 0 {
        return None;
    }
    // Divides by the mean weight, which gives the sums of the timed calls alone if all weigh the
    // same.
    let weighted_calls = timed.calls + represented.calls;
    let unweighted = timed.calls as f64 / weighted_calls.max(1) as f64;
    let of_timed = |sum: Option<f64>| sum.map(|sum| sum * unweighted);
    let only_device = devices
        .iter()
        .copied()
        .next()
        .filter(|_| devices.len() == 1);
    let self_time = self_time.clamp(0.0, total).round() as u64;
    let mut stats = GpuSpanStats::default();
    stats.device = only_device;
    stats.timed_calls = calls;
    stats.times = span_stats(&all, total.round() as u64, self_time, Some(&histogram));
    stats.estimate = estimate(inputs, site, nodes, sample, device);
    stats.timed_bytes = of_timed(work.bytes);
    stats.timed_flops = of_timed(work.flops);
    stats.timed_items = of_timed(work.items);
    let weighted_ns = timed.total.saturating_add(represented.total);
    stats.timed_ns = (weighted_ns as f64 * unweighted).round() as u64;
    Some(stats)
}

/// The uncertainty of a function's total on one device or on all. `None`: no call was sampled out.
fn estimate(
    inputs: &ProfileInputs<'_>,
    site: u32,
    nodes: &[&CallTreeNode<'_>],
    sample: &SampleCounts,
    device: Option<u32>,
) -> Option<Estimate> {
    if sample.sampled_out() == 0 {
        return None;
    }
    let mut drawn = nodes.iter().filter(|node| node.estimate.counts.drawn > 0);
    let only_path = drawn.next().filter(|_| drawn.next().is_none());
    let clusters = &inputs.gpu.clusters;
    let group = match (clusters.site_group(site, device), only_path) {
        // Of a single path the sums are kept without a mean so far.
        (ClusterGroup::Site(_), Some(node)) => ClusterGroup::Path(node.id),
        (group, _) => group,
    };
    let half = clusters.half_width(group, sample.per_represented());
    let mut estimate = Estimate::default();
    estimate.total_ci95_ns = half.map(|half| {
        let unseen_ns: f64 = nodes.iter().map(|node| node.estimate.unseen_ns).sum();
        let mean_ns = unseen_ns / sample.sampled_out() as f64;
        let moved_ns: f64 = nodes.iter().map(|node| node.estimate.moved_ns).sum();
        // The number of calls and their mean are estimated independently.
        let half = half.hypot(mean_ns * sample.calls_half_width()) + moved_ns.abs();
        half.round() as u64
    });
    Some(estimate)
}

/// The uncertainty of the total of one path, or of several as if they varied together. `None`: no
/// call was sampled out.
pub(super) fn estimate_of_rows(nodes: &[&CallTreeNode<'_>]) -> Option<Estimate> {
    let estimated = || {
        nodes
            .iter()
            .map(|node| &node.estimate)
            .filter(|row| row.is_estimated())
    };
    estimated().next()?;
    let half_width = |row: &PathEstimate<'_>| {
        let mean_ns = row.unseen_ns / row.counts.sampled_out() as f64;
        let half = row
            .half_width_ns?
            .hypot(mean_ns * row.counts.calls_half_width());
        Some(half + row.moved_ns.abs())
    };
    let half: Option<f64> = estimated().map(half_width).sum();
    let mut estimate = Estimate::default();
    estimate.total_ci95_ns = half.map(|half| half.round() as u64);
    Some(estimate)
}

fn span_stats(
    all: &DurationSums,
    total_ns: u64,
    self_ns: u64,
    histogram: Option<&Histogram>,
) -> SpanStats {
    let empty = Histogram::default();
    let histogram = histogram.unwrap_or(&empty);
    if all.calls == 0 {
        return SpanStats::default();
    }
    // The extremes of a call that ended in this window may be recorded in the one before. The
    // histogram then has them to 1/16.
    let (min_ns, max_ns) = if all.min <= all.max {
        (all.min, all.max)
    } else {
        let first = histogram.buckets().next();
        let last = histogram.buckets().next_back();
        let first = first.map_or(0, |bucket| *bucket.bounds_ns().start());
        let last = last.map_or(0, |bucket| *bucket.bounds_ns().end());
        (first, last)
    };
    let quantile = |share| histogram.quantile(share, min_ns, max_ns);
    // Subtracting an earlier window from the sum of squares rounds, and no standard deviation
    // exceeds half the range.
    let stddev = all.stddev().round() as u64;
    let stddev_ns = stddev.min((max_ns - min_ns).div_ceil(2));
    let mut stats = SpanStats::default();
    stats.total_ns = total_ns;
    stats.self_ns = self_ns;
    stats.sum_ns = all.total;
    stats.mean_ns = all.mean().round() as u64;
    stats.min_ns = min_ns;
    stats.max_ns = max_ns;
    stats.stddev_ns = stddev_ns;
    stats.p50_ns = quantile(0.50);
    stats.p90_ns = quantile(0.90);
    stats.p95_ns = quantile(0.95);
    stats.p99_ns = quantile(0.99);
    stats.histogram = histogram.buckets().collect();
    stats
}
