//! Which candidates become findings: of those about the same time, one.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::profile_index::sum;
use super::thresholds::{MIN_GAIN, NEAR_SHARE, NESTED_SHARE, UNCOVERED_IDLE};
use super::waits::is_about_waits;
use crate::profile::{Finding, FindingRule};
use crate::sorting::sort_by_key;

/// The findings, largest gain first. These rules decide between candidates about the same time:
///
/// - Of the causes of a function's idle time, the one with the largest gain. If several are near
///   it, the first of them in the list of rules: it is easier to remove a wait than to speed up the
///   host.
/// - Of nested functions, the inner one if it has most of the gain, otherwise the outer one. But a
///   function that is launch-bound comes before short kernels inside it, as a graph of all its
///   launches saves more.
/// - Idle time of the whole run counts as far as no function's finding covers it.
/// - Copies that are slow by themselves come before copies that could overlap, and those before
///   other copies.
/// - Of the causes of a kernel's time, the one with the largest gain; but small kernels that run
///   one after another are reported as such, and not that each leaves the device underused. What a
///   kernel waits for, and that a function's kernels are below the roofline, is only reported if no
///   such cause explains at least half of it.
pub(super) fn choose(facts: &ProfileFacts<'_>, candidates: Vec<FindingCandidate>) -> Vec<Finding> {
    let wall_ns = facts.profile.wall_ns;
    let (idle, others) = split(candidates, |about| *about == About::Idle);
    let (whole, others) = split(others, |about| *about == About::WholeIdle);
    let (first_calls, others) = split(others, |about| *about == About::FirstCall);
    let (slow_calls, others) = split(others, |about| *about == About::SlowCalls);
    let (copies, others) = split(others, |about| {
        matches!(
            about,
            About::SlowCopies | About::Copies | About::NestedCopies
        )
    });
    let (separate, kernels) = split(others, |about| *about == About::Separate);

    let mut chosen = unnested(facts, main_causes(idle));
    chosen.extend(unnested(facts, first_calls));
    chosen.extend(uncovered(facts, whole, &chosen));
    chosen.extend(unnested(facts, slow_calls));
    chosen.extend(keep_one_per_copy(facts, copies));
    chosen.extend(separate);
    chosen.extend(keep_one_per_kernel(kernels));
    // A gain of 0 is advice about measuring: what it shows is not known yet.
    let is_worth = |gain_ns| gain_ns == 0 || MIN_GAIN.reached_by(gain_ns, wall_ns);
    chosen.retain(|candidate| is_worth(candidate.finding.gain_ns));
    let mut findings: Vec<Finding> = chosen.into_iter().map(|chosen| chosen.finding).collect();
    // A stable sort: equal gains keep the order above.
    sort_by_key(&mut findings, |finding| std::cmp::Reverse(finding.gain_ns));
    findings
}

fn split(
    candidates: Vec<FindingCandidate>,
    belongs: impl Fn(&About) -> bool,
) -> (Vec<FindingCandidate>, Vec<FindingCandidate>) {
    candidates
        .into_iter()
        .partition(|candidate| belongs(&candidate.about))
}

/// Of each function the first candidate, by the order of the rules, with nearly the largest gain.
fn main_causes(candidates: Vec<FindingCandidate>) -> Vec<FindingCandidate> {
    let mut largest: HashMap<Option<usize>, u64> = HashMap::new();
    for candidate in &candidates {
        let gain = largest.entry(candidate.function).or_default();
        *gain = candidate.finding.gain_ns.max(*gain);
    }
    let mut named = HashSet::new();
    let candidates = candidates.into_iter().filter(|candidate| {
        let largest = largest.get(&candidate.function).copied().unwrap_or(0);
        NEAR_SHARE.reached_by(candidate.finding.gain_ns, largest)
            && named.insert(candidate.function)
    });
    candidates.collect()
}

