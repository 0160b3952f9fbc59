//! The rules about how the threads of a warp work together: one for each fault of a kernel.

use super::candidate::FindingCandidate;
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::wording;

pub(super) fn faults(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |index, kernel| {
        let fault = facts.fault(index).filter(|fault| fault.rule == rule.id)?;
        let evidence = format!(
            "{} of GPU time: {} {}",
            wording::percent(kernel.times.total_ns, facts.activity_ns),
            wording::kernel_name(kernel),
            fault.evidence,
        );
        let gain = scaled(facts.device_ns(kernel), fault.lost.clamp(0.0, 1.0));
        Some((evidence, fault.advice, gain))
    })
}
