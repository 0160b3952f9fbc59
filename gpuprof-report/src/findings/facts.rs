//! What several rules ask of a profile: sums, who calls whom, and figures as words.
//!
//! Must not import a rule.

use std::collections::{BTreeSet, HashMap};

use super::rule::{Threshold, Unit};
use crate::profile::{CopyStats, Device, Finding, Function, KernelStats, Profile};
use crate::sanitize;
use crate::table;

/// Of functions inside each other that a rule would all name, the inner one stands for the outer one from this share on.
pub(super) const INNER: Threshold = Threshold {
    what: "share of an outer function's weight that an inner one has to stand for it",
    value: 0.7,
    unit: Unit::Share,
    why: "what nearly all of an outer function's time comes from is the place to look; below that its parts share the fault \
          and the outer one is named",
};

/// A profile and what is worked out of it once.
pub(super) struct Facts<'a> {
    pub(super) profile: &'a Profile,
    /// GPU self time of all functions: what the table's % is of.
    pub(super) gpu_self_ns: u64,
    /// Time of all kernels, copies and memsets.
    pub(super) activity_ns: u64,
    /// How often a function ran inside another one: (outer, inner), by their places in `functions`.
    inside: HashMap<(usize, usize), u64>,
}

/// What a rule holds against one function, before nested functions are sorted out.
pub(super) struct Candidate {
    pub(super) function: usize,
    pub(super) finding: Finding,
}

impl<'a> Facts<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let kernels = profile.kernels.iter().map(|kernel| kernel.times.total_ns);
        let copies = profile.copies.iter().map(|copies| copies.times.total_ns);
        Self {
            profile,
            gpu_self_ns: table::gpu_self_of_all(profile),
            activity_ns: kernels.chain(copies).fold(0, u64::saturating_add),
            inside: inside(profile),
        }
    }

    /// The functions with their places.
    pub(super) fn functions(&self) -> impl Iterator<Item = (usize, &'a Function)> {
        self.profile.functions.iter().enumerate()
    }

    /// How often `inner` ran inside `outer`.
    pub(super) fn runs_inside(&self, outer: usize, inner: usize) -> u64 {
        self.inside.get(&(outer, inner)).copied().unwrap_or(0)
    }

    /// The function at `at` and those inside, each with the share of its runs that were in there.
    pub(super) fn parts(&self, at: usize) -> Vec<(&'a Function, f64)> {
        let part = |(inner, function): (usize, &'a Function)| {
            let share = if inner == at {
                1.0
            } else {
                let runs = function.runs().max(1);
                (self.runs_inside(at, inner) as f64 / runs as f64).min(1.0)
            };
            (share > 0.0).then_some((function, share))
        };
        self.functions().filter_map(part).collect()
    }

    /// The device of an ordinal.
    pub(super) fn device(&self, ordinal: u32) -> Option<&'a Device> {
        let mut devices = self.profile.devices.iter();
        devices.find(|device| device.ordinal == ordinal)
    }

    /// The function that a kernel took most time in.
    pub(super) fn home(&self, kernel: &KernelStats) -> Option<&'a Function> {
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

    /// Of candidates that are inside each other one: the inner one where it has most of the weight, else the outer one.
    pub(super) fn unnested(&self, mut candidates: Vec<Candidate>) -> Vec<Finding> {
        let covered = |outer: &Candidate, all: &[Candidate]| {
            all.iter().any(|inner| {
                self.is_inside(outer.function, inner.function)
                    && INNER.reached_by(inner.finding.weight_ns, outer.finding.weight_ns)
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
        // Two that call each other are inside each other: neither stands for the other.
        outer != inner && self.runs_inside(outer, inner) > 0 && self.runs_inside(inner, outer) == 0
    }
}

/// How often each function ran inside each other one, from the call tree.
fn inside(profile: &Profile) -> HashMap<(usize, usize), u64> {
    let nodes: HashMap<u32, (Option<u32>, usize)> = profile
        .tree
        .iter()
        .map(|node| (node.id, (node.parent, node.function as usize)))
        .collect();
    let mut inside = HashMap::new();
    for node in &profile.tree {
        let mut above = BTreeSet::new();
        let (mut next, mut steps) = (node.parent, 0);
        while let Some((parent, function)) = next.and_then(|id| nodes.get(&id)) {
            above.insert(*function);
            steps += 1;
            // A document from elsewhere could name a node as its own ancestor.
            next = parent.filter(|_| steps <= nodes.len());
        }
        for outer in above {
            let runs = inside.entry((outer, node.function as usize)).or_insert(0);
            *runs += node.runs();
        }
    }
    inside
}

/// The kernels' time of a list.
pub(super) fn kernel_ns(kernels: &[KernelStats]) -> u64 {
    let times = kernels.iter().map(|kernel| kernel.times.total_ns);
    times.fold(0, u64::saturating_add)
}

/// The copies' and memsets' time of a list.
pub(super) fn copy_ns<'c>(copies: impl IntoIterator<Item = &'c CopyStats>) -> u64 {
    let times = copies.into_iter().map(|copies| copies.times.total_ns);
    times.fold(0, u64::saturating_add)
}

/// Whether they go between host and device.
pub(super) fn to_or_from_host(copies: &CopyStats) -> bool {
    copies.kind.is_between_host_and_device()
}

/// `part` of `whole` in percent, in words.
pub(super) fn percent(part: u64, whole: u64) -> String {
    share(part as f64 / whole.max(1) as f64)
}

/// A share in percent, in words.
pub(super) fn share(share: f64) -> String {
    table::percent(share).map_or_else(String::new, |number| format!("{} %", number.text()))
}

/// A duration in words.
pub(super) fn ns(ns: u64) -> String {
    table::duration(ns).text()
}

/// A count with its noun: `one` of them, or many.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        table::count(n).text(),
        if n == 1 { one } else { many }
    )
}

/// A mean of counts in words: whole where it is, else with one decimal.
pub(super) fn mean(sum: u64, of: u64) -> String {
    let mean = sum as f64 / of.max(1) as f64;
    if mean.fract() < 0.05 || mean >= 100.0 {
        table::count(mean.round() as u64).text()
    } else {
        format!("{mean:.1}")
    }
}

/// A kernel's shown name, fit for a sentence.
pub(super) fn kernel_name(kernel: &KernelStats) -> String {
    sanitize::name(&kernel.name).into_owned()
}

/// Work per second in words, for example `3.91 TFLOP/s`.
pub(super) fn rate(per_s: f64, unit: &str) -> String {
    table::prefixed_rate(per_s).map_or_else(String::new, |number| {
        let separator = if number.text().contains(' ') { "" } else { " " };
        format!("{}{separator}{unit}", number.text())
    })
}
