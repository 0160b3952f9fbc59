//! GPU times rolled up along the call tree: the time of each path, and that of the spans nested in
//! it.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::call_tree_node::CallTreeNode;
use super::cluster_sums::ClusterGroup;
use super::gpu_totals::GpuPathTotals;
use super::nested_paths::{NestedPath, fit_into_parents, nearest_with_time, nested_paths};
use super::path_estimate::{ByDevice, PathEstimate};
use super::path_ids::ROOT;
use super::profile_inputs::ProfileInputs;

/// Builds the nodes of all paths; the index of a node is its path's number.
pub(super) fn build_nodes<'a>(inputs: &'a ProfileInputs<'_>) -> Vec<CallTreeNode<'a>> {
    let mut gpu: FxHashMap<u32, Vec<(u32, &GpuPathTotals)>> = FxHashMap::default();
    for (&(path, device), totals) in &inputs.gpu.nodes {
        gpu.entry(path).or_default().push((device, totals));
    }
    let mut functions = totals_of_functions(inputs);
    let mut nodes: Vec<CallTreeNode<'_>> = Vec::with_capacity(inputs.paths.len());
    for (index, &path) in inputs.paths.iter().enumerate() {
        let index = index as u32;
        let totals = inputs
            .totals
            .nodes
            .get(index as usize)
            .copied()
            .unwrap_or_default()
            .to_ns(inputs.scale);
        let mut gpu = gpu.remove(&index).unwrap_or_default();
        gpu.sort_unstable_by_key(|(device, _)| *device);
        let function = functions.entry(path.site).or_default();
        let mut estimate = PathEstimate::new(&totals, gpu, Rc::clone(function), path.recursive);
        if estimate.rests_on_own() {
            let per_represented = estimate.counts.per_represented();
            let clusters = &inputs.gpu.clusters;
            estimate.half_width_ns =
                clusters.half_width(ClusterGroup::Path(index), per_represented);
        }
        let activity = (inputs.cupti.as_ref()).and_then(|cupti| cupti.paths.get(&index));
        if let Some(activity) = activity {
            estimate.follow_busy_time(activity.left_out_busy_ns, activity.timed_busy_ns);
        }
        nodes.push(CallTreeNode {
            id: index,
            path,
            totals,
            estimate,
            is_unsummed: false,
            lacks_outermost: false,
            nested_ns: 0.0,
            nested_divided: false,
            nested_undivided: false,
            nested_partial: false,
            nested_estimated: false,
        });
    }
    let nested = nested_paths(&nodes, inputs);
    fit_into_parents(&mut nodes, &nested);
    for path in nested.iter().filter(|path| path.is_unsummed()) {
        if let Some(node) = nodes.get_mut(path.path as usize) {
            node.is_unsummed = true;
        }
    }
    let enclosed = nested.iter().filter(|path| path.enclosing_timed != ROOT);
    enclosed.for_each(|path| add_nested(&mut nodes, path));
    add_outermost(&mut nodes, &nested);
    mark_shared(&mut nodes);
    mark_incomplete(&mut nodes, &nested);
    nodes
}

/// The totals of each site by device, over all its paths.
fn totals_of_functions(inputs: &ProfileInputs<'_>) -> FxHashMap<u32, Rc<ByDevice>> {
    let mut functions: FxHashMap<u32, ByDevice> = FxHashMap::default();
    for (&(path, device), totals) in &inputs.gpu.nodes {
        let Some(path) = inputs.paths.get(path as usize) else {
            continue;
        };
        let of_site = functions.entry(path.site).or_default();
        match of_site.iter_mut().find(|(known, _)| *known == device) {
            Some((_, sum)) => sum.merge(totals),
            None => of_site.push((device, totals.clone())),
        }
    }
    let shared = functions
        .into_iter()
        .map(|(site, totals)| (site, Rc::new(totals)));
    shared.collect()
}

