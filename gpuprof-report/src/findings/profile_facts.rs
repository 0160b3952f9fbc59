//! What several rules need of a profile: sums, and which functions are nested in which.

use std::collections::{BTreeSet, HashMap};

use super::threshold::{Threshold, Unit};
use crate::profile::{CopyStats, Device, Finding, Function, KernelStats, Profile};
use crate::table;

/// If a rule applies to nested functions, the share from which the nested one is named.
pub(super) const NESTED_SHARE: Threshold = Threshold {
    what: "share of an enclosing function's weight from which the nested function is named instead",
    value: 0.7,
    unit: Unit::Share,
    why: "if nearly all of the weight comes from the nested function, that is the place to look; \
          otherwise several parts contribute, and the enclosing function is named",
};

/// A profile, and what is computed from it once.
pub(super) struct Facts<'a> {
    pub(super) profile: &'a Profile,
    /// GPU self time of all functions, ns: the 100 % of the table.
    pub(super) gpu_self_ns: u64,
    /// Time of all kernels, copies and memsets, ns.
    pub(super) activity_ns: u64,
    /// Runs of a function nested in another one, by (outer, inner) index in `functions`.
    nested_runs: HashMap<(usize, usize), u64>,
}

/// The finding of a rule for one function, before those of nested functions are merged.
pub(super) struct Candidate {
    pub(super) function: usize,
    pub(super) finding: Finding,
}

impl<'a> Facts<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let kernels = profile.kernels.iter().map(|kernel| kernel.times.total_ns);
        let copies = profile.copies.iter().map(|copies| copies.times.total_ns);
        Self {
            profile,
            gpu_self_ns: table::gpu_self_of_all(profile),
            activity_ns: kernels.chain(copies).fold(0, u64::saturating_add),
            nested_runs: nested_runs(profile),
        }
    }

    /// The functions with their indexes.
    pub(super) fn functions(&self) -> impl Iterator<Item = (usize, &'a Function)> {
        self.profile.functions.iter().enumerate()
    }

    /// Runs of `inner` nested in `outer`.
    pub(super) fn runs_inside(&self, outer: usize, inner: usize) -> u64 {
        self.nested_runs.get(&(outer, inner)).copied().unwrap_or(0)
    }

    /// The function at index `outer` and those nested in it, each with the share of its runs that
    /// were nested there.
    pub(super) fn parts(&self, outer: usize) -> Vec<(&'a Function, f64)> {
        let part = |(inner, function): (usize, &'a Function)| {
            let share = if inner == outer {
                1.0
            } else {
                let runs = function.calls.max(1);
                (self.runs_inside(outer, inner) as f64 / runs as f64).min(1.0)
            };
            (share > 0.0).then_some((function, share))
        };
        self.functions().filter_map(part).collect()
    }

    pub(super) fn device(&self, ordinal: u32) -> Option<&'a Device> {
        let mut devices = self.profile.devices.iter();
        devices.find(|device| device.ordinal == ordinal)
    }

    /// The function in which a kernel took the most time.
    pub(super) fn main_function(&self, kernel: &KernelStats) -> Option<&'a Function> {
        let time = |function: &Function| {
            let own = function.activity.kernels.iter();
            own.filter(|own| own.symbol == kernel.symbol && own.device == kernel.device)
                .fold(0_u64, |sum, own| sum.saturating_add(own.times.total_ns))
        };
        let timed = self
            .profile
            .functions
            .iter()
            .map(|function| (time(function), function));
        timed
            .filter(|(ns, _)| *ns > 0)
            .max_by_key(|(ns, _)| *ns)
            .map(|(_, function)| function)
    }

    /// One finding for each chain of nested candidates: the nested one if it has most of the
    /// weight, otherwise the outer one.
    pub(super) fn unnested(&self, mut candidates: Vec<Candidate>) -> Vec<Finding> {
        let covered = |outer: &Candidate, all: &[Candidate]| {
            all.iter().any(|inner| {
                self.is_inside(outer.function, inner.function)
                    && NESTED_SHARE.reached_by(inner.finding.gain_ns, outer.finding.gain_ns)
            })
        };
        let keep: Vec<bool> = candidates
            .iter()
            .map(|outer| !covered(outer, &candidates))
            .collect();
        let mut keep = keep.into_iter();
        candidates.retain(|_| keep.next().unwrap_or(true));
        let outermost = |inner: &Candidate| {
            !candidates
                .iter()
                .any(|outer| self.is_inside(outer.function, inner.function))
        };
        let kept = candidates.iter().filter(|candidate| outermost(candidate));
        kept.map(|candidate| candidate.finding.clone()).collect()
    }

    fn is_inside(&self, outer: usize, inner: usize) -> bool {
        // Two functions that call each other are nested in each other: both are named.
        outer != inner && self.runs_inside(outer, inner) > 0 && self.runs_inside(inner, outer) == 0
    }
}

/// Counts from the call tree how often each function ran nested in each other one.
fn nested_runs(profile: &Profile) -> HashMap<(usize, usize), u64> {
    let nodes: HashMap<u32, (Option<u32>, Option<u32>)> = profile
        .tree
        .iter()
        .map(|node| (node.id, (node.parent, node.function)))
        .collect();
    let mut inside = HashMap::new();
    for node in &profile.tree {
        let mut above = BTreeSet::new();
        let (mut next, mut steps) = (node.parent, 0);
        while let Some((parent, function)) = next.and_then(|id| nodes.get(&id)) {
            above.extend(*function);
            steps += 1;
            // A document that gpuprof did not write could contain a cycle.
            next = parent.filter(|_| steps <= nodes.len());
        }
        let Some(function) = node.function else {
            continue;
        };
        for outer in above {
            let pair = (outer as usize, function as usize);
            let runs = inside.entry(pair).or_insert(0);
            *runs += node.runs();
        }
    }
    inside
}

/// Total time of kernels, ns.
pub(super) fn kernel_ns(kernels: &[KernelStats]) -> u64 {
    let times = kernels.iter().map(|kernel| kernel.times.total_ns);
    times.fold(0, u64::saturating_add)
}

/// Total time of copies and memsets, ns.
pub(super) fn copy_ns<'c>(copies: impl IntoIterator<Item = &'c CopyStats>) -> u64 {
    let times = copies.into_iter().map(|copies| copies.times.total_ns);
    times.fold(0, u64::saturating_add)
}
