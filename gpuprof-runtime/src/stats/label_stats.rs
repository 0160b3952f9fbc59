//! The calls of a function by their label.

use std::collections::BTreeMap;

use super::call_tree_node::CallTreeNode;
use super::function_stats::{estimate_of_rows, function};
use super::path_estimate::PathEstimate;
use super::path_ids::ROOT;
use super::profile_inputs::ProfileInputs;
use crate::site::Site;
use crate::site::labels::{KeptLabel, LabelNumber};
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
    let busy = cupti.and_then(|all| Some(&all.functions.get(&id)?.busy_ns_by_label));
    let stats = |((label, number), nodes): ((&KeptLabel, LabelNumber), Vec<&CallTreeNode<'_>>)| {
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
    label: &KeptLabel,
    nodes: &[&CallTreeNode<'_>],
) -> LabelStats {
    let all = function(inputs, site, id, nodes);
    let outermost = || nodes.iter().filter(|node| !is_nested(inputs, node));
    let cpu_total: u64 = outermost().map(|node| node.totals.cpu.total).sum();
    let mut stats = LabelStats::default();
    stats.label = label.to_string();
    stats.calls = all.calls;
    stats.open_calls = all.open_calls;
    stats.open_ns = all.open_ns;
    stats.cpu_self_ns = all.cpu.self_ns;
    // As of a function, for calls that end out of order.
    stats.cpu_total_ns = cpu_total.max(stats.cpu_self_ns);
    stats.cpu_mean_ns = all.cpu.mean_ns;
    stats.cpu_max_ns = all.cpu.max_ns;
    stats.gpu = all.gpu.as_ref().map(gpu_stats);
    if let Some(gpu) = &mut stats.gpu {
        gpu.self_ns = gpu_ns(nodes.iter(), |estimate| estimate.own_ns(None));
        let total_ns = gpu_ns(outermost(), |estimate| estimate.total_ns());
        gpu.total_ns = total_ns.max(gpu.self_ns);
        // Some call is as long as their mean, which may be that of the function.
        gpu.max_ns = gpu.max_ns.max(gpu.mean_ns);
        gpu.estimate = estimate_of_rows(nodes);
    }
    stats.gpu_nested_ns = all.gpu_nested_ns;
    stats
}

/// The sum of a time over the calls of some paths.
fn gpu_ns<'a>(
    nodes: impl Iterator<Item = &'a &'a CallTreeNode<'a>>,
    time: fn(&PathEstimate<'_>) -> f64,
) -> u64 {
    let sum: f64 = nodes.map(|node| time(&node.estimate)).sum();
    sum.max(0.0).round() as u64
}

/// Whether the calls on this path are in another call of the function with the same label.
fn is_nested(inputs: &ProfileInputs<'_>, node: &CallTreeNode<'_>) -> bool {
    let mut next = node.path.parent;
    while node.path.recursive
        && next != ROOT
        && let Some(above) = inputs.paths.get(next as usize)
    {
        if (above.site, above.label) == (node.path.site, node.path.label) {
            return true;
        }
        next = above.parent;
    }
    false
}

/// Without the totals, which differ from those of a function in a recursion.
fn gpu_stats(all: &GpuSpanStats) -> LabelGpuStats {
    let mut stats = LabelGpuStats::default();
    stats.timed_calls = all.timed_calls;
    stats.mean_ns = all.times.mean_ns;
    stats.max_ns = all.times.max_ns;
    stats.timed_bytes = all.timed_bytes;
    stats.timed_flops = all.timed_flops;
    stats.timed_items = all.timed_items;
    stats.timed_ns = all.timed_ns;
    stats
}
