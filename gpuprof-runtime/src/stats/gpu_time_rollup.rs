//! GPU times rolled up along the call tree: the time measured on each path, the time of the spans
//! nested in it, and the factors that sampling multiplies both by.

use rustc_hash::FxHashMap;

use super::durations::Ns;
use super::ended_call::UntimedReason;
use super::gpu_totals::GpuPathTotals;
use super::host_path_totals::HostPathTotals;
use super::path_ids::{CallPath, ROOT};
use super::profile_inputs::ProfileInputs;
use super::sampling_estimates::SiteSample;

/// One path of the call tree with its counts and GPU times.
pub(super) struct CallTreeNode<'a> {
    pub(super) path: CallPath,
    pub(super) totals: HostPathTotals<Ns>,
    /// By device.
    pub(super) gpu: Vec<(u32, &'a GpuPathTotals)>,
    /// Factor from weighted times to those of all calls; 1 without sampling.
    pub(super) scale: f64,
    /// `scale` before it was reduced to fit into an enclosing node's total.
    pub(super) unclamped_scale: f64,
    /// GPU time of descendant spans, except those already included in the own time of a timed span
    /// in between.
    pub(super) nested_ns: f64,
    /// Some of this time is an equal part of time that spans shared.
    pub(super) nested_divided: bool,
    /// Of some of this time it is not known how it is shared, so that it may count twice.
    pub(super) nested_undivided: bool,
    /// `nested_ns` lacks the time of calls that should have been timed.
    pub(super) nested_partial: bool,
    /// `nested_ns` is partly estimated from a sample.
    pub(super) nested_estimated: bool,
}

impl CallTreeNode<'_> {
    /// The sum of its weighted times.
    fn measured_ns(&self) -> u64 {
        self.gpu.iter().map(|(_, gpu)| gpu.times.total).sum()
    }

    /// Whether any GPU time was read on this path.
    fn has_time(&self) -> bool {
        self.gpu.iter().any(|(_, gpu)| gpu.read > 0)
    }

    /// Its timed calls, unweighted.
    fn timed_calls(&self) -> u64 {
        self.gpu.iter().map(|(_, gpu)| gpu.calls).sum()
    }

    /// Adds this path to the sample of its site.
    pub(super) fn add_to_sample(&self, sample: &mut SiteSample) {
        let sum = |field: fn(&GpuPathTotals) -> u64| -> u64 {
            self.gpu.iter().map(|(_, gpu)| field(gpu)).sum()
        };
        sample.timed_calls += self.timed_calls();
        sample.left_out += self.totals.left_out();
        sample.unasked += self.totals.untimed(UntimedReason::LeftOut);
        sample.captured_unasked += self.totals.counts.captured_unasked;
        sample.calls_variance += self.totals.counts.captured_variance;
        sample.weights += sum(|gpu| gpu.weights);
        sample.certain += sum(|gpu| gpu.certain);
    }
}

/// GPU time measured on one path, by the spans that enclose it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NestedPath {
    /// The nearest timed node above that includes the time in its own, or [`ROOT`].
    enclosing_timed: u32,
    path: u32,
    /// Weighted.
    ns: u64,
    /// Unweighted.
    read_ns: u64,
}

/// Builds the nodes of all paths; the index of a node is its path's number.
pub(super) fn build_nodes<'a>(inputs: &'a ProfileInputs<'_>) -> Vec<CallTreeNode<'a>> {
    let mut gpu: FxHashMap<u32, Vec<(u32, &GpuPathTotals)>> = FxHashMap::default();
    for (&(path, device), totals) in &inputs.gpu.nodes {
        gpu.entry(path).or_default().push((device, totals));
    }
    let mut nodes: Vec<CallTreeNode<'_>> = Vec::with_capacity(inputs.paths.len());
    for (index, &path) in inputs.paths.iter().enumerate() {
        let totals = inputs.totals.nodes.get(index).copied().unwrap_or_default();
        let mut gpu = gpu.remove(&(index as u32)).unwrap_or_default();
        gpu.sort_unstable_by_key(|(device, _)| *device);
        nodes.push(CallTreeNode {
            path,
            totals: totals.in_ns(inputs.scale),
            gpu,
            scale: 1.0,
            unclamped_scale: 1.0,
            nested_ns: 0.0,
            nested_divided: false,
            nested_undivided: false,
            nested_partial: false,
            nested_estimated: false,
        });
    }
    set_scales(&mut nodes);
    let nested = nested_paths(inputs);
    for siblings in nested.chunk_by(|a, b| a.enclosing_timed == b.enclosing_timed) {
        clamp_to_parent(&mut nodes, siblings);
    }
    let enclosed = nested.iter().filter(|path| path.enclosing_timed != ROOT);
    enclosed.for_each(|path| add_nested(&mut nodes, path));
    add_outermost(&mut nodes, &nested);
    mark_shared(&mut nodes);
    mark_incomplete(&mut nodes, &nested);
    nodes
}

