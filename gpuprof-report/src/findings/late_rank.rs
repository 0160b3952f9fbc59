//! The rule about ranks for which the others wait. It looks at merged profiles, and no other rule
//! does.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::rule::FindingCheck;
use super::thresholds::{LATE_CALLS, LATE_IN_STEPS, LATE_SHARE, LATE_WORK_SHARE};
use super::wording;
use crate::collectives::Collective;
use crate::profile::{CollectiveProcess, CollectiveRanks, LateSteps, Profile, Ranks};

/// Late processes that a finding names at most.
const MAX_NAMED: usize = 5;

pub(super) fn late_rank(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let ranks = facts.profile.ranks.as_ref();
    let collectives = ranks.and_then(|ranks| Some((ranks, ranks.collectives.as_ref()?)));
    let Some((ranks, all)) = collectives else {
        return Vec::new();
    };
    let found = [
        late(rule, facts, ranks, all),
        late_in_steps(rule, facts, &ranks.late_steps),
    ];
    found.into_iter().flatten().collect()
}

/// What is late in a part of the run.
fn late_in_steps(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
    late: &[LateSteps],
) -> Option<FindingCandidate> {
    let first = late.first()?;
    let per_step = |part: &LateSteps| wording::ns(part.ns_per_step());
    let part = |part: &LateSteps| {
        let (process, first, last) = (&part.process, part.first_step, part.last_step());
        format!("{process} in {first} to {last} by {}", per_step(part))
    };
    let evidence = match late {
        [_] => format!(
            "{} was late in steps {} to {}: the others waited {} a step for it in {}",
            first.process,
            first.first_step,
            first.last_step(),
            per_step(first),
            operation(facts.profile),
        ),
        _ => {
            let parts: Vec<String> = late.iter().take(MAX_NAMED).map(part).collect();
            let more = match late.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(", {more} more"),
            };
            format!(
                "ranks were late in some steps, a step: {}{more}",
                parts.join(", ")
            )
        }
    };
    let advice =
        "see what its GPU and its host did then: clocks, input, checkpoints, other programs";
    let text = (evidence, advice);
    Some(rule.candidate(facts, About::Separate, None, waited_ns(late.iter()), text))
}

/// The time of those parts that do not overlap a costlier one.
fn waited_ns<'a>(late: impl Iterator<Item = &'a LateSteps>) -> u64 {
    let mut counted: Vec<&LateSteps> = Vec::new();
    for part in late {
        let overlaps = |other: &&LateSteps| {
            other.first_step <= part.last_step() && part.first_step <= other.last_step()
        };
        if !counted.iter().any(overlaps) {
            counted.push(part);
        }
    }
    let times = counted.iter().map(|part| part.late_ns);
    times.fold(0, u64::saturating_add)
}

fn late(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
    ranks: &Ranks,
    all: &CollectiveRanks,
) -> Option<FindingCandidate> {
    let late = ranks.late_processes(LATE_SHARE.0);
    let collective_ns = means(ranks, &late, |of| of.collective_ns);
    let gain_ns = collective_ns.others.checked_sub(all.min_ns)?;
    let calls = all.calls.unwrap_or(0);
    let applies = !late.is_empty()
        && !is_told(&late, &ranks.late_steps, gain_ns)
        && LATE_SHARE.reached_by(gain_ns, facts.profile.wall_ns)
        && LATE_CALLS.reached(calls as f64);
    applies.then(|| {
        let work_ns = means(ranks, &late, |of| of.other_ns);
        let more_ns = work_ns.late.saturating_sub(work_ns.others);
        let has_more = LATE_WORK_SHARE.reached_by(more_ns, gain_ns);
        let (own, others) = (wording::ns(work_ns.late), wording::ns(work_ns.others));
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
            "{}{work}; {} waits {} in {}",
            named(&late),
            all.most,
            wording::ns(all.max_ns - all.min_ns),
            operation(facts.profile),
        );
        rule.candidate(facts, About::Separate, None, gain_ns, (evidence, advice))
    })
}

/// Whether the finding about some steps names these ranks, with most of what they cost.
fn is_told(late: &[(&CollectiveProcess, u64)], parts: &[LateSteps], gain_ns: u64) -> bool {
    let has_part = |of: &CollectiveProcess| parts.iter().any(|part| part.process == of.process);
    let is_theirs = |part: &&LateSteps| late.iter().any(|(of, _)| of.process == part.process);
    let in_steps_ns = waited_ns(parts.iter().filter(is_theirs));
    late.iter().all(|(of, _)| has_part(of)) && LATE_IN_STEPS.reached_by(in_steps_ns, gain_ns)
}

/// `rank 3 is late`, or how many are and by how much the latest ones.
fn named(late: &[(&CollectiveProcess, u64)]) -> String {
    if let [(only, _)] = late {
        return format!("{} is late", only.process);
    }
    let shown = late.iter().take(MAX_NAMED);
    let shown = shown.map(|(of, late_ns)| format!("{} by {}", of.process, wording::ns(*late_ns)));
    let shown: Vec<String> = shown.collect();
    let more = match late.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    format!("{} ranks are late ({}{more})", late.len(), shown.join(", "))
}

/// The means of a time over the late processes and over the others, ns.
struct Means {
    late: u64,
    others: u64,
}

fn means(
    ranks: &Ranks,
    late: &[(&CollectiveProcess, u64)],
    time: impl Fn(&CollectiveProcess) -> u64,
) -> Means {
    let all = &ranks.collective_processes;
    let sum_of_all: u128 = all.iter().map(|of| u128::from(time(of))).sum();
    let sum_of_late: u128 = late.iter().map(|(of, _)| u128::from(time(of))).sum();
    let mean = |sum: u128, of: usize| u64::try_from(sum / of.max(1) as u128).unwrap_or(u64::MAX);
    Means {
        late: mean(sum_of_late, late.len()),
        others: mean(sum_of_all - sum_of_late, all.len() - late.len()),
    }
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
