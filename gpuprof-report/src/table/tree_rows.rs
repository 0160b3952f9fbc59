//! The way through the call tree: who called whom, what the limit keeps, and the rows from the top
//! down.
//!
//! Walks are loops, not recursion: a recursive program makes a deep tree, and this runs on whatever
//! stack exit left.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::function_name::{RepeatedNames, others};
use super::grid::Label;
use super::qualifiers::{Doubt, RowMark};
use super::{Sort, TableOptions, label_rows, words};
use crate::profile::{Function, Profile, TreeNode};
use crate::sanitize;

/// One row, not yet turned into digits. Times in ns.
#[derive(Default)]
pub(super) struct Row {
    pub(super) label: Label,
    /// What stands before the row.
    pub(super) mark: Option<RowMark>,
    /// What is to be said of the GPU sums.
    pub(super) doubt: Doubt,
    pub(super) calls: u64,
    /// Calls in progress and their time so far; `None` if there are none.
    pub(super) open: Option<(u64, u64)>,
    pub(super) gpu_total: Option<u64>,
    pub(super) gpu_self: Option<u64>,
    pub(super) gpu_inside: u64,
    /// GPU time with everything inside, without the parts of other threads and tasks; `None` where
    /// there is none.
    pub(super) gpu_share: Option<u64>,
    /// `None` if no call has ended, as where graphs replayed captured ones.
    pub(super) cpu_total: Option<u64>,
    pub(super) cpu_self: Option<u64>,
}

/// The nodes by position in `Profile::tree`, with their callees in the order wanted.
pub(super) struct Tree<'a> {
    nodes: &'a [TreeNode],
    roots: Vec<usize>,
    callees: Vec<Vec<usize>>,
    kept: Vec<bool>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(profile: &'a Profile, options: &TableOptions) -> Self {
        let nodes = profile.tree.as_slice();
        let at: HashMap<u32, usize> = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.id, at))
            .collect();
        // Parents stand before their children; anything else would be a loop and is shown at the
        // top.
        let parents: Vec<Option<usize>> = (nodes.iter().enumerate())
            .map(|(own, node)| {
                node.parent
                    .and_then(|id| at.get(&id).copied())
                    .filter(|parent| *parent < own)
            })
            .collect();
        let mut roots = Vec::new();
        let mut callees = vec![Vec::new(); nodes.len()];
        for (own, parent) in parents.iter().enumerate() {
            match parent.and_then(|parent| callees.get_mut(parent)) {
                Some(siblings) => siblings.push(own),
                None => roots.push(own),
            }
        }
        for siblings in callees.iter_mut().chain([&mut roots]) {
            siblings.sort_by_key(|own| nodes.get(*own).map(|node| order(node, options.sort)));
        }
        Self {
            nodes,
            roots,
            callees,
            kept: largest(nodes, &parents, options.row_limit()),
        }
    }

    /// Rows from the top down, each node followed by what it called.
    pub(super) fn rows(&self, profile: &Profile) -> Vec<Row> {
        let names = RepeatedNames::of(profile);
        let mut rows = Vec::new();
        let mut open = vec![self.level(&self.roots, None)];
        while let Some(level) = open.last_mut() {
            let Some(step) = level.steps.next() else {
                open.pop();
                continue;
            };
            let last = level.steps.len() == 0;
            let (indent, below) = match &level.indent {
                None => (String::new(), String::new()),
                Some(above) if last => (format!("{above}└─ "), format!("{above}   ")),
                Some(above) => (format!("{above}├─ "), format!("{above}│  ")),
            };
            match step {
                Step::Node(own) => {
                    rows.extend(
                        self.nodes
                            .get(own)
                            .map(|node| node_row(node, indent, profile, &names)),
                    );
                    let callees = self.callees.get(own).map_or(&[][..], Vec::as_slice);
                    open.push(self.level(callees, Some(bounded(below))));
                }
                Step::Others(cut) => rows.push(self.others_row(&cut, indent, profile)),
            }
        }
        rows
    }

    fn level(&self, siblings: &[usize], indent: Option<String>) -> Level {
        let (kept, cut): (Vec<usize>, Vec<usize>) = siblings
            .iter()
            .copied()
            .filter(|own| self.ran(*own))
            .partition(|own| self.kept.get(*own) == Some(&true));
        let mut steps: Vec<Step> = kept.into_iter().map(Step::Node).collect();
        if !cut.is_empty() {
            steps.push(Step::Others(cut));
        }
        Level {
            indent,
            steps: steps.into_iter(),
        }
    }

    /// A node that no call has ended in still has to be shown for the sake of its callees.
    fn ran(&self, own: usize) -> bool {
        let ran = |node: &TreeNode| node.has_run() || node.captured.is_some();
        self.nodes.get(own).is_some_and(ran)
            || self.callees.get(own).is_some_and(|below| !below.is_empty())
    }

    /// Callees of one node do not overlap on the CPU nor on a stream, so their totals add up.
    fn others_row(&self, cut: &[usize], indent: String, profile: &Profile) -> Row {
        let mut sum = Row {
            label: Label {
                indent,
                name: others(cut.len()),
                secondary: true,
                ..Label::default()
            },
            ..Row::default()
        };
        for node in cut.iter().filter_map(|own| self.nodes.get(*own)) {
            sum.doubt = sum.doubt.and(doubt(node, profile));
            sum.calls = sum.calls.saturating_add(node.runs());
            if node.open_calls > 0 {
                let (calls, ns) = sum.open.unwrap_or_default();
                let (more, more_ns) = (node.open_calls, node.open_ns);
                sum.open = Some((calls.saturating_add(more), ns.saturating_add(more_ns)));
            }
            sum.gpu_total = add(
                sum.gpu_total,
                node.gpu_total_ns
                    .or(Some(gpu_inclusive(node)).filter(|ns| *ns > 0)),
            );
            sum.gpu_self = add(sum.gpu_self, node.gpu_self_ns);
            sum.gpu_share = add(sum.gpu_share, gpu_share(node, profile));
            sum.cpu_total = add(sum.cpu_total, Some(node.cpu_total_ns));
            sum.cpu_self = add(sum.cpu_self, Some(node.cpu_self_ns));
        }
        sum
    }
}

