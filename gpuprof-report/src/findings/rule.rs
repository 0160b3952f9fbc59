//! A rule over a profile.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use crate::profile::{Finding, FindingRule};

/// A rule; docs/findings.md describes each.
pub(super) struct FindingCheck {
    /// Identifies the rule in [`Finding::rule`].
    pub(super) id: FindingRule,
    /// Returns a candidate for each part of the profile that meets the condition.
    pub(super) find: fn(&FindingCheck, &ProfileFacts<'_>) -> Vec<FindingCandidate>,
}

impl FindingCheck {
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
