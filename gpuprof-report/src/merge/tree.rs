//! The call tree over several profiles: nodes with the same path are one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::activities::Places;
use super::rows::RowsByName;
use super::totals::Uncertainty;
use crate::figures::Sum;
use crate::profile::{NodeActivity, TreeNode};

/// The merged call tree.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedTree {
    rows: RowsByName<NodeTotals>,
    /// The key of the node that is looked up.
    key: String,
}

#[derive(Clone, Debug, Default)]
struct NodeTotals {
    sums: TreeNode,
    /// Whether a profile could not say how long the calls were idle.
    lacks_idle: bool,
    uncertainty: Uncertainty,
    /// By kernel or copies.
    activities: BTreeMap<(Option<u32>, Option<u32>), NodeActivity>,
}

impl MergedTree {
    /// Adds the tree of a profile. `functions` are the merged places of its functions. Returns the
    /// calls for which there was no room.
    pub(super) fn add(
        &mut self,
        tree: &[TreeNode],
        functions: &[Option<u32>],
        activities: &Places,
    ) -> u64 {
        let mut dropped = 0_u64;
        let mut ids: HashMap<u32, u32> = HashMap::with_capacity(tree.len());
        for node in tree {
            let function = node.function.and_then(|at| *functions.get(at as usize)?);
            // A node for whose parent there was no room stands at the top.
            let parent = node.parent.and_then(|parent| ids.get(&parent).copied());
            self.write_key(node, function);
            let number = parent.map_or(0, |parent| parent + 1);
            let id = self.rows.len() as u32;
            let at = self.rows.position(&self.key, number, || NodeTotals {
                sums: TreeNode {
                    id,
                    parent,
                    function,
                    ..TreeNode::default()
                },
                ..NodeTotals::default()
            });
            match at.and_then(|at| Some((at, self.rows.get_mut(at)?))) {
                Some((at, totals)) => {
                    ids.insert(node.id, at);
                    totals.add(node, activities);
                }
                None => dropped.add(&node.calls),
            }
        }
        dropped
    }

    /// Function, or name of a node without one; label; and whether it is of replays.
    fn write_key(&mut self, node: &TreeNode, function: Option<u32>) {
        use std::fmt::Write as _;
        self.key.clear();
        // Writing to a String cannot fail.
        let _ = match function {
            Some(function) => write!(self.key, "{function}"),
            None => write!(self.key, "\n{}", node.name),
        };
        let kind = match (&node.captured, &node.label) {
            (None, None) => "\n",
            (None, Some(_)) => "\nlabel ",
            (Some(_), None) => "\ncaptured",
            (Some(_), Some(_)) => "\ncaptured label ",
        };
        self.key.push_str(kind);
        self.key.push_str(node.label.as_deref().unwrap_or_default());
    }

    /// The nodes, parents before their children, with the final places of functions, kernels and
    /// copies.
    pub(super) fn finish(
        self,
        functions: &[u32],
        kernels: &[u32],
        copies: &[u32],
    ) -> Vec<TreeNode> {
        let place = |places: &[u32], at: Option<u32>| places.get(at? as usize).copied();
        let nodes = self
            .rows
            .sorted_by_key(|node| node.sums.id)
            .0
            .into_iter()
            .map(|node| {
                let mut activities: Vec<NodeActivity> = (node.activities.into_iter())
                    .map(|((kernel, copy), sums)| NodeActivity {
                        kernel: place(kernels, kernel),
                        copies: place(copies, copy),
                        ..sums
                    })
                    .collect();
                activities.sort_by_key(|of| (Reverse(of.total_ns), of.kernel, of.copies));
                TreeNode {
                    function: place(functions, node.sums.function),
                    activities,
                    gpu_estimate: node.uncertainty.estimate(),
                    idle_ns: node.sums.idle_ns.filter(|_| !node.lacks_idle),
                    ..node.sums
                }
            });
        nodes.collect()
    }
}

impl NodeTotals {
    fn add(&mut self, node: &TreeNode, places: &Places) {
        self.sums.add(node);
        let is_timed = node
            .busy_ns
            .is_some_and(|ns| ns > 0 || node.gpu_total_ns.is_some());
        self.lacks_idle |= is_timed && node.idle_ns.is_none();
        self.uncertainty.add_estimate(node.gpu_estimate.as_ref());
        let place = |places: &[Option<u32>], at: Option<u32>| *places.get(at? as usize)?;
        for activity in &node.activities {
            let key = (
                place(&places.kernels, activity.kernel),
                place(&places.copies, activity.copies),
            );
            if key != (None, None) {
                self.activities.entry(key).or_default().add(activity);
            }
        }
    }
}
