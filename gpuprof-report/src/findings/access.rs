//! The rules about how the threads of a warp work together: one for each fault of a kernel.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::wording;

pub(super) fn faults(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let kernels = facts.profile.kernels.iter().zip(&facts.kernel_faults);
    let found = kernels.enumerate().filter_map(|(index, (kernel, fault))| {
        let fault = fault.as_ref().filter(|fault| fault.rule == rule.id)?;
        let evidence = format!(
            "{} of GPU time: {} {}",
            wording::percent(kernel.times.total_ns, facts.activity_ns),
            wording::kernel_name(kernel),
            fault.evidence,
        );
        let gain = scaled(facts.device_ns(kernel), fault.lost.clamp(0.0, 1.0));
        let text = (evidence, fault.advice);
        let home = facts.main_function(kernel);
        Some(rule.candidate(facts, About::Kernels(vec![index]), home, gain, text))
    });
    found.collect()
}
