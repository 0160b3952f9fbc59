//! The rows of the call tree: callers and callees, the kernels that each call path launched, and
//! what the limit keeps.
//!
//! Walks are loops, not recursion: a recursive program makes a deep tree, and this runs on whatever
//! stack exit left.

use std::cmp::Reverse;

use super::activities::ActivityNames;
use super::function_name::{RepeatedNames, others_label};
use super::grid::RowLabel;
use super::kept_rows::KeptRows;
use super::number::total;
use super::options::TableOptions;
use super::qualifiers::{Doubt, RowMark};
use super::row::{Figures, gpu_inclusive, has_run, longest};
use super::{label_rows, words};
use crate::profile::{Function, NodeActivity, Profile, TreeNode};
use crate::sanitize;
use crate::setting_values::Sort;

/// One row, not yet formatted.
#[derive(Default)]
pub(super) struct TreeRow {
    pub(super) label: RowLabel,
    pub(super) mark: Option<RowMark>,
    pub(super) figures: Figures,
}

/// The nodes by position in `Profile::tree`, with their callees in the order wanted.
pub(super) struct SortedTree<'a> {
    profile: &'a Profile,
    nodes: &'a [TreeNode],
    roots: Vec<usize>,
    callees: Vec<Vec<usize>>,
    kept: KeptRows,
    names: ActivityNames<'a>,
    /// Functions on one call path alone: their statistics are those of the node.
    on_one_path: Vec<bool>,
}

impl<'a> SortedTree<'a> {
    pub(super) fn new(profile: &'a Profile, options: &TableOptions) -> Self {
        let nodes = profile.tree.as_slice();
        let parents = profile.parents();
        let mut roots = Vec::new();
        let mut callees = vec![Vec::new(); nodes.len()];
        for (own, parent) in parents.iter().enumerate() {
            match parent.and_then(|parent| callees.get_mut(parent)) {
                Some(siblings) => siblings.push(own),
                None => roots.push(own),
            }
        }
        let on_one_path = on_one_path(profile);
        for siblings in callees.iter_mut().chain([&mut roots]) {
            let key =
                |node: &TreeNode| order(node, alone(node, profile, &on_one_path), options.sort);
            siblings.sort_by_cached_key(|own| nodes.get(*own).map(key));
        }
        Self {
            profile,
            nodes,
            roots,
            callees,
            kept: KeptRows::largest(nodes, &parents, options.row_limit()),
            names: ActivityNames::new(profile, options),
            on_one_path,
        }
    }

