//! Computes the part of a [`Profile`] that comes from counters: its functions, its call tree, and
//! the diagnostics that counters give.

use std::sync::atomic::Ordering::Relaxed;

use rustc_hash::FxHashMap;

use super::call_tree_node::CallTreeNode;
use super::function_stats::{estimate_of_rows, function, uncalled};
use super::gpu_busy;
use super::gpu_time_rollup;
use super::label_stats::labels;
use super::path_estimate::PathEstimate;
use super::path_ids::ROOT;
use super::profile_inputs::{PathActivity, ProfileInputs};
use super::replayed_nodes;
use crate::site::labels::KeptLabel;
use gpuprof_report::profile::{
    ApiStats, CopyStats, Diagnostics, Function, KernelStats, NVTX_MODULE, Profile, SCHEMA,
    TreeNode, UntimedReasons,
};

/// The part of the profile that comes from counters.
pub(crate) fn profile(inputs: &mut ProfileInputs<'_>) -> Profile {
    let mut rows = take_rows(inputs);
    let inputs = &*inputs;
    let nodes = gpu_time_rollup::build_nodes(inputs);
    let mut functions = functions(inputs, &nodes);
    for (site, function) in &mut functions {
        if let Some(rows) = site.and_then(|site| rows.remove(&site)) {
            let activity = &mut function.activity;
            (activity.kernels, activity.copies, activity.api) = rows;
        }
    }
    // The tree refers to functions by their index in this order.
    functions
        .sort_by(|(_, a), (_, b)| (&a.name, &a.module, a.line).cmp(&(&b.name, &b.module, b.line)));
    let indices: FxHashMap<u32, u32> = functions
        .iter()
        .enumerate()
        .filter_map(|(index, (site, _))| Some(((*site)?, index as u32)))
        .collect();
    let mut tree = tree(inputs, &nodes, &functions, &indices);
    tree.extend(replayed_nodes::nodes(inputs, &indices));
    let of_foreign: Vec<String> = functions
        .iter()
        .filter(|(site, function)| has_foreign_stream(inputs, *site, function))
        .map(|(_, function)| function.name.clone())
        .collect();
    let differing: Vec<String> = functions
        .iter()
        .filter(|(site, function)| had_parameters_of_different_streams(inputs, *site, function))
        .map(|(_, function)| function.name.clone())
        .collect();
    let functions: Vec<Function> = functions
        .into_iter()
        .map(|(_, function)| function)
        .collect();
    let mut diagnostics = diagnostics(inputs, &functions);
    diagnostics
        .notes
        .extend(other_cudarc_diagnostic(&of_foreign));
    diagnostics.notes.extend(differing_streams_note(&differing));
    let mut profile = Profile::default();
    profile.schema = SCHEMA.to_owned();
    profile.wall_ns = inputs.wall_ns;
    profile.gpu_busy = gpu_busy::busy_by_device(inputs, &nodes);
    profile.functions = functions;
    profile.tree = tree;
    profile.diagnostics = diagnostics;
    profile
}

type ActivityRows = (Vec<KernelStats>, Vec<CopyStats>, Vec<ApiStats>);

/// The kernels, copies and CUDA calls of each site: there may be very many, so they are moved.
fn take_rows(inputs: &mut ProfileInputs<'_>) -> FxHashMap<u32, ActivityRows> {
    let functions = inputs
        .cupti
        .iter_mut()
        .flat_map(|cupti| &mut cupti.functions);
    let rows = functions.map(|(site, function)| {
        let activity = &mut function.activity;
        let kernels = std::mem::take(&mut activity.kernels);
        let copies = std::mem::take(&mut activity.copies);
        (*site, (kernels, copies, std::mem::take(&mut activity.api)))
    });
    rows.collect()
}

/// Whether a function ran without a stream although it has a parameter that is written as one of
/// cudarc's types.
fn has_foreign_stream(inputs: &ProfileInputs<'_>, site: Option<u32>, function: &Function) -> bool {
    let site = site.and_then(|id| inputs.sites.get(id as usize));
    function.calls > 0
        && !function.has_stream
        && site.is_some_and(|site| site.meta.names_stream && !site.meta.cpu)
}

/// The note about the functions of these names.
fn other_cudarc_diagnostic(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "no stream in {}: a parameter named as a stream or slice of cudarc is not of the \
             version that gpuprof uses; `cargo tree -i cudarc` lists the versions, and `HasStream` \
             with `StreamRef::from_raw` gives a stream of another one",
            names.join(", ")
        )
    })
}

/// Whether a call had parameters that carry different streams.
fn had_parameters_of_different_streams(
    inputs: &ProfileInputs<'_>,
    site: Option<u32>,
    function: &Function,
) -> bool {
    let site = site.and_then(|id| inputs.sites.get(id as usize));
    function.calls > 0 && site.is_some_and(|site| site.parameter_streams_differ.load(Relaxed))
}

/// The note about the functions of these names.
fn differing_streams_note(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "parameters carry different streams in {}: the first one is timed, which may not be \
             the one that the function uses; name that one with `stream = …`",
            names.join(", ")
        )
    })
}