/// Adds the time of a path to all nodes above it, up to the span that includes it in its own time.
/// If the enclosing span has no GPU time, the time is propagated up to the next timed ancestor,
/// which may include it too.
fn add_nested(nodes: &mut [CallTreeNode<'_>], nested: &NestedPath) {
    let Some(node) = nodes.get(nested.path as usize) else {
        return;
    };
    let (ns, mut index) = (nested.ns(node), node.path.parent);
    let mut is_past = false;
    while index != ROOT
        && let Some(above) = nodes.get_mut(index as usize)
    {
        above.nested_ns += ns;
        is_past |= index == nested.enclosing_timed;
        index = if is_past && above.estimate.has_time() {
            ROOT
        } else {
            above.path.parent
        };
    }
}

/// Adds the times of paths that are nested in no timed span to all nodes above each. One pass from
/// the bottom up, because a deep recursion can have such a time at every level.
fn add_outermost(nodes: &mut [CallTreeNode<'_>], nested: &[NestedPath]) {
    let mut carried = vec![0.0; nodes.len()];
    for path in nested.iter().filter(|path| path.enclosing_timed == ROOT) {
        let index = path.path as usize;
        if let (Some(sum), Some(node)) = (carried.get_mut(index), nodes.get(index)) {
            *sum += path.ns(node);
        }
    }
    for index in (1..nodes.len()).rev() {
        let sum = carried.get(index).copied().unwrap_or(0.0);
        let parent = nodes.get(index).map_or(ROOT, |node| node.path.parent);
        if parent != ROOT
            && let (Some(carried), Some(above)) = (
                carried.get_mut(parent as usize),
                nodes.get_mut(parent as usize),
            )
        {
            *carried += sum;
            above.nested_ns += sum;
        }
    }
}

/// Marks the nodes above one that shared time, by whether that is divided.
fn mark_shared(nodes: &mut [CallTreeNode<'_>]) {
    for index in (1..nodes.len()).rev() {
        let Some(node) = nodes.get(index) else {
            continue;
        };
        let any = |calls: fn(&GpuPathTotals) -> u64| node.gpu().any(|(_, gpu)| calls(gpu) > 0);
        let is_divided = node.nested_divided || any(|gpu| gpu.divided);
        let is_undivided = node.nested_undivided || any(|gpu| gpu.undivided);
        let parent = node.path.parent;
        if let Some(above) = nodes.get_mut(parent as usize).filter(|_| parent != ROOT) {
            above.nested_divided |= is_divided;
            above.nested_undivided |= is_undivided;
        }
    }
}

/// Marks the nodes whose `nested_ns` lacks time, or estimates it, and the outermost ones that lack
/// time.
fn mark_incomplete(nodes: &mut [CallTreeNode<'_>], nested: &[NestedPath]) {
    let with_stream = nodes.iter().filter(|node| has_stream(node));
    let with_stream: FxHashSet<u32> = with_stream.map(|node| node.path.site).collect();
    // If no call of a function has a stream, it may launch nothing.
    let lacks_stream = |node: &CallTreeNode<'_>| {
        let totals = &node.totals;
        totals.cpu.calls > totals.counts.with_stream() && with_stream.contains(&node.path.site)
    };
    let partial = nodes_above(nodes, nested, lacks_timing);
    let without_stream = nodes_above(nodes, nested, lacks_stream);
    let estimated = nodes_above(nodes, nested, |node| node.estimate.is_estimated());
    let timed: FxHashSet<u32> = nested.iter().map(|path| path.path).collect();
    let outermost = nested.iter().filter(|path| path.enclosing_timed == ROOT);
    let outermost: FxHashSet<u32> = outermost.map(|path| path.path).collect();
    let lacks_outermost = |node: &CallTreeNode<'_>| {
        let is_outermost = if timed.contains(&node.id) {
            outermost.contains(&node.id)
        } else {
            nearest_with_time(nodes, node.path.parent) == ROOT
        };
        is_outermost && (stays_untimed(node) || lacks_stream(node))
    };
    let lacks_outermost: Vec<bool> = nodes.iter().map(lacks_outermost).collect();
    let marks = partial.into_iter().zip(without_stream).zip(estimated);
    for ((node, marks), lacks_outermost) in nodes.iter_mut().zip(marks).zip(lacks_outermost) {
        let ((partial, without_stream), estimated) = marks;
        // What a call without a stream launches is in no span around it.
        node.nested_partial = partial || (without_stream && !with_stream.contains(&node.path.site));
        (node.nested_estimated, node.lacks_outermost) = (estimated, lacks_outermost);
    }
}

fn has_stream(node: &CallTreeNode<'_>) -> bool {
    node.totals.counts.with_stream() > 0
}

/// Whether calls that have a stream have no time.
fn lacks_timing(node: &CallTreeNode<'_>) -> bool {
    // A captured call runs nothing.
    let counts = &node.totals.counts;
    counts.with_stream() > node.estimate.counts.timed + estimated_calls(node) + counts.captured
}

/// Calls without a time of which the estimate has one.
fn estimated_calls(node: &CallTreeNode<'_>) -> u64 {
    if node.estimate.is_estimated() {
        node.totals.left_out_calls()
    } else {
        0
    }
}

/// Whether calls that have a stream will never have a time, and none is estimated for them: not
/// those whose time is not read yet.
fn stays_untimed(node: &CallTreeNode<'_>) -> bool {
    let (estimate, counts) = (&node.estimate.counts, &node.totals.counts);
    // What is captured runs nothing, and how much of the rest was captured too is estimated.
    let is_captured = counts.captured > 0 && estimate.timed == 0;
    let untimed = counts.untimed.iter().sum::<u64>();
    !is_captured && untimed > estimated_calls(node) + estimate.captured_unasked
}

/// By node: whether it is above a node with this property whose time is added to its `nested_ns`.
fn nodes_above(
    nodes: &[CallTreeNode<'_>],
    nested: &[NestedPath],
    has_property: impl Fn(&CallTreeNode<'_>) -> bool,
) -> Vec<bool> {
    // The node at which a path's time stops going up, of several the outermost.
    let mut ends: FxHashMap<u32, u32> = FxHashMap::default();
    for path in nested {
        let end = match nodes.get(path.enclosing_timed as usize) {
            Some(enclosing) if enclosing.estimate.has_time() => path.enclosing_timed,
            _ => ROOT,
        };
        let known = ends.entry(path.path).or_insert(end);
        *known = end.min(*known);
    }
    let mut found = vec![false; nodes.len()];
    let mut carried: Vec<Option<u32>> = vec![None; nodes.len()];
    // From the bottom up: a parent comes before its children.
    for (index, node) in nodes.iter().enumerate().skip(1).rev() {
        let own_end = || ends.get(&(index as u32)).copied().unwrap_or(ROOT);
        let own = has_property(node).then(own_end);
        let below = carried.get(index).copied().flatten();
        let parent = node.path.parent;
        let end = own.into_iter().chain(below).min();
        if let Some(end) = end.filter(|end| *end < index as u32 && parent != ROOT)
            && let (Some(found), Some(carried)) = (
                found.get_mut(parent as usize),
                carried.get_mut(parent as usize),
            )
        {
            *found = true;
            *carried = Some(carried.map_or(end, |known| known.min(end)));
        }
    }
    found
}

#[cfg(test)]
mod tests;
