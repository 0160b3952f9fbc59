//! The rule about communication that hides behind no computation.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::profile_index::sum;
use super::rule::FindingCheck;
use super::thresholds::EXPOSED_COLLECTIVES_SHARE;
use super::wording;
use crate::collectives::Collective;
use crate::profile::KernelStats;

pub(super) fn exposed_collectives(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
) -> Vec<FindingCandidate> {
    let kernels = facts.profile.kernels.iter().enumerate();
    let collectives: Vec<(usize, &KernelStats, &str)> = kernels
        .filter_map(|(index, kernel)| {
            let collective = Collective::of_kernel(&kernel.symbol)?;
            Some((index, kernel, collective.operation))
        })
        .collect();
    let alone = collectives
        .iter()
        .map(|(_, kernel, _)| facts.alone_ns(kernel))
        .try_fold(0_u64, |sum, ns| Some(sum.saturating_add(ns?)));
    let Some(alone_ns) = alone else {
        return Vec::new();
    };
    let is_exposed = EXPOSED_COLLECTIVES_SHARE.reached_by(alone_ns, facts.activity_ns);
    if collectives.is_empty() || !is_exposed {
        return Vec::new();
    }
    let all_ns = sum(collectives.iter(), |(_, kernel, _)| kernel.times.total_ns);
    let most = collectives
        .iter()
        .max_by_key(|(_, kernel, _)| facts.alone_ns(kernel));
    let evidence = format!(
        "NCCL {} of GPU time, {} of it beside no other kernel; most in {}",
        wording::percent(all_ns, facts.activity_ns),
        wording::percent(alone_ns, all_ns),
        most.map_or("", |(_, _, operation)| operation),
    );
    let advice =
        "launch them early on a stream of their own; gpuprof merge shows a rank that is late";
    let indices = collectives.iter().map(|(index, ..)| *index).collect();
    let home = most_exposed_collective(facts, alone_ns);
    let text = (evidence, advice);
    vec![rule.candidate(facts, About::Kernels(indices), home, alone_ns, text)]
}

/// Index of the function whose own collectives ran alone for the longest; `None` if those that were
/// launched outside of every function did. `alone_ns`: of all collectives.
fn most_exposed_collective(facts: &ProfileFacts<'_>, alone_ns: u64) -> Option<usize> {
    let alone: Vec<(usize, u64)> = facts
        .functions()
        .map(|(at, function)| {
            let kernels = function.activity.kernels.iter();
            let collectives =
                kernels.filter(|kernel| Collective::of_kernel(&kernel.symbol).is_some());
            (
                at,
                sum(collectives, |kernel| facts.alone_ns(kernel).unwrap_or(0)),
            )
        })
        .collect();
    let outside_ns = alone_ns.saturating_sub(sum(&alone, |(_, ns)| *ns));
    let (at, ns) = alone.into_iter().max_by_key(|(_, ns)| *ns)?;
    (ns > outside_ns).then_some(at)
}