/// Siblings still to be shown, and what stands before their branch; `None` at the top.
struct Level {
    indent: Option<String>,
    steps: std::vec::IntoIter<Step>,
}

enum Step {
    Node(usize),
    Others(Vec<usize>),
}

/// Levels of indentation that are drawn; deeper ones lose their beginning.
const DEEPEST: usize = 16;

fn bounded(indent: String) -> String {
    let width = DEEPEST * 3;
    if words::width(&indent) <= width {
        indent
    } else {
        format!("… {}", words::suffix(&indent, width - 2))
    }
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// GPU time of a node with everything inside it.
fn gpu_inclusive(node: &TreeNode) -> u64 {
    let replayed = node
        .captured
        .as_ref()
        .map_or(0, |captured| captured.busy_ns);
    let spans = node.gpu_total_ns.unwrap_or(0).max(node.gpu_nested_ns);
    spans.max(replayed)
}

/// The same without the parts of others; `None` where there is none.
fn gpu_share(node: &TreeNode, profile: &Profile) -> Option<u64> {
    let shares = function_of(node, profile)
        .is_some_and(|function| function.gpu_divided_calls > 0 || function.gpu_nested_divided);
    match node.gpu_self_ns {
        Some(own) if shares => Some(own.saturating_add(node.gpu_nested_ns)),
        _ => Some(gpu_inclusive(node)).filter(|ns| *ns > 0 || node.gpu_total_ns.is_some()),
    }
}

fn order(node: &TreeNode, sort: Sort) -> impl Ord + use<> {
    let figures = match sort {
        Sort::Gpu => (gpu_inclusive(node), node.cpu_total_ns),
        Sort::Cpu => (node.cpu_total_ns, gpu_inclusive(node)),
        Sort::Calls => (node.runs(), gpu_inclusive(node)),
        // A node has no longest call: its mean is the nearest figure.
        Sort::Max => (
            gpu_inclusive(node) / node.runs().max(1),
            node.cpu_total_ns / node.calls.max(1),
        ),
        Sort::Name => (0, 0),
    };
    (Reverse(figures), node.name.clone())
}

/// Which nodes stay: the `limit` largest, where a node counts for no less than any node inside it,
/// so that whatever stays is reached from the top.
fn largest(nodes: &[TreeNode], parents: &[Option<usize>], limit: usize) -> Vec<bool> {
    if limit >= nodes.len() {
        return vec![true; nodes.len()];
    }
    let mut weights: Vec<(u64, u64)> = nodes
        .iter()
        .map(|node| (gpu_inclusive(node), node.cpu_total_ns))
        .collect();
    for (own, parent) in parents.iter().enumerate().rev() {
        let weight = weights.get(own).copied().unwrap_or_default();
        if let Some(above) = parent.and_then(|parent| weights.get_mut(parent)) {
            *above = (*above).max(weight);
        }
    }
    let mut by_weight: Vec<usize> = (0..nodes.len()).collect();
    // Among equals the earlier one stays: a parent stands before its children.
    by_weight.sort_by_key(|own| Reverse(weights.get(*own).copied()));
    let mut kept = vec![false; nodes.len()];
    for own in by_weight.into_iter().take(limit) {
        if let Some(keep) = kept.get_mut(own) {
            *keep = true;
        }
    }
    kept
}

fn function_of<'a>(node: &TreeNode, profile: &'a Profile) -> Option<&'a Function> {
    profile.functions.get(usize::try_from(node.function?).ok()?)
}

