//! A rule over a profile.

use super::candidate::{About, FindingCandidate};
use super::host_time::HostTime;
use super::profile_facts::ProfileFacts;
use super::thresholds::KERNEL_SHARE;
use crate::profile::{Finding, FindingRule, Function, KernelStats};

/// A rule; docs/findings.md describes each.
pub(super) struct FindingCheck {
    /// Identifies the rule in [`Finding::rule`].
    pub(super) id: FindingRule,
    /// Returns a candidate for each part of the profile that meets the condition.
    pub(super) find: fn(&FindingCheck, &ProfileFacts<'_>) -> Vec<FindingCandidate>,
}

impl FindingCheck {
    /// A candidate for each kernel with a good part of the GPU time of which `find` says evidence,
    /// advice and gain, ns; its first argument is the kernel's index.
    pub(super) fn of_kernels<Advice: Into<String>>(
        &self,
        facts: &ProfileFacts<'_>,
        find: impl Fn(usize, &KernelStats) -> Option<(String, Advice, u64)>,
    ) -> Vec<FindingCandidate> {
        let kernels = facts.profile.kernels.iter().enumerate();
        let large = kernels.filter(|(_, kernel)| {
            KERNEL_SHARE.reached_by(kernel.times.total_ns, facts.activity_ns)
        });
        let found = large.filter_map(|(index, kernel)| {
            let (evidence, advice, gain_ns) = find(index, kernel)?;
            let (about, home) = (About::Kernels(vec![index]), facts.main_function(kernel));
            Some(self.candidate(facts, about, home, gain_ns, (evidence, advice)))
        });
        found.collect()
    }

    /// A candidate for each function of which `find` says what it is about, evidence, advice and
    /// gain, ns; its first argument is the function's index.
    pub(super) fn of_functions<Advice: Into<String>>(
        &self,
        facts: &ProfileFacts<'_>,
        find: impl Fn(usize, &Function) -> Option<(About, String, Advice, u64)>,
    ) -> Vec<FindingCandidate> {
        let found = facts.functions().filter_map(|(at, function)| {
            let (about, evidence, advice, gain_ns) = find(at, function)?;
            Some(self.candidate(facts, about, Some(at), gain_ns, (evidence, advice)))
        });
        found.collect()
    }

    /// A candidate about idle time for each function, and for the program, of whose time on the
    /// host `find` says evidence, advice and gain, ns.
    pub(super) fn of_host_times<Advice: Into<String>>(
        &self,
        facts: &ProfileFacts<'_>,
        find: impl Fn(&HostTime) -> Option<(String, Advice, u64)>,
    ) -> Vec<FindingCandidate> {
        let found = facts.host_times.iter().filter_map(|time| {
            let (evidence, advice, gain_ns) = find(time)?;
            let text = (evidence, advice);
            Some(self.candidate(facts, About::Idle, time.function, gain_ns, text))
        });
        found.collect()
    }

    /// A candidate of this rule for a function, or `None` for the whole program.
    pub(super) fn candidate<Advice: Into<String>>(
        &self,
        facts: &ProfileFacts<'_>,
        about: About,
        function: Option<usize>,
        gain_ns: u64,
        text: (String, Advice),
    ) -> FindingCandidate {
        let named = facts.function(function);
        let (evidence, advice) = text;
        FindingCandidate {
            about,
            function,
            finding: Finding {
                rule: self.id,
                function: named.map(|function| function.name.clone()),
                gain_ns: gain_ns.min(facts.profile.wall_ns),
                evidence,
                advice: advice.into(),
            },
        }
    }
}
