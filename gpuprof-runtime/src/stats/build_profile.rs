//! From counters to the plain [`Profile`]: what belongs to which function, self times, percentiles, estimates.
//!
//! Must not import gpu, span or collector.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Durations;
use super::call::{StatedWork, UntimedReason};
use super::call_tree::{CallTreeNode, nodes, reason};
use super::estimate::estimate;
use super::gpu_totals::{GpuPathTotals, GpuTotals};
use super::path_counters::PathTotals;
use super::path_ids::{CallPath, ROOT};
use super::totals::Totals;
use crate::site::Site;
use gpuprof_report::histogram::Histogram;
use gpuprof_report::profile::{
    self, Bucket, Diagnostics, Function, GpuByDevice, GpuSpanStats, Profile, SCHEMA, SpanStats,
    TreeNode, UntimedReasons,
};

/// Everything a profile is made from.
pub(crate) struct ProfileInputs<'a> {
    /// Sites that were entered at least once in the process, by number.
    pub(crate) sites: &'a [&'static Site],
    /// Sites that never were.
    pub(crate) never_entered: Vec<&'static Site>,
    /// Whether a site of this process is in the window's filter.
    pub(crate) in_filter: Box<dyn Fn(&Site) -> bool + 'a>,
    pub(crate) paths: &'a [CallPath],
    pub(crate) totals: Totals,
    pub(crate) gpu: GpuTotals,
    /// What CUPTI saw of each site; `None` where it did not run.
    pub(crate) cupti: Option<FxHashMap<u32, CuptiActivity>>,
}

/// What CUPTI saw of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct CuptiActivity {
    pub(crate) activity: profile::GpuActivity,
    /// Of its busy time that of the calls that were timed by events.
    pub(crate) timed_busy_ns: u64,
    /// Devices that its calls, and those inside, had work on.
    pub(crate) devices: u32,
}

/// The part of the profile that counters tell.
pub(crate) fn profile(inputs: &ProfileInputs<'_>) -> Profile {
    let nodes = nodes(inputs);
    let mut functions = functions(inputs, &nodes);
    // The table and the tree name functions by their node in this order.
    functions.sort_by(|a, b| {
        (&a.1.name, &a.1.module, a.1.line).cmp(&(&b.1.name, &b.1.module, b.1.line))
    });
    let index: FxHashMap<u32, u32> = functions
        .iter()
        .enumerate()
        .filter_map(|(at, (site, _))| Some(((*site)?, at as u32)))
        .collect();
    let tree = tree(inputs, &nodes, &index);
    let functions: Vec<Function> = functions
        .into_iter()
        .map(|(_, function)| function)
        .collect();
    let diagnostics = diagnostics(inputs, &functions);
    Profile {
        schema: SCHEMA.to_owned(),
        functions,
        tree,
        diagnostics,
        ..Profile::default()
    }
}