/// One candidate for each chain of nested ones.
fn unnested(
    facts: &ProfileFacts<'_>,
    mut candidates: Vec<FindingCandidate>,
) -> Vec<FindingCandidate> {
    let is_inside =
        |outer: &FindingCandidate, inner: &FindingCandidate| match (outer.function, inner.function)
        {
            (Some(outer), Some(inner)) => facts.is_inside(outer, inner),
            _ => false,
        };
    let replaces = |inner: &FindingCandidate, outer: &FindingCandidate| {
        let (inner_rule, outer_rule) = (inner.finding.rule, outer.finding.rule);
        is_inside(outer, inner)
            && NESTED_SHARE.reached_by(inner.finding.gain_ns, outer.finding.gain_ns)
            && (inner_rule, outer_rule) != (FindingRule::ShortKernels, FindingRule::LaunchBound)
    };
    let keep: Vec<bool> = candidates
        .iter()
        .map(|outer| !candidates.iter().any(|inner| replaces(inner, outer)))
        .collect();
    let mut keep = keep.into_iter();
    candidates.retain(|_| keep.next().unwrap_or(true));
    let is_outermost =
        |inner: &&FindingCandidate| !candidates.iter().any(|outer| is_inside(outer, inner));
    candidates.iter().filter(is_outermost).cloned().collect()
}

/// The whole run's idle time, less what the chosen candidates explain.
fn uncovered(
    facts: &ProfileFacts<'_>,
    whole: Vec<FindingCandidate>,
    chosen: &[FindingCandidate],
) -> Option<FindingCandidate> {
    let mut whole = whole.into_iter().next()?;
    let covered = sum(chosen, |other| other.finding.gain_ns);
    let gain = &mut whole.finding.gain_ns;
    *gain = gain.saturating_sub(covered);
    UNCOVERED_IDLE
        .reached_by(*gain, facts.profile.wall_ns)
        .then_some(whole)
}

fn keep_one_per_copy(
    facts: &ProfileFacts<'_>,
    candidates: Vec<FindingCandidate>,
) -> Vec<FindingCandidate> {
    let (slow, others) = split(candidates, |about| *about == About::SlowCopies);
    let (overlap, others) = split(others, |about| *about == About::NestedCopies);
    let covers = |outer: &FindingCandidate, inner: &FindingCandidate| {
        outer.function == inner.function
            || matches!((outer.function, inner.function),
                (Some(outer), Some(inner)) if facts.is_inside(outer, inner))
    };
    let mut chosen = slow;
    let mut overlap = unnested(facts, overlap);
    overlap.retain(|overlap| !chosen.iter().any(|slow| covers(overlap, slow)));
    chosen.extend(overlap);
    let others: Vec<FindingCandidate> = others
        .into_iter()
        .filter(|other| !chosen.iter().any(|chosen| covers(chosen, other)))
        .collect();
    chosen.extend(others);
    chosen
}

/// Of the causes of each kernel's time the one with the largest gain.
fn keep_one_per_kernel(candidates: Vec<FindingCandidate>) -> Vec<FindingCandidate> {
    let (below, mut causes) = split(candidates, |about| *about == About::KernelsOfFunction);
    let serial: Vec<About> = causes
        .iter()
        .filter(|cause| cause.finding.rule == FindingRule::SerialKernels)
        .map(|cause| cause.about.clone())
        .collect();
    let is_serial = |about: &About| serial.iter().any(|serial| serial.has_kernels_of(about));
    causes.retain(|cause| {
        cause.finding.rule != FindingRule::UnderusedGpu || !is_serial(&cause.about)
    });
    let (waits, mut causes): (Vec<_>, Vec<_>) = causes
        .into_iter()
        .partition(|cause| is_about_waits(cause.finding.rule));
    let is_explained = |wait: &FindingCandidate| {
        let of_kernel = |cause: &&FindingCandidate| cause.about.has_kernels_of(&wait.about);
        let mut explaining = causes.iter().filter(of_kernel);
        explaining.any(|cause| cause.finding.gain_ns >= wait.finding.gain_ns / 2)
    };
    let unexplained: Vec<_> = waits
        .into_iter()
        .filter(|wait| !is_explained(wait))
        .collect();
    causes.extend(unexplained);
    sort_by_key(&mut causes, |cause| {
        std::cmp::Reverse(cause.finding.gain_ns)
    });
    let mut explained = BTreeSet::new();
    causes.retain(|cause| {
        let About::Kernels(kernels) = &cause.about else {
            return true;
        };
        let is_new = kernels.iter().all(|kernel| !explained.contains(kernel));
        if is_new {
            explained.extend(kernels.iter().copied());
        }
        is_new
    });
    let below: Vec<FindingCandidate> = below
        .into_iter()
        .filter(|below| {
            let inside = causes
                .iter()
                .filter(|cause| cause.function == below.function);
            let explained = sum(inside, |cause| cause.finding.gain_ns);
            explained < below.finding.gain_ns / 2
        })
        .collect();
    causes.extend(below);
    causes
}