/// That of the function: a node does not tell which of its own calls were timed.
fn doubt(node: &TreeNode, profile: &Profile) -> Doubt {
    let doubt = match node.gpu_total_ns {
        Some(_) => Doubt::of,
        None => Doubt::inside,
    };
    function_of(node, profile)
        .filter(|_| node.gpu_total_ns.is_some() || node.gpu_nested_ns > 0)
        .map_or_else(Doubt::default, doubt)
}

/// That of the function. An average is not shown, and so none is marked as near the event overhead.
fn mark(node: &TreeNode, profile: &Profile) -> Option<RowMark> {
    let function = function_of(node, profile).filter(|_| node.gpu_total_ns.is_some());
    RowMark::of(function?, profile).filter(|mark| *mark != RowMark::NearFloor)
}

fn node_row(node: &TreeNode, indent: String, profile: &Profile, names: &RepeatedNames<'_>) -> Row {
    let ended = node.calls > 0 || node.open_calls == 0;
    let called = node.captured.is_none() && ended;
    let replayed = node.captured.as_ref().map(|captured| captured.busy_ns);
    let mut name = function_of(node, profile)
        .filter(|function| function.name == node.name)
        .map_or_else(
            || sanitize::name(&node.name).into_owned(),
            |function| names.shown(function),
        );
    name.extend(node.label.as_deref().map(label_rows::bracketed));
    let mark = mark(node, profile);
    Row {
        label: Label {
            mark: mark.map_or("", RowMark::text),
            indent,
            name,
            secondary: false,
        },
        mark,
        doubt: doubt(node, profile),
        calls: node.runs(),
        open: (node.open_calls > 0).then_some((node.open_calls, node.open_ns)),
        gpu_total: node.gpu_total_ns.or(replayed),
        gpu_self: node.gpu_self_ns,
        gpu_inside: node.gpu_nested_ns,
        gpu_share: gpu_share(node, profile),
        cpu_total: called.then_some(node.cpu_total_ns),
        cpu_self: called.then_some(node.cpu_self_ns),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    fn node(id: u32, parent: Option<u32>, gpu_ns: u64) -> TreeNode {
        TreeNode {
            id,
            parent,
            name: format!("n{id}"),
            calls: 1,
            gpu_total_ns: Some(gpu_ns),
            ..TreeNode::default()
        }
    }

    fn names(tree: Vec<TreeNode>, limit: usize) -> Vec<String> {
        let profile = Profile {
            tree,
            ..Profile::default()
        };
        let options = TableOptions {
            limit: NonZeroUsize::new(limit),
            ..TableOptions::default()
        };
        let rows = Tree::new(&profile, &options).rows(&profile);
        let name = |row: Row| format!("{}{}", row.label.indent, row.label.name);
        rows.into_iter().map(name).collect()
    }

    #[test]
    fn a_large_callee_keeps_its_small_callers_in_the_tree() {
        // The callee ran on a stream of its own: its time is not in its caller's.
        let tree = vec![
            node(0, None, 1),
            node(1, Some(0), 2),
            node(2, Some(1), 100),
            node(3, None, 50),
        ];
        assert_eq!(names(tree, 3), ["n0", "└─ n1", "   └─ n2", "… 1 other"]);
    }

    #[test]
    fn a_node_whose_parent_is_missing_or_below_it_stands_at_the_top() {
        let tree = vec![
            node(0, Some(1), 3),
            node(1, Some(9), 2),
            node(2, Some(2), 1),
        ];
        assert_eq!(names(tree, 0), ["n0", "n1", "n2"]);
    }
}