/// Functions with their site's number, unsorted.
fn functions(
    inputs: &ProfileInputs<'_>,
    nodes: &[CallTreeNode<'_>],
) -> Vec<(Option<u32>, Function)> {
    let mut by_site: FxHashMap<u32, Vec<&CallTreeNode<'_>>> = FxHashMap::default();
    for node in nodes.iter().skip(1) {
        by_site.entry(node.path.site).or_default().push(node);
    }
    let entered = inputs
        .sites
        .iter()
        .enumerate()
        .filter_map(|(number, site)| {
            let number = number as u32;
            let nodes = by_site.remove(&number).unwrap_or_default();
            let ran = nodes.iter().any(|node| node.cpu.ran());
            (ran || (inputs.in_filter)(site))
                .then(|| (Some(number), function(inputs, site, number, &nodes)))
        });
    let entered: Vec<_> = entered.collect();
    let never = inputs.never_entered.iter().map(|site| (None, named(site)));
    entered.into_iter().chain(never).collect()
}

fn named(site: &Site) -> Function {
    Function {
        name: site.name().to_owned(),
        module: site.meta.module.to_owned(),
        file: site.meta.file.to_owned(),
        line: site.meta.line,
        cpu_only: site.meta.cpu,
        is_async: site.meta.is_async,
        ..Function::default()
    }
}

fn function(
    inputs: &ProfileInputs<'_>,
    site: &Site,
    number: u32,
    nodes: &[&CallTreeNode<'_>],
) -> Function {
    let mut all = PathTotals::default();
    let (mut outermost_cpu, mut outermost_wall) = (0, 0);
    let mut below = 0.0;
    for node in nodes {
        all.merge(&node.cpu);
        if !node.path.recursive {
            outermost_cpu += node.cpu.cpu.total;
            outermost_wall += node.cpu.wall.total;
            below += node.below;
        }
    }
    let totals = &inputs.totals;
    let gpu = gpu_of(inputs, number, nodes, None);
    let devices: FxHashSet<u32> = nodes
        .iter()
        .flat_map(|p| p.gpu.iter().map(|(device, _)| *device))
        .collect();
    let mut devices: Vec<u32> = devices.into_iter().collect();
    devices.sort_unstable();
    let by_device = devices.iter().filter_map(|&ordinal| {
        Some(GpuByDevice {
            ordinal,
            gpu: gpu_of(inputs, number, nodes, Some(ordinal))?,
        })
    });
    let failed: u64 = nodes
        .iter()
        .flat_map(|node| &node.gpu)
        .map(|(_, node)| node.failed)
        .sum();
    let timed = gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let untimed = untimed(&all, timed, failed);
    // What a replay ran belongs to the call around the launch of its graph; of two devices one may be busy while the other is idle;
    // and of a call that was to be timed and was not there is busy time without a span.
    let has_idle =
        all.counts.replays == 0 && devices.len() == 1 && failed == 0 && untimed.unfinished == 0;
    let self_ns = all.cpu.total.saturating_sub(all.cpu.nested);
    // Only calls that ended out of order can have more.
    let self_ns = self_ns.min(outermost_cpu);
    Function {
        calls: all.cpu.calls,
        replays: all.counts.replays,
        threads: totals.threads.get(&number).copied().unwrap_or(0),
        cpu: times(&all.cpu, outermost_cpu, self_ns, totals.cpu.get(&number)),
        wall: (site.meta.is_async && all.wall.calls > 0).then(|| {
            times(
                &all.wall,
                outermost_wall,
                outermost_wall,
                totals.wall.get(&number),
            )
        }),
        gpu_by_device: by_device.collect(),
        gpu_nested_ns: below.round() as u64,
        gpu_overlaps: nodes.iter().any(|node| match all.counts.with_stream() {
            0 => node.below_overlaps,
            _ => node.own_overlaps,
        }),
        gpu_nested_partial: nodes.iter().any(|node| node.below_partial),
        gpu_nested_estimated: nodes.iter().any(|node| node.below_estimated),
        captured_calls: all.counts.captured,
        graph_calls: all.counts.in_graph,
        untimed_calls: untimed.sum(),
        untimed,
        bytes: all.work.bytes,
        flops: all.work.flops,
        items: all.work.items,
        has_stream: all.counts.with_stream() > 0,
        activity: cupti(inputs, number, gpu.as_ref().filter(|_| has_idle)),
        gpu,
        ..named(site)
    }
}

/// What CUPTI saw of a function, and what its GPU span leaves beside it, if it can be set against it.
fn cupti(
    inputs: &ProfileInputs<'_>,
    site: u32,
    gpu: Option<&GpuSpanStats>,
) -> profile::GpuActivity {
    let Some(cupti) = &inputs.cupti else {
        return profile::GpuActivity::default();
    };
    let CuptiActivity {
        mut activity,
        timed_busy_ns,
        devices,
    } = cupti.get(&site).cloned().unwrap_or_default();
    let busy = activity.busy_ns.unwrap_or(0);
    activity.busy_ns = Some(busy);
    activity.idle_ns = gpu.filter(|_| devices <= 1).and_then(|gpu| {
        // An estimate stands for all calls, and of these the busy time is known.
        let inside = if gpu.estimate.is_some() {
            busy
        } else {
            timed_busy_ns
        };
        // Where that is more, work ran that no span has: on another stream, or after the span's end.
        gpu.times.total_ns.checked_sub(inside)
    });
    activity
}

/// Every call with a stream that was neither timed nor captured has its reason; what has none yet is still on its way.
fn untimed(data: &PathTotals, timed: u64, failed: u64) -> UntimedReasons {
    let with_stream = data.counts.with_stream();
    let mut untimed = UntimedReasons {
        no_stream: match with_stream {
            0 => 0,
            _ => (data.cpu.calls + data.counts.replays).saturating_sub(with_stream),
        },
        sampled_out: reason(data, UntimedReason::SampledOut),
        pool_exhausted: reason(data, UntimedReason::PoolExhausted),
        queue_full: reason(data, UntimedReason::QueueFull),
        cuda_error: reason(data, UntimedReason::CudaError) + failed,
        unavailable: reason(data, UntimedReason::Unavailable),
        stream_unsafe: reason(data, UntimedReason::StreamUnsafe),
        crossed_reset: reason(data, UntimedReason::CrossedReset),
        ..UntimedReasons::default()
    };
    let explained = timed + data.counts.captured + untimed.sum();
    untimed.unfinished = (with_stream + untimed.no_stream).saturating_sub(explained);
    untimed
}

/// GPU times of a function, on one device or on all.
fn gpu_of(
    inputs: &ProfileInputs<'_>,
    site: u32,
    nodes: &[&CallTreeNode<'_>],
    device: Option<u32>,
) -> Option<GpuSpanStats> {
    let mut all = Durations::default();
    let mut work = StatedWork::NONE;
    let (mut total, mut own) = (0.0, 0.0);
    let (mut calls, mut read) = (0, 0);
    let mut devices = FxHashSet::default();
    for node in nodes {
        for (ordinal, gpu) in node
            .gpu
            .iter()
            .filter(|(ordinal, _)| device.is_none_or(|wanted| wanted == *ordinal))
        {
            devices.insert(*ordinal);
            all.merge(&gpu.times);
            // A call on streams of two devices has a time on each, and is one call.
            read += gpu.read;
            calls += device.map_or(gpu.calls, |_| gpu.read);
            work.add(&gpu.work);
            total += gpu.outermost_ns as f64 * node.scale;
            own += gpu.self_ns as f64 * node.scale;
        }
    }
    if all.calls == 0 {
        return None;
    }
    // Of calls that stand for as many each, this takes back what they are multiplied by.
    let each = read as f64 / all.calls as f64;
    let of_each = |sum: Option<f64>| sum.map(|sum| sum * each);
    let mut histogram = Histogram::default();
    for ordinal in devices {
        if let Some(one) = inputs.gpu.histograms.get(&(site, ordinal)) {
            histogram.merge(one);
        }
    }
    Some(GpuSpanStats {
        timed_calls: calls,
        times: times(
            &all,
            total.round() as u64,
            // Recursive calls on several streams overlap, and sampling scales each depth on its own.
            own.clamp(0.0, total).round() as u64,
            Some(&histogram),
        ),
        estimate: estimate(inputs, site, nodes, device),
        timed_bytes: of_each(work.bytes),
        timed_flops: of_each(work.flops),
        timed_items: of_each(work.items),
        timed_ns: (all.total as f64 * each).round() as u64,
    })
}

fn times(data: &Durations, total: u64, own: u64, histogram: Option<&Histogram>) -> SpanStats {
    let empty = Histogram::default();
    let histogram = histogram.unwrap_or(&empty);
    if data.calls == 0 {
        return SpanStats::default();
    }
    // A call can end in this window whose extremes went to the one before; the histogram then knows them to 1/16.
    let (low, high) = match data.min <= data.max {
        true => (data.min, data.max),
        false => {
            let first = histogram.buckets().next().map_or(0, |(low, _, _)| low);
            (
                first,
                histogram.buckets().last().map_or(0, |(_, high, _)| high),
            )
        }
    };
    let quantile = |share| histogram.quantile(share, low, high);
    SpanStats {
        total_ns: total,
        self_ns: own,
        mean_ns: data.mean().round() as u64,
        min_ns: low,
        max_ns: high,
        // No spread is wider than half the range. What an earlier window had is subtracted from the sum of squares, which rounds.
        stddev_ns: (data.stddev().round() as u64).min((high - low).div_ceil(2)),
        p50_ns: quantile(0.50),
        p90_ns: quantile(0.90),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        histogram: histogram
            .buckets()
            .map(|(low_ns, high_ns, count)| Bucket {
                low_ns,
                high_ns,
                count,
            })
            .collect(),
    }
}

/// Places that were called in this window, and those above them that are still running.
fn tree(
    inputs: &ProfileInputs<'_>,
    nodes: &[CallTreeNode<'_>],
    index: &FxHashMap<u32, u32>,
) -> Vec<TreeNode> {
    let mut wanted = vec![false; nodes.len()];
    for (at, node) in nodes.iter().enumerate().skip(1).rev() {
        let called = node.cpu.ran() || wanted.get(at) == Some(&true);
        if called {
            for index in [at, node.path.parent as usize] {
                if let Some(mark) = wanted.get_mut(index) {
                    *mark = true;
                }
            }
        }
    }
    let rows = nodes
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(at, _)| wanted.get(*at) == Some(&true));
    rows.filter_map(|(at, node)| {
        let timed = node.gpu.iter().any(|(_, node)| node.read > 0);
        let sum = |f: fn(&GpuPathTotals) -> f64| {
            node.gpu.iter().map(|(_, node)| f(node)).sum::<f64>() * node.scale
        };
        Some(TreeNode {
            id: at as u32,
            parent: (node.path.parent != ROOT).then_some(node.path.parent),
            name: inputs.sites.get(node.path.site as usize)?.name().to_owned(),
            function: *index.get(&node.path.site)?,
            calls: node.cpu.cpu.calls,
            replays: node.cpu.counts.replays,
            graph_calls: node.cpu.counts.in_graph,
            cpu_total_ns: node.cpu.cpu.total,
            cpu_self_ns: node.cpu.cpu.total.saturating_sub(node.cpu.cpu.nested),
            gpu_total_ns: timed.then(|| sum(|node| node.times.total as f64).round() as u64),
            gpu_self_ns: timed.then(|| sum(|node| node.self_ns as f64).max(0.0).round() as u64),
            gpu_nested_ns: node.below.round() as u64,
        })
    })
    .collect()
}

fn diagnostics(inputs: &ProfileInputs<'_>, functions: &[Function]) -> Diagnostics {
    let with_stream = |f: &&Function| f.has_stream;
    let mut untimed = UntimedReasons::default();
    functions
        .iter()
        .for_each(|function| untimed.add(&function.untimed));
    let timed: u64 = functions
        .iter()
        .filter_map(|f| f.gpu.as_ref())
        .map(|gpu| gpu.timed_calls)
        .sum();
    let captured: u64 = functions
        .iter()
        .map(|function| function.captured_calls)
        .sum();
    let totals = &inputs.totals;
    Diagnostics {
        calls: functions.iter().map(|function| function.calls).sum(),
        replays: functions.iter().map(|function| function.replays).sum(),
        calls_with_stream: functions
            .iter()
            .filter(with_stream)
            .map(|f| {
                f.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls) + f.captured_calls + f.untimed_calls
            })
            .sum(),
        timed_calls: timed,
        captured_calls: captured,
        untimed,
        dropped: totals.dropped,
        histogram_dropped: totals
            .cpu
            .values()
            .chain(totals.wall.values())
            .map(|histogram| histogram.dropped)
            .sum(),
        misnested: totals.misnested,
        ..Diagnostics::default()
    }
}
