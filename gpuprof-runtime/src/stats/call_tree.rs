//! The call tree with its GPU times: what each path inputs, what lies below it, what sampling makes of it.

use rustc_hash::FxHashMap;

use super::build_profile::ProfileInputs;
use super::call::UntimedReason;
use super::estimate::Sampled;
use super::gpu_totals::GpuPathTotals;
use super::path_counters::PathTotals;
use super::path_ids::{CallPath, ROOT};

/// One path with everything known of it.
pub(super) struct CallTreeNode<'a> {
    pub(super) path: CallPath,
    pub(super) cpu: PathTotals,
    /// By device.
    pub(super) gpu: Vec<(u32, &'a GpuPathTotals)>,
    /// What times, each as often as it stands for, are multiplied by to make those of all calls; 1 without sampling.
    pub(super) scale: f64,
    /// The same before what is inside another node was held within that.
    pub(super) free_scale: f64,
    /// GPU time below, of spans whose streams no timed span between has all of.
    pub(super) below: f64,
    /// Its own time holds that of spans inside on some of several streams.
    pub(super) own_overlaps: bool,
    /// `below` holds some of its time twice, for the same reason.
    pub(super) below_overlaps: bool,
    /// `below` lacks the time of calls that were to be timed.
    pub(super) below_partial: bool,
    /// `below` is partly scaled up from a sample.
    pub(super) below_estimated: bool,
}

pub(super) fn nodes<'a>(inputs: &'a ProfileInputs<'_>) -> Vec<CallTreeNode<'a>> {
    let mut gpu: FxHashMap<u32, Vec<(u32, &GpuPathTotals)>> = FxHashMap::default();
    for (&(path, device), node) in &inputs.gpu.nodes {
        gpu.entry(path).or_default().push((device, node));
    }
    let mut nodes: Vec<CallTreeNode<'_>> = Vec::with_capacity(inputs.paths.len());
    for (at, &path) in inputs.paths.iter().enumerate() {
        let cpu = inputs.totals.nodes.get(at).copied().unwrap_or_default();
        let mut gpu = gpu.remove(&(at as u32)).unwrap_or_default();
        gpu.sort_unstable_by_key(|(device, _)| *device);
        nodes.push(CallTreeNode {
            path,
            cpu,
            gpu,
            scale: 1.0,
            free_scale: 1.0,
            below: 0.0,
            own_overlaps: false,
            below_overlaps: false,
            below_partial: false,
            below_estimated: false,
        });
    }
    scale(&mut nodes);
    let mut nested: Vec<NestedPath> = inputs
        .gpu
        .nested
        .iter()
        .filter(|(_, time)| time.ns > 0)
        .map(
            |(&(path, enclosing_timed, partly_overlaps), &time)| NestedPath {
                enclosing_timed,
                path,
                partly_overlaps,
                ns: time.ns,
                read_ns: time.read_ns,
            },
        )
        .collect();
    nested.sort_unstable();
    for inside in nested.chunk_by(|a, b| a.enclosing_timed == b.enclosing_timed) {
        clamp_to_parent(&mut nodes, inside);
    }
    for one in &nested {
        if one.enclosing_timed != ROOT {
            add_nested(&mut nodes, one);
        }
        mark_overlap(&mut nodes, one);
    }
    add_outermost(&mut nodes, &nested);
    mark_incomplete(&mut nodes, &nested);
    nodes
}