    /// Rows from the top down: each node, what it launched, and what it called.
    pub(super) fn rows(&self) -> Vec<TreeRow> {
        let names = RepeatedNames::of(self.profile);
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
                Some(above) if last => (format!("{above}└ "), format!("{above}  ")),
                Some(above) => (format!("{above}├ "), format!("{above}│ ")),
            };
            match step {
                TreeStep::Node(own) => {
                    let Some(node) = self.nodes.get(own) else {
                        continue;
                    };
                    rows.push(self.node_row(node, indent, &names));
                    let callees = self.callees.get(own).map_or(&[][..], Vec::as_slice);
                    let below = bounded(below);
                    let inside = self.level(callees, Some(below.clone()));
                    let branch = if inside.steps.len() == 0 {
                        "  "
                    } else {
                        "│ "
                    };
                    let indent = format!("{below}{branch}  ");
                    self.activity_rows(own, node, &indent, &mut rows);
                    open.push(inside);
                }
                TreeStep::Others(cut) => rows.push(self.others_row(&cut, &indent)),
            }
        }
        rows
    }

    fn level(&self, siblings: &[usize], indent: Option<String>) -> Level {
        let (kept, cut): (Vec<usize>, Vec<usize>) = siblings
            .iter()
            .copied()
            .filter(|own| self.ran(*own))
            .partition(|own| self.kept.node(*own));
        let mut steps: Vec<TreeStep> = kept.into_iter().map(TreeStep::Node).collect();
        if !cut.is_empty() {
            steps.push(TreeStep::Others(cut));
        }
        Level {
            indent,
            steps: steps.into_iter(),
        }
    }

    /// A node that no call has ended in still has to be shown for the sake of its callees.
    fn ran(&self, own: usize) -> bool {
        self.nodes.get(own).is_some_and(has_run)
            || self.callees.get(own).is_some_and(|below| !below.is_empty())
    }

    fn node_row(&self, node: &TreeNode, indent: String, names: &RepeatedNames<'_>) -> TreeRow {
        let (name, mark, figures) = node_parts(node, self.profile, names, &self.on_one_path);
        TreeRow {
            label: RowLabel {
                mark: mark.map_or("", RowMark::text),
                indent,
                name,
                ..RowLabel::default()
            },
            mark,
            figures,
        }
    }

    fn activity_rows(&self, own: usize, node: &TreeNode, indent: &str, rows: &mut Vec<TreeRow>) {
        let (mut shown, mut cut): (Vec<_>, Vec<_>) = (node.activities.iter().enumerate())
            .partition(|(number, _)| self.kept.activity(own, *number));
        // A row that sums one up is no shorter.
        if cut.len() == 1 {
            shown.append(&mut cut);
        }
        for (_, activity) in shown {
            rows.push(TreeRow {
                label: RowLabel::secondary(indent, self.names.of(activity)),
                figures: Figures::of_activity(activity.calls, activity.total_ns),
                mark: None,
            });
        }
        if !cut.is_empty() {
            let sum = |field: fn(&NodeActivity) -> u64| {
                let fields = cut.iter().map(|(_, activity)| field(activity));
                total(fields)
            };
            let figures =
                Figures::of_activity(sum(|activity| activity.calls), sum(|own| own.total_ns));
            rows.push(TreeRow {
                label: RowLabel::secondary(indent, others_label(cut.len())),
                figures,
                mark: None,
            });
        }
    }

    /// Callees of one node do not overlap on the CPU nor on a stream, so their totals add up.
    fn others_row(&self, cut: &[usize], indent: &str) -> TreeRow {
        let mut sum = Figures::default();
        for node in cut.iter().filter_map(|own| self.nodes.get(*own)) {
            let mut figures = Figures::of_node(node, None, doubt(node, self.profile), &[]);
            let inside = figures.gpu_inside.take();
            figures.gpu_total = figures.gpu_total.or(inside);
            sum.add(&figures);
        }
        TreeRow {
            label: RowLabel::secondary(indent, others_label(cut.len())),
            figures: sum,
            mark: None,
        }
    }

    /// Rows that the limit has cut.
    pub(super) fn cut_rows(&self) -> usize {
        self.kept.cut
    }
}

/// The name, the mark and the figures of a node's row.
pub(super) fn node_parts(
    node: &TreeNode,
    profile: &Profile,
    names: &RepeatedNames<'_>,
    on_one_path: &[bool],
) -> (String, Option<RowMark>, Figures) {
    let function = function_of(node, profile);
    let mut name = function
        .filter(|function| function.name == node.name)
        .map_or_else(
            || sanitize::name(&node.name).into_owned(),
            |function| names.shown(function),
        );
    name.extend(node.label.as_deref().map(label_rows::bracketed));
    let alone = alone(node, profile, on_one_path);
    let figures = Figures::of_node(node, alone, doubt(node, profile), &profile.devices);
    let mark = function
        .filter(|_| node.gpu_total_ns.is_some())
        .and_then(|function| RowMark::of(function, figures.gpu_avg, profile))
        // Busy times have no event overhead in them.
        .filter(|mark| *mark != RowMark::NearFloor || node.busy_ns.is_none());
    (name, mark, figures)
}

