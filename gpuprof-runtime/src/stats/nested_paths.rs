//! Which span includes the time of a path in its own, and how estimated times are made to fit into
//! each other.

use super::call_tree_node::CallTreeNode;
use super::path_ids::ROOT;
use super::profile_inputs::ProfileInputs;

/// How often rows are moved: each time can take some out of those around them.
const ROUNDS: usize = 16;
/// Less than that of a total is not worth moving.
const EXACT: f64 = 1e-9;
/// The variance of a time without any spread, relative to its square: it moves if nothing else can.
const NO_SPREAD: f64 = 1e-12;

/// GPU time of one path, by the spans that enclose it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NestedPath {
    /// The nearest timed node above that includes the time in its own, or [`ROOT`].
    pub(super) enclosing_timed: u32,
    pub(super) path: u32,
    has_timed: bool,
    /// Of timed calls.
    timed_ns: f64,
    /// For each ns of the path's calls that were left out.
    per_unseen_ns: f64,
}

impl NestedPath {
    /// Whether it has no timed call and is nested in no timed span.
    pub(super) fn is_unsummed(&self) -> bool {
        !self.has_timed && self.enclosing_timed == ROOT
    }

    /// Its time, ns; `node` is that of its path.
    pub(super) fn ns(&self, node: &CallTreeNode<'_>) -> f64 {
        self.timed_ns + self.per_unseen_ns * node.estimate.unseen_ns
    }
}

/// Sorted, so that outer enclosing spans come first.
pub(super) fn nested_paths(
    nodes: &[CallTreeNode<'_>],
    inputs: &ProfileInputs<'_>,
) -> Vec<NestedPath> {
    let mut nested = Vec::new();
    let mut has_timed = vec![false; nodes.len()];
    for (&(path, enclosing_timed), time) in &inputs.gpu.nested {
        let Some(node) = nodes.get(path as usize) else {
            continue;
        };
        if let Some(has_timed) = has_timed.get_mut(path as usize) {
            *has_timed = true;
        }
        let sum = |part: fn(u64, u64) -> u64| -> u64 {
            let gpu = node.gpu();
            gpu.map(|(_, gpu)| part(gpu.timed.total, gpu.represented.total))
                .sum()
        };
        let (part, whole) = if node.estimate.rests_on_own() {
            (time.represented, sum(|_, represented| represented))
        } else {
            (
                time.weighted(),
                sum(|timed, represented| timed + represented),
            )
        };
        nested.push(NestedPath {
            enclosing_timed,
            path,
            has_timed: true,
            timed_ns: time.timed as f64,
            per_unseen_ns: if whole > 0 {
                part as f64 / whole as f64
            } else {
                0.0
            },
        });
    }
    // Where no call is timed, those left out are taken to be nested as the tree is.
    for (path, node) in nodes.iter().enumerate().skip(1) {
        if node.estimate.is_estimated() && has_timed.get(path) == Some(&false) {
            nested.push(NestedPath {
                enclosing_timed: nearest_with_time(nodes, node.path.parent),
                path: path as u32,
                has_timed: false,
                timed_ns: 0.0,
                per_unseen_ns: 1.0,
            });
        }
    }
    nested.sort_unstable_by_key(|nested| (nested.enclosing_timed, nested.path));
    nested
}

/// The nearest path with a time, from this one up; [`ROOT`]: there is none.
pub(super) fn nearest_with_time(nodes: &[CallTreeNode<'_>], mut path: u32) -> u32 {
    while path != ROOT
        && let Some(node) = nodes.get(path as usize)
    {
        if node.estimate.has_time() {
            return path;
        }
        path = node.path.parent;
    }
    ROOT
}

/// Moves estimated times until those nested in one row fit into it. Each is estimated by its own
/// sample, so by chance the parts can come out larger than the whole.
pub(super) fn fit_into_parents(nodes: &mut [CallTreeNode<'_>], nested: &[NestedPath]) {
    for _ in 0..ROUNDS {
        let mut has_moved = false;
        for siblings in nested.chunk_by(|a, b| a.enclosing_timed == b.enclosing_timed) {
            has_moved |= fit_into_parent(nodes, siblings);
        }
        if !has_moved {
            return;
        }
    }
}

/// Moves the row around and the nested ones by their variances until their sums are equal: what is
/// known best moves least, and what is exact does not. Returns whether anything moved.
fn fit_into_parent(nodes: &mut [CallTreeNode<'_>], siblings: &[NestedPath]) -> bool {
    let enclosing = siblings.first().map_or(ROOT, |path| path.enclosing_timed);
    let Some(parent) = nodes.get(enclosing as usize).filter(|_| enclosing != ROOT) else {
        return false;
    };
    // If the parts are larger than the whole before any weighting, futures ran concurrently, and
    // chance does not explain it.
    let timed_ns: f64 = siblings.iter().map(|path| path.timed_ns).sum();
    if timed_ns > parent.estimate.timed_ns() {
        return false;
    }
    let of = |path: &NestedPath| nodes.get(path.path as usize);
    let total_ns = parent.estimate.total_ns();
    let nested_ns: f64 = siblings
        .iter()
        .filter_map(|path| Some(path.ns(of(path)?)))
        .sum();
    let excess_ns = nested_ns - total_ns;
    if excess_ns <= EXACT * total_ns + 0.5 {
        return false;
    }
    let may_grow = parent
        .estimate
        .most_unseen_ns()
        .is_none_or(|most_ns| parent.estimate.unseen_ns < most_ns);
    let of_parent = if may_grow { variance(parent, 1.0) } else { 0.0 };
    let of_child = |path: &NestedPath| {
        let may_shrink =
            |node: &&CallTreeNode<'_>| node.estimate.unseen_ns > node.estimate.least_unseen_ns();
        of(path)
            .filter(may_shrink)
            .map_or(0.0, |node| variance(node, path.per_unseen_ns))
    };
    let variances: Vec<f64> = siblings.iter().map(of_child).collect();
    let sum = of_parent + variances.iter().sum::<f64>();
    if sum <= 0.0 {
        return false;
    }
    let per_variance = excess_ns / sum;
    if let Some(parent) = nodes.get_mut(enclosing as usize) {
        move_by(parent, of_parent * per_variance);
    }
    for (path, variance) in siblings.iter().zip(variances) {
        if path.per_unseen_ns > 0.0
            && let Some(node) = nodes.get_mut(path.path as usize)
        {
            move_by(node, -variance * per_variance / path.per_unseen_ns);
        }
    }
    true
}

/// The variance of a row's time, of which so much is nested in one row around it.
fn variance(node: &CallTreeNode<'_>, per_unseen_ns: f64) -> f64 {
    let estimate = &node.estimate;
    if !estimate.is_estimated() || estimate.unseen_ns <= 0.0 {
        return 0.0;
    }
    let square = estimate.unseen_ns * estimate.unseen_ns;
    let of_total = estimate.half_width_ns.map_or(square, |half| half * half);
    of_total.max(NO_SPREAD * square) * per_unseen_ns * per_unseen_ns
}

fn move_by(node: &mut CallTreeNode<'_>, ns: f64) {
    let estimate = &mut node.estimate;
    let before = estimate.unseen_ns;
    let least_ns = estimate.least_unseen_ns().min(before);
    let most_ns = estimate.most_unseen_ns().unwrap_or(f64::INFINITY);
    estimate.unseen_ns = (before + ns).max(least_ns).min(most_ns.max(before));
    estimate.moved_ns += estimate.unseen_ns - before;
}
