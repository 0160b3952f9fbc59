//! What the limit keeps of the call tree.

use std::cmp::Reverse;

use super::row::{gpu_inclusive, has_run};
use crate::profile::TreeNode;

/// By weight, a node, or one of its activities by number.
type WeightedRow = (Reverse<(u64, u64)>, usize, Option<usize>);

/// Which nodes and activities stay: the `limit` largest, where a node counts for no less than
/// anything inside it, so that whatever stays is reached from the top.
pub(super) struct KeptRows {
    nodes: Vec<bool>,
    /// By node and number.
    activities: Vec<Vec<bool>>,
    pub(super) cut: usize,
}

impl KeptRows {
    pub(super) fn largest(nodes: &[TreeNode], parents: &[Option<usize>], limit: usize) -> Self {
        let mut weights: Vec<(u64, u64)> = nodes
            .iter()
            .map(|node| (gpu_inclusive(node), node.cpu_total_ns))
            .collect();
        let activity_ns = |node: &TreeNode| node.activities.iter().map(|own| own.total_ns).max();
        for (own, parent) in parents.iter().enumerate().rev() {
            if let (Some(weight), Some(ns)) =
                (weights.get_mut(own), nodes.get(own).and_then(activity_ns))
            {
                *weight = (*weight).max((ns, 0));
            }
            let weight = weights.get(own).copied().unwrap_or_default();
            if let Some(above) = parent.and_then(|parent| weights.get_mut(parent)) {
                *above = (*above).max(weight);
            }
        }
        // Among equals a node stands before its activities, and a parent before its children.
        let mut items: Vec<WeightedRow> = Vec::new();
        for (own, (node, weight)) in nodes.iter().zip(&weights).enumerate() {
            if has_run(node) || !node.activities.is_empty() || *weight > (0, 0) {
                items.push((Reverse(*weight), own, None));
            }
            let numbered = node.activities.iter().enumerate();
            items
                .extend(numbered.map(|(number, activity)| {
                    (Reverse((activity.total_ns, 0)), own, Some(number))
                }));
        }
        items.sort_unstable();
        let mut kept = Self {
            nodes: vec![limit >= items.len(); nodes.len()],
            activities: nodes
                .iter()
                .map(|node| vec![false; node.activities.len()])
                .collect(),
            cut: items.len().saturating_sub(limit),
        };
        for (_, own, number) in items.into_iter().take(limit) {
            let flag = match number {
                None => kept.nodes.get_mut(own),
                Some(number) => {
                    let own = kept.activities.get_mut(own);
                    own.and_then(|own| own.get_mut(number))
                }
            };
            if let Some(flag) = flag {
                *flag = true;
            }
        }
        kept
    }

    pub(super) fn node(&self, own: usize) -> bool {
        self.nodes.get(own) == Some(&true)
    }

    pub(super) fn activity(&self, own: usize, number: usize) -> bool {
        let own = self.activities.get(own);
        own.and_then(|own| own.get(number)) == Some(&true)
    }
}