/// For each function, whether it is on one call path alone.
pub(super) fn on_one_path(profile: &Profile) -> Vec<bool> {
    let mut paths = vec![0_u32; profile.functions.len()];
    for function in profile.tree.iter().filter_map(|node| node.function) {
        if let Some(count) = paths.get_mut(function as usize) {
            *count += 1;
        }
    }
    paths.into_iter().map(|count| count == 1).collect()
}

/// Siblings still to be shown, and what stands before their branch; `None` at the top.
struct Level {
    indent: Option<String>,
    steps: std::vec::IntoIter<TreeStep>,
}

enum TreeStep {
    Node(usize),
    Others(Vec<usize>),
}

/// Columns of indentation that are drawn; deeper ones lose their beginning.
const MAX_INDENT: usize = 32;

fn bounded(indent: String) -> String {
    if words::width(&indent) <= MAX_INDENT {
        indent
    } else {
        format!("… {}", words::suffix(&indent, MAX_INDENT - 2))
    }
}

/// `alone`: the function, if this is its only path.
fn order(node: &TreeNode, alone: Option<&Function>, sort: Sort) -> impl Ord + use<> {
    let figures = match sort {
        Sort::Gpu => (gpu_inclusive(node), node.cpu_total_ns),
        Sort::Cpu => (node.cpu_total_ns, gpu_inclusive(node)),
        Sort::Calls => (node.runs(), gpu_inclusive(node)),
        Sort::Max => match alone {
            Some(function) => longest(function),
            // The longest call on a path is not known: its mean is the nearest value.
            None => (
                gpu_inclusive(node) / node.runs().max(1),
                node.cpu_total_ns / node.calls.max(1),
            ),
        },
        Sort::Name => (0, 0),
    };
    (Reverse(figures), node.name.clone())
}

fn function_of<'a>(node: &TreeNode, profile: &'a Profile) -> Option<&'a Function> {
    profile.functions.get(usize::try_from(node.function?).ok()?)
}

/// The function of a node, if it is on no other path.
fn alone<'a>(node: &TreeNode, profile: &'a Profile, on_one_path: &[bool]) -> Option<&'a Function> {
    let is_alone = on_one_path.get(node.function? as usize) == Some(&true);
    function_of(node, profile).filter(|_| is_alone)
}

/// The doubt about the node's function, except for `estimated`, which comes from the node.
fn doubt(node: &TreeNode, profile: &Profile) -> Doubt {
    let function = function_of(node, profile);
    match node.gpu_total_ns {
        Some(_) => Doubt {
            estimated: node.gpu_estimate.is_some(),
            ..function.map_or_else(Doubt::default, Doubt::of)
        },
        None => function
            .filter(|_| node.gpu_nested_ns > 0)
            .map_or_else(Doubt::default, Doubt::inside),
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
        let rows = SortedTree::new(&profile, &options).rows();
        let name = |row: TreeRow| format!("{}{}", row.label.indent, row.label.name);
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
        assert_eq!(names(tree, 3), ["n0", "└ n1", "  └ n2", "… 1 other"]);
    }

    #[test]
    fn kernels_stand_between_a_function_and_its_callees() {
        let launched = |total_ns| NodeActivity {
            calls: 1,
            total_ns,
            ..NodeActivity::default()
        };
        let mut outer = node(0, None, 100);
        outer.activities = vec![launched(30), launched(4), launched(3)];
        let mut inner = node(1, Some(0), 60);
        inner.activities = vec![launched(50)];
        let tree = vec![outer, inner];
        let unknown = "(unknown)";
        assert_eq!(
            names(tree.clone(), 0),
            [
                "n0".to_owned(),
                format!("│   {unknown}"),
                format!("│   {unknown}"),
                format!("│   {unknown}"),
                "└ n1".to_owned(),
                format!("      {unknown}"),
            ]
        );
        let limited = names(tree, 4);
        assert_eq!(limited.get(2).map(String::as_str), Some("│   … 2 others"));
    }
}
