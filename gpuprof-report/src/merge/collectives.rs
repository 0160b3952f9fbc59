//! The collectives of NCCL over the merged processes: for which rank the others wait.

use std::collections::HashMap;

use super::spread::{ProcessSpread, process};
use super::totals::rounded_mean;
use crate::collectives::Collective;
use crate::figures::Sum;
use crate::profile::{CollectiveProcess, CollectiveRanks, KernelStats, Profile};

/// The kernels, copies and memsets of one process, or of one function of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CollectiveWork {
    /// Kernels of NCCL, of any kind.
    kernels: u64,
    /// Collectives that end when the last rank has come, and their time.
    calls: u64,
    collective_ns: u64,
    /// Time of NCCL's other kernels.
    one_sided_ns: u64,
    /// Time of everything else.
    other_ns: u64,
}

impl CollectiveWork {
    /// `None` if the program ran no collective.
    pub(super) fn of_program(profile: &Profile) -> Option<Self> {
        let mut work = Self::default();
        for kernel in &profile.kernels {
            let kind = Collective::of_kernel(&kernel.symbol);
            work.add_kernel(kind.as_ref(), kernel.times.calls, kernel.times.total_ns);
        }
        for copies in &profile.copies {
            work.other_ns.add(&copies.times.total_ns);
        }
        (work.kernels > 0).then_some(work)
    }

    /// The process with its work.
    pub(super) fn process(&self, profile: &Profile) -> CollectiveProcess {
        CollectiveProcess {
            process: process(profile),
            wall_ns: profile.wall_ns,
            collective_ns: self.collective_ns,
            other_ns: self.other_ns,
            window_ns: Vec::new(),
        }
    }

    /// Of each function whose calls, with their nested spans, ran a collective, by its index.
    pub(super) fn of_functions(profile: &Profile) -> HashMap<u32, Self> {
        let kinds: Vec<Option<Collective<'_>>> = profile
            .kernels
            .iter()
            .map(|kernel: &KernelStats| Collective::of_kernel(&kernel.symbol))
            .collect();
        if kinds.iter().all(Option::is_none) {
            return HashMap::new();
        }
        let tree = &profile.tree;
        let parents = profile.parents();
        let parent = |at: usize| *parents.get(at)?;
        let mut works: Vec<Self> = Vec::with_capacity(tree.len());
        for node in tree {
            let mut work = Self::default();
            for activity in &node.activities {
                match activity.kernel.map(|at| kinds.get(at as usize)) {
                    Some(kind) => work.add_kernel(
                        kind.and_then(Option::as_ref),
                        activity.calls,
                        activity.total_ns,
                    ),
                    None => work.other_ns.add(&activity.total_ns),
                }
            }
            works.push(work);
        }
        // Children before their parents.
        for at in (0..tree.len()).rev() {
            if let (Some(work), Some(parent)) = (works.get(at).copied(), parent(at))
                && let Some(parent) = works.get_mut(parent)
            {
                parent.add(&work);
            }
        }
        let mut functions: HashMap<u32, Self> = HashMap::new();
        for (at, (node, work)) in tree.iter().zip(&works).enumerate() {
            let Some(function) = node.function.filter(|_| work.kernels > 0) else {
                continue;
            };
            let mut ancestors = std::iter::successors(parent(at), |at| parent(*at))
                .filter_map(|at| tree.get(at)?.function);
            // The outermost call of a recursion has the work of the others.
            if !ancestors.any(|outer| outer == function) {
                functions.entry(function).or_default().add(work);
            }
        }
        functions
    }

    fn add_kernel(&mut self, kind: Option<&Collective<'_>>, calls: u64, ns: u64) {
        match kind {
            Some(kind) if kind.waits_for_all() => {
                self.kernels.add(&calls);
                self.calls.add(&calls);
                self.collective_ns.add(&ns);
            }
            Some(_) => {
                self.kernels.add(&calls);
                self.one_sided_ns.add(&ns);
            }
            None => self.other_ns.add(&ns),
        }
    }

    fn add(&mut self, other: &Self) {
        self.kernels.add(&other.kernels);
        self.calls.add(&other.calls);
        self.collective_ns.add(&other.collective_ns);
        self.one_sided_ns.add(&other.one_sided_ns);
        self.other_ns.add(&other.other_ns);
    }
}

/// The sums over processes.
#[derive(Clone, Debug, Default)]
pub(super) struct CollectiveTotals {
    sum_ns: u128,
    one_sided_ns: u128,
    other: ProcessSpread,
    /// Calls, and the processes with the least and the most time.
    sums: CollectiveRanks,
}

impl CollectiveTotals {
    /// Adds the work of one process.
    pub(super) fn add(&mut self, profile: &Profile, work: &CollectiveWork) {
        let process = process(profile);
        self.sum_ns += u128::from(work.collective_ns);
        self.one_sided_ns += u128::from(work.one_sided_ns);
        self.other.add(profile, work.other_ns);
        self.widen(&CollectiveRanks {
            profiles: 1,
            calls: Some(work.calls),
            min_ns: work.collective_ns,
            max_ns: work.collective_ns,
            least: process.clone(),
            least_other_ns: work.other_ns,
            most: process,
            ..CollectiveRanks::default()
        });
    }

    /// Adds those of a merged profile.
    pub(super) fn add_merged(&mut self, ranks: &CollectiveRanks) {
        let sum = |mean_ns| u128::from(ranks.profiles) * u128::from(mean_ns);
        self.sum_ns = self.sum_ns.saturating_add(sum(ranks.mean_ns));
        self.one_sided_ns = self
            .one_sided_ns
            .saturating_add(sum(ranks.one_sided_mean_ns));
        self.other.add_merged(ranks.profiles, &ranks.other);
        self.widen(ranks);
    }

    fn widen(&mut self, more: &CollectiveRanks) {
        let sums = &mut self.sums;
        if sums.profiles == 0 {
            *sums = more.clone();
            return;
        }
        sums.profiles = sums.profiles.saturating_add(more.profiles);
        sums.calls = sums.calls.filter(|_| sums.calls == more.calls);
        if more.min_ns < sums.min_ns {
            sums.min_ns = more.min_ns;
            sums.least.clone_from(&more.least);
            sums.least_other_ns = more.least_other_ns;
        }
        if more.max_ns > sums.max_ns {
            sums.max_ns = more.max_ns;
            sums.most.clone_from(&more.most);
        }
    }

    /// `None` if no process ran a collective.
    pub(super) fn finish(&self) -> Option<CollectiveRanks> {
        let profiles = self.sums.profiles;
        (profiles > 0).then(|| CollectiveRanks {
            mean_ns: rounded_mean(self.sum_ns, profiles.into()),
            one_sided_mean_ns: rounded_mean(self.one_sided_ns, profiles.into()),
            other: self.other.finish(profiles),
            ..self.sums.clone()
        })
    }
}
