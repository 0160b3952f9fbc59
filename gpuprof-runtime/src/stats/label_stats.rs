//! The calls of a function by their label.

use std::collections::BTreeMap;

use super::function_stats::function;
use super::gpu_time_rollup::CallTreeNode;
use super::gpu_totals::GpuPathTotals;
use super::profile_inputs::ProfileInputs;
use crate::site::Site;
use crate::site::labels::{Label, LabelNumber};
use gpuprof_report::profile::{GpuSpanStats, LabelGpuStats, LabelStats};

/// The labels of the calls of the site `id` on the paths `nodes`, in their order.
pub(super) fn labels(
    inputs: &ProfileInputs<'_>,
    site: &Site,
    id: u32,
    nodes: &[&CallTreeNode<'_>],
) -> Vec<LabelStats> {
    let mut by_label: BTreeMap<_, Vec<&CallTreeNode<'_>>> = BTreeMap::new();
    for node in nodes {
        if let Some(label) = site.label_of(node.path.label) {
            let key = (label, node.path.label);
            by_label.entry(key).or_default().push(node);
        }
    }
    let cupti = inputs.cupti.as_ref();
    let busy = cupti.and_then(|all| Some(&all.get(&id)?.busy_ns_by_label));
    let stats = |((label, number), nodes): ((&Label, LabelNumber), Vec<&CallTreeNode<'_>>)| {
        let busy_ns = busy.and_then(|all| all.get(&number)).copied().unwrap_or(0);
        // A call that a graph captured may be replayed in a later window.
        let ran = busy_ns > 0 || nodes.iter().any(|node| node.totals.ran());
        ran.then(|| {
            let mut stats = label_stats(inputs, site, id, label, &nodes);
            stats.gpu_busy_ns = cupti.map(|_| busy_ns);
            stats
        })
    };
    by_label.into_iter().filter_map(stats).collect()
}

fn label_stats(
    inputs: &ProfileInputs<'_>,
    site: &Site,
    id: u32,
    label: &Label,
    nodes: &[&CallTreeNode<'_>],
) -> LabelStats {
    let all = function(inputs, site, id, nodes);
    let mut stats = LabelStats::default();
    stats.label = label.to_string();
    stats.calls = all.calls;
    stats.open_calls = all.open_calls;
    stats.open_ns = all.open_ns;
    stats.cpu_total_ns = all.cpu.total_ns;
    stats.cpu_self_ns = nodes.iter().map(|node| self_ns(node)).sum();
    stats.cpu_mean_ns = all.cpu.mean_ns;
    stats.cpu_max_ns = all.cpu.max_ns;
    stats.gpu = all.gpu.as_ref().map(|gpu| gpu_stats(gpu, nodes));
    stats.gpu_nested_ns = all.gpu_nested_ns;
    stats
}

fn self_ns(node: &CallTreeNode<'_>) -> u64 {
    node.totals.cpu.total.saturating_sub(node.totals.cpu.nested)
}

fn gpu_stats(all: &GpuSpanStats, nodes: &[&CallTreeNode<'_>]) -> LabelGpuStats {
    let on_devices = nodes.iter().flat_map(|node| {
        let scaled = |(_, gpu): &(u32, &GpuPathTotals)| gpu.self_ns as f64 * node.scale;
        node.gpu.iter().map(scaled)
    });
    let mut stats = LabelGpuStats::default();
    stats.timed_calls = all.timed_calls;
    stats.total_ns = all.times.total_ns;
    stats.self_ns = on_devices.sum::<f64>().max(0.0).round() as u64;
    stats.mean_ns = all.times.mean_ns;
    stats.max_ns = all.times.max_ns;
    stats.timed_bytes = all.timed_bytes;
    stats.timed_flops = all.timed_flops;
    stats.timed_items = all.timed_items;
    stats.timed_ns = all.timed_ns;
    stats
}