/// Sorted, so that outer enclosing spans come first.
fn nested_paths(inputs: &ProfileInputs<'_>) -> Vec<NestedPath> {
    let times = inputs.gpu.nested.iter().filter(|(_, time)| time.ns > 0);
    let mut nested: Vec<NestedPath> = times
        .map(|(&(path, enclosing_timed), time)| NestedPath {
            enclosing_timed,
            path,
            ns: time.ns,
            read_ns: time.read_ns,
        })
        .collect();
    nested.sort_unstable();
    nested
}

fn set_scales(nodes: &mut [CallTreeNode<'_>]) {
    let mut by_site: FxHashMap<u32, SiteSample> = FxHashMap::default();
    for node in nodes.iter().skip(1) {
        node.add_to_sample(by_site.entry(node.path.site).or_default());
    }
    for node in nodes.iter_mut().skip(1) {
        if let Some(calls_per_weight) = by_site
            .get(&node.path.site)
            .and_then(SiteSample::calls_per_weight)
        {
            node.scale = calls_per_weight;
            node.unclamped_scale = calls_per_weight;
        }
    }
}

/// Reduces the scales of the paths nested in one node so that they fit into its total. Each is
/// estimated by its own number of calls, so by chance the parts can come out larger than the whole.
/// Outer nodes come first, so that the paths nested in the inner ones follow.
fn clamp_to_parent(nodes: &mut [CallTreeNode<'_>], siblings: &[NestedPath]) {
    let enclosing = siblings.first().map_or(ROOT, |path| path.enclosing_timed);
    let Some(parent) = nodes.get(enclosing as usize).filter(|_| enclosing != ROOT) else {
        return;
    };
    let limit = parent.measured_ns() as f64 * parent.scale;
    // If the parts are larger than the whole before any weighting, futures ran concurrently, and
    // chance does not explain it.
    let read: u64 = parent.gpu.iter().map(|(_, gpu)| gpu.read_ns).sum();
    if siblings.iter().map(|path| path.read_ns).sum::<u64>() > read {
        return;
    }
    let scaled = |nodes: &[CallTreeNode<'_>], path: &NestedPath| {
        let node = nodes.get(path.path as usize);
        path.ns as f64 * node.map_or(0.0, |node| node.scale)
    };
    let sum: f64 = siblings.iter().map(|path| scaled(nodes, path)).sum();
    if sum <= limit {
        return;
    }
    for path in siblings {
        let excess = scaled(nodes, path) * (1.0 - limit / sum);
        if let Some(node) = nodes.get_mut(path.path as usize) {
            // Only a part of the node's total may be nested in this parent.
            let total = node.measured_ns() as f64 * node.scale;
            node.scale *= 1.0 - excess / total.max(excess);
        }
    }
}

/// Adds the time of a path to all nodes above it, up to the span that includes it in its own time.
/// If the enclosing span has no GPU time, the time is propagated up to the next timed ancestor,
/// which may include it too.
fn add_nested(nodes: &mut [CallTreeNode<'_>], nested: &NestedPath) {
    let Some(node) = nodes.get(nested.path as usize) else {
        return;
    };
    let (scaled, mut index) = (nested.ns as f64 * node.scale, node.path.parent);
    let mut is_past = false;
    while index != ROOT
        && let Some(above) = nodes.get_mut(index as usize)
    {
        above.nested_ns += scaled;
        is_past |= index == nested.enclosing_timed;
        index = match is_past && above.has_time() {
            true => ROOT,
            false => above.path.parent,
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
            *sum += path.ns as f64 * node.scale;
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
        let any = |calls: fn(&GpuPathTotals) -> u64| node.gpu.iter().any(|(_, gpu)| calls(gpu) > 0);
        let is_divided = node.nested_divided || any(|gpu| gpu.divided);
        let is_undivided = node.nested_undivided || any(|gpu| gpu.undivided);
        let parent = node.path.parent;
        if let Some(above) = nodes.get_mut(parent as usize).filter(|_| parent != ROOT) {
            above.nested_divided |= is_divided;
            above.nested_undivided |= is_undivided;
        }
    }
}

/// Marks the nodes whose `nested_ns` lacks time, or estimates it.
fn mark_incomplete(nodes: &mut [CallTreeNode<'_>], nested: &[NestedPath]) {
    // By site: whether any call was timed.
    let mut sites: FxHashMap<u32, bool> = FxHashMap::default();
    for node in nodes.iter().skip(1) {
        *sites.entry(node.path.site).or_default() |= node.timed_calls() > 0;
    }
    let is_timed = |node: &CallTreeNode<'_>| sites.get(&node.path.site) == Some(&true);
    let partial = nodes_above(nodes, nested, |node| {
        let estimated = if is_timed(node) {
            node.totals.left_out()
        } else {
            0
        };
        // A captured call runs nothing.
        let counts = &node.totals.counts;
        counts.with_stream() > node.timed_calls() + estimated + counts.captured
    });
    let estimated = nodes_above(nodes, nested, |node| {
        is_timed(node) && node.totals.left_out() > 0
    });
    for ((node, partial), estimated) in nodes.iter_mut().zip(partial).zip(estimated) {
        (node.nested_partial, node.nested_estimated) = (partial, estimated);
    }
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
            Some(enclosing) if enclosing.has_time() => path.enclosing_timed,
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