/// Functions with their site's id, unsorted.
fn functions(
    inputs: &ProfileInputs<'_>,
    nodes: &[CallTreeNode<'_>],
) -> Vec<(Option<u32>, Function)> {
    let mut by_site: FxHashMap<u32, Vec<&CallTreeNode<'_>>> = FxHashMap::default();
    for node in nodes.iter().skip(1) {
        by_site.entry(node.path.site).or_default().push(node);
    }
    let called = inputs.sites.iter().enumerate().filter_map(|(id, site)| {
        let id = id as u32;
        let nodes = by_site.remove(&id).unwrap_or_default();
        let ran = nodes.iter().any(|node| node.totals.ran());
        (ran || (inputs.in_filter)(site)).then(|| {
            let mut function = function(inputs, site, id, &nodes);
            function.labels = labels(inputs, site, id, &nodes);
            (Some(id), function)
        })
    });
    let mut functions: Vec<_> = called.collect();
    let never_called = inputs.never_called.iter();
    functions.extend(never_called.map(|site| (None, uncalled(site))));
    functions
}

/// Nodes that were called in this window, are open or launched anything, and those above them and
/// around launched graphs.
fn tree(
    inputs: &ProfileInputs<'_>,
    nodes: &[CallTreeNode<'_>],
    functions: &[(Option<u32>, Function)],
    indices: &FxHashMap<u32, u32>,
) -> Vec<TreeNode> {
    let mut wanted = vec![false; nodes.len()];
    if let Some(cupti) = &inputs.cupti {
        let replaying = cupti.replayed.iter().map(|replayed| replayed.launch);
        let launching = cupti.paths.iter().filter(|(_, path)| path.has_own);
        for path in replaying.chain(launching.map(|(path, _)| *path)) {
            if let Some(mark) = wanted.get_mut(path as usize) {
                *mark = true;
            }
        }
    }
    for (index, node) in nodes.iter().enumerate().skip(1).rev() {
        if node.totals.ran() || wanted.get(index) == Some(&true) {
            for index in [index, node.path.parent as usize] {
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
        .filter(|(index, _)| wanted.get(*index) == Some(&true));
    rows.filter_map(|(index, node)| {
        let estimate = &node.estimate;
        let total_ns = estimate.has_time().then(|| estimate.total_ns());
        let cpu = &node.totals.cpu;
        let mut row = TreeNode::default();
        row.id = index as u32;
        row.parent = (node.path.parent != ROOT).then_some(node.path.parent);
        let site = inputs.sites.get(node.path.site as usize)?;
        row.name = site.name().to_owned();
        row.label = site.label_of(node.path.label).map(KeptLabel::to_string);
        let function = *indices.get(&node.path.site)?;
        row.function = Some(function);
        row.calls = cpu.calls;
        row.open_calls = node.totals.open.count();
        row.open_ns = inputs.scale.ns(node.totals.open.ticks(inputs.now));
        row.cpu_total_ns = cpu.total;
        row.cpu_self_ns = cpu.total.saturating_sub(cpu.nested);
        row.gpu_total_ns = total_ns.map(|ns| ns.round() as u64);
        row.gpu_self_ns = total_ns.map(|total_ns| {
            let own_ns = estimate.own_ns(None);
            own_ns.clamp(0.0, total_ns).round() as u64
        });
        row.gpu_estimate = estimate_of_rows(&[node]);
        row.gpu_nested_ns = node.nested_ns.round() as u64;
        if let Some(cupti) = &inputs.cupti {
            let of_path = cupti.paths.get(&row.id).copied().unwrap_or_default();
            let (_, function) = functions.get(function as usize)?;
            // The busy time of a call in progress is not known.
            let is_known = row.calls > 0 || row.open_calls == 0;
            row.busy_ns = is_known.then_some(of_path.busy_ns);
            row.idle_ns = idle_ns(function, estimate, &of_path);
        }
        Some(row)
    })
    .collect()
}

/// The part of a path's GPU spans that its activity leaves, where its function has such a time.
fn idle_ns(function: &Function, spans: &PathEstimate<'_>, path: &PathActivity) -> Option<u64> {
    function.activity.idle_ns?;
    if function.module == NVTX_MODULE {
        return path.extent_ns.checked_sub(path.busy_ns);
    }
    if spans.is_estimated() {
        // An estimated span covers all calls, and follows their busy time.
        let idle_ns = spans.total_ns() - path.busy_ns as f64;
        return (spans.has_time() && idle_ns >= -0.5).then(|| idle_ns.max(0.0).round() as u64);
    }
    let timed_ns = (spans.timed_reads() > 0).then(|| spans.timed_ns() as u64);
    timed_ns?.checked_sub(path.timed_busy_ns)
}

fn diagnostics(inputs: &ProfileInputs<'_>, functions: &[Function]) -> Diagnostics {
    let timed_calls = |function: &Function| match &function.gpu {
        Some(gpu) => gpu.timed_calls,
        None => 0,
    };
    let mut untimed = UntimedReasons::default();
    functions
        .iter()
        .for_each(|function| untimed.add(&function.untimed));
    let calls_with_stream = functions
        .iter()
        .filter(|function| function.has_stream)
        .map(|function| timed_calls(function) + function.captured_calls + function.untimed_calls)
        .sum();
    let totals = &inputs.totals;
    let histograms = totals.cpu.values().chain(totals.wall.values());
    let mut diagnostics = Diagnostics::default();
    diagnostics.calls = functions.iter().map(|function| function.calls).sum();
    diagnostics.calls_with_stream = calls_with_stream;
    diagnostics.timed_calls = functions.iter().map(timed_calls).sum();
    diagnostics.captured_calls = functions
        .iter()
        .map(|function| function.captured_calls)
        .sum();
    diagnostics.untimed = untimed;
    diagnostics.dropped = totals.dropped;
    diagnostics.histogram_dropped = histograms.map(|histogram| histogram.dropped).sum();
    diagnostics.misnested = totals.misnested;
    diagnostics.invalid_amounts = totals.invalid_amounts;
    diagnostics
}