/// Marks the nodes whose `below` lacks time, or estimates it.
fn mark_incomplete(nodes: &mut [CallTreeNode<'_>], nested: &[NestedPath]) {
    // By site: whether any call was timed, and whether replays make up for what was captured.
    let mut sites: FxHashMap<u32, (bool, bool)> = FxHashMap::default();
    for node in nodes.iter().skip(1) {
        let (timed, replayed) = sites.entry(node.path.site).or_default();
        *timed |= node.chosen().0 > 0;
        *replayed |= node.cpu.counts.replays > 0;
    }
    let site = |node: &CallTreeNode<'_>| sites.get(&node.path.site).copied().unwrap_or_default();
    let partial = above(nodes, nested, |node| {
        let ((is_timed, is_replayed), counts) = (site(node), &node.cpu.counts);
        let sampled_out = reason(&node.cpu, UntimedReason::SampledOut);
        let made_up_for = if is_timed { sampled_out } else { 0 };
        let replayed = if is_replayed { counts.in_graph } else { 0 };
        counts.with_stream() > node.chosen().0 + made_up_for + replayed
    });
    let estimated = above(nodes, nested, |node| {
        site(node).0 && reason(&node.cpu, UntimedReason::SampledOut) > 0
    });
    for ((node, partial), estimated) in nodes.iter_mut().zip(partial).zip(estimated) {
        (node.below_partial, node.below_estimated) = (partial, estimated);
    }
}

/// The nodes whose `below` has a part in those that `is_so` holds for: all above one of these, up to the nearest that has its
/// time in its own already.
fn above(
    nodes: &[CallTreeNode<'_>],
    nested: &[NestedPath],
    is_so: impl Fn(&CallTreeNode<'_>) -> bool,
) -> Vec<bool> {
    // Where a path's way up ends; of several ways the longest.
    let mut ends: FxHashMap<u32, u32> = FxHashMap::default();
    for one in nested {
        let end = match nodes.get(one.enclosing_timed as usize) {
            Some(enclosing_timed) if enclosing_timed.has_time() => one.enclosing_timed,
            _ => ROOT,
        };
        let known = ends.entry(one.path).or_insert(end);
        *known = end.min(*known);
    }
    let mut found = vec![false; nodes.len()];
    let mut ways: Vec<Option<u32>> = vec![None; nodes.len()];
    // From the bottom up: a parent stands before its children.
    for (at, node) in nodes.iter().enumerate().skip(1).rev() {
        let from_here = || ends.get(&(at as u32)).copied().unwrap_or(ROOT);
        let own = is_so(node).then(from_here);
        let inside = ways.get(at).copied().flatten();
        let parent = node.path.parent;
        let way = own.into_iter().chain(inside).min();
        if let Some(end) = way.filter(|end| *end < at as u32 && parent != ROOT)
            && let (Some(found), Some(way)) = (
                found.get_mut(parent as usize),
                ways.get_mut(parent as usize),
            )
        {
            *found = true;
            *way = Some(way.map_or(end, |known| known.min(end)));
        }
    }
    found
}

/// Adds the times of paths inside no timed span to all nodes above each: from the bottom up in one go, as a deep recursion
/// can have them at every level.
fn add_outermost(nodes: &mut [CallTreeNode<'_>], nested: &[NestedPath]) {
    let mut up = vec![0.0; nodes.len()];
    for one in nested.iter().filter(|one| one.enclosing_timed == ROOT) {
        let at = one.path as usize;
        if let (Some(sum), Some(node)) = (up.get_mut(at), nodes.get(at)) {
            *sum += one.ns as f64 * node.scale;
        }
    }
    for at in (1..nodes.len()).rev() {
        let sum = up.get(at).copied().unwrap_or(0.0);
        let parent = nodes.get(at).map_or(ROOT, |node| node.path.parent);
        if parent != ROOT
            && let (Some(up), Some(above)) =
                (up.get_mut(parent as usize), nodes.get_mut(parent as usize))
        {
            *up += sum;
            above.below += sum;
        }
    }
}

/// Time of `path`, as it was inputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NestedPath {
    /// The nearest timed node above that has it in its own time, or [`ROOT`].
    enclosing_timed: u32,
    path: u32,
    /// The nearest that has it in part, or [`ROOT`].
    partly_overlaps: u32,
    ns: u64,
    /// Each call as one.
    read_ns: u64,
}

/// Sets what times are multiplied by.
fn scale(nodes: &mut [CallTreeNode<'_>]) {
    let mut by_site: FxHashMap<u32, Sampled> = FxHashMap::default();
    for node in nodes.iter().skip(1) {
        by_site.entry(node.path.site).or_default().add(node);
    }
    for node in nodes.iter_mut().skip(1) {
        if let Some(factor) = by_site.get(&node.path.site).and_then(Sampled::factor) {
            node.scale = factor;
            node.free_scale = factor;
        }
    }
}

/// Holds what is inside one node within its total. Each is estimated by its own count of calls, so by chance the parts can
/// come out larger than the whole. Outer nodes come first, so that what is inside the inner ones follows.
fn clamp_to_parent(nodes: &mut [CallTreeNode<'_>], inside: &[NestedPath]) {
    let enclosing = inside.first().map_or(ROOT, |one| one.enclosing_timed);
    let Some(outer) = nodes.get(enclosing as usize).filter(|_| enclosing != ROOT) else {
        return;
    };
    let limit = outer.measured_ns() as f64 * outer.scale;
    // More than the whole as it was read: futures that ran beside each other, which no chance explains.
    let read: u64 = outer.gpu.iter().map(|(_, node)| node.read_ns).sum();
    if inside.iter().map(|one| one.read_ns).sum::<u64>() > read {
        return;
    }
    let scaled = |nodes: &[CallTreeNode<'_>], one: &NestedPath| {
        let scale = nodes.get(one.path as usize).map_or(0.0, |node| node.scale);
        one.ns as f64 * scale
    };
    let sum: f64 = inside.iter().map(|one| scaled(nodes, one)).sum();
    if sum <= limit {
        return;
    }
    for one in inside {
        let over = scaled(nodes, one) * (1.0 - limit / sum);
        if let Some(node) = nodes.get_mut(one.path as usize) {
            let total = node.measured_ns() as f64 * node.scale;
            // The part of the node that is inside this one.
            node.scale *= 1.0 - over / total.max(over);
        }
    }
}

impl CallTreeNode<'_> {
    /// Sum of the times that were read, each as often as it stands for.
    fn measured_ns(&self) -> u64 {
        self.gpu.iter().map(|(_, node)| node.times.total).sum()
    }

    /// Whether a time of it was read.
    fn has_time(&self) -> bool {
        self.gpu.iter().any(|(_, node)| node.read > 0)
    }

    /// Timed calls, and how many calls they stand for.
    pub(super) fn chosen(&self) -> (u64, u64) {
        let sum = |of: fn(&GpuPathTotals) -> u64| self.gpu.iter().map(|(_, node)| of(node)).sum();
        (sum(|node| node.calls), sum(|node| node.weights))
    }
}

/// Adds the time of a path to all nodes above it, up to the span that has it in its own time already. Where that one went
/// untimed after all, up to the next that has a time, which may hold this one too.
fn add_nested(nodes: &mut [CallTreeNode<'_>], one: &NestedPath) {
    let NestedPath {
        enclosing_timed,
        path,
        ns,
        ..
    } = *one;
    let Some(node) = nodes.get(path as usize) else {
        return;
    };
    let (scaled, mut at) = (ns as f64 * node.scale, node.path.parent);
    let mut is_past = false;
    while at != ROOT
        && let Some(above) = nodes.get_mut(at as usize)
    {
        above.below += scaled;
        is_past |= at == enclosing_timed;
        at = match is_past && above.has_time() {
            true => ROOT,
            false => above.path.parent,
        };
    }
}

/// Marks the span `partly_overlaps`, which shares some streams with `path`, and all nodes above that count both.
fn mark_overlap(nodes: &mut [CallTreeNode<'_>], one: &NestedPath) {
    let NestedPath {
        enclosing_timed,
        path,
        partly_overlaps,
        ..
    } = *one;
    if partly_overlaps == ROOT {
        return;
    }
    if let Some(node) = nodes.get_mut(partly_overlaps as usize) {
        node.own_overlaps = true;
    }
    let mut counts_both = false;
    let mut at = path;
    while at != ROOT && at != enclosing_timed {
        counts_both |= at == partly_overlaps;
        let Some(node) = nodes.get(at as usize) else {
            return;
        };
        at = node.path.parent;
        if let Some(above) = nodes.get_mut(at as usize) {
            above.below_overlaps |= counts_both;
        }
    }
}

pub(super) fn reason(data: &PathTotals, reason: UntimedReason) -> u64 {
    data.counts
        .untimed
        .get(reason as usize)
        .copied()
        .unwrap_or(0)
}
