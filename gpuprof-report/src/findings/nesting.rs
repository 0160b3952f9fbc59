//! Which functions ran nested in which, from the call tree. Functions are indexes in
//! [`Profile::functions`]; a document that gpuprof did not write may name some that do not exist.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::profile::Profile;

/// Runs of functions nested in others, and in themselves.
pub(super) struct Nesting {
    /// By (outer, inner).
    runs: BTreeMap<(usize, usize), u64>,
    /// The keys of `runs` as (inner, outer).
    around: BTreeSet<(usize, usize)>,
}

impl Nesting {
    /// Counts from the call tree how often each function ran nested in each other one.
    pub(super) fn for_profile(profile: &Profile) -> Self {
        let nodes: HashMap<u32, (Option<u32>, Option<u32>)> = profile
            .tree
            .iter()
            .map(|node| (node.id, (node.parent, node.function)))
            .collect();
        let mut runs = BTreeMap::new();
        for node in &profile.tree {
            let mut above = BTreeSet::new();
            let mut next = node.parent;
            while let Some((parent, function)) = next.and_then(|id| nodes.get(&id)) {
                above.extend(*function);
                next = *parent;
            }
            let Some(function) = node.function else {
                continue;
            };
            for outer in above {
                let pair = (outer as usize, function as usize);
                let sum: &mut u64 = runs.entry(pair).or_insert(0);
                *sum = sum.saturating_add(node.runs());
            }
        }
        let around = runs.keys().map(|&(outer, inner)| (inner, outer)).collect();
        Self { runs, around }
    }

    /// Runs of `inner` nested in `outer`.
    pub(super) fn runs(&self, outer: usize, inner: usize) -> u64 {
        self.runs.get(&(outer, inner)).copied().unwrap_or(0)
    }

    /// The functions that ran nested in `outer`, ascending, with their runs there.
    pub(super) fn inside(&self, outer: usize) -> impl Iterator<Item = (usize, u64)> {
        let of_outer = self.runs.range((outer, 0)..=(outer, usize::MAX));
        of_outer.map(|(&(_, inner), &runs)| (inner, runs))
    }

    /// The functions that `inner` ran nested in, ascending.
    pub(super) fn around(&self, inner: usize) -> impl Iterator<Item = usize> {
        let of_inner = self.around.range((inner, 0)..=(inner, usize::MAX));
        of_inner.map(|&(_, outer)| outer)
    }
}
