//! The rule about a rank for which the others wait. It looks at merged profiles, and no other rule
//! does.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::rule::FindingCheck;
use super::thresholds::{LATE_CALLS, LATE_SHARE, LATE_WORK_SHARE};
use super::wording;
use crate::collectives::Collective;
use crate::profile::{CollectiveRanks, FindingRule, Profile};

pub(super) static LATE_RANK: FindingCheck = FindingCheck {
    id: FindingRule::LateRank,
    find: late_rank,
};

fn late_rank(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let ranks = facts.profile.ranks.as_ref();
    let collectives = ranks.and_then(|ranks| ranks.collectives.as_ref());
    let found = collectives.and_then(|collectives| late(rule, facts, collectives));
    found.into_iter().collect()
}

fn late(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
    ranks: &CollectiveRanks,
) -> Option<FindingCandidate> {
    let late = ranks.late()?;
    let gain_ns = mean_of_others(ranks, ranks.mean_ns, ranks.min_ns).checked_sub(ranks.min_ns)?;
    let calls = ranks.calls.unwrap_or(0);
    let applies =
        LATE_SHARE.reached_by(gain_ns, facts.profile.wall_ns) && LATE_CALLS.reached(calls as f64);
    applies.then(|| {
        let own_ns = ranks.least_other_ns;
        let others_ns = mean_of_others(ranks, ranks.other.mean_ns, own_ns);
        let has_more = LATE_WORK_SHARE.reached_by(own_ns.saturating_sub(others_ns), gain_ns);
        let (own, others) = (wording::ns(own_ns), wording::ns(others_ns));
        let (work, advice) = if has_more {
            (
                format!(": {own} of GPU work, others {others}"),
                "give it less work, or see why it takes longer: gpuprof diff with the profile of \
             another",
            )
        } else {
            (
                format!(" without more GPU work ({own}, others {others})"),
                "see what its host does between the collectives: input, logging, checkpoints",
            )
        };
        let evidence = format!(
            "{late} is late{work}; {} waits {} in {}",
            ranks.most,
            wording::ns(ranks.max_ns - ranks.min_ns),
            operation(facts.profile),
        );
        rule.candidate(facts, About::Separate, None, gain_ns, (evidence, advice))
    })
}

/// The mean over all ranks but the late one, whose time is `late_ns`.
fn mean_of_others(ranks: &CollectiveRanks, mean_ns: u64, late_ns: u64) -> u64 {
    let (all, others) = (
        u128::from(ranks.profiles),
        u128::from(ranks.profiles.max(2) - 1),
    );
    let sum = (u128::from(mean_ns) * all).saturating_sub(u128::from(late_ns));
    u64::try_from(sum / others).unwrap_or(u64::MAX)
}

/// The collective that waits for all ranks with the most time.
fn operation(profile: &Profile) -> &str {
    let kernels = profile.kernels.iter();
    let collectives = kernels.filter_map(|kernel| {
        let kind = Collective::of_kernel(&kernel.symbol)?;
        kind.waits_for_all()
            .then_some((kind.operation, kernel.times.total_ns))
    });
    let most = collectives.max_by_key(|(_, ns)| *ns);
    most.map_or("collectives", |(operation, _)| operation)
}
