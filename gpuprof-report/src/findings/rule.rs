//! A rule over a profile, as data.

use super::candidate::{About, Candidate};
use super::profile_facts::ProfileFacts;
#[cfg(test)]
use super::threshold::Threshold;
use crate::profile::{Finding, FindingRule};

/// A rule: what it looks for, and its text on the page of findings.
#[derive(Debug)]
pub struct Rule {
    /// Identifies the rule in [`Finding::rule`].
    pub id: FindingRule,
    /// Returns a candidate for each part of the profile that meets the condition.
    pub(super) find: fn(&Rule, &ProfileFacts<'_>) -> Vec<Candidate>,
    /// What the page of findings says about it.
    #[cfg(test)]
    pub page: RulePage,
}

/// What the page of findings says about a rule.
#[cfg(test)]
#[derive(Debug)]
pub struct RulePage {
    /// What it looks for, in a few words.
    pub title: &'static str,
    /// The condition for a finding.
    pub when: &'static str,
    /// The model of [`Finding::gain_ns`].
    pub gain: &'static str,
    /// What to try, in more words than the report has room for.
    pub advice: &'static str,
    /// The limits of the condition.
    pub thresholds: &'static [&'static Threshold],
}

impl Rule {
    /// A candidate of this rule for a function, or `None` for the whole program.
    pub(super) fn candidate<Advice: Into<String>>(
        &self,
        facts: &ProfileFacts<'_>,
        about: About,
        function: Option<usize>,
        gain_ns: u64,
        text: (String, Advice),
    ) -> Candidate {
        let named = facts.function(function);
        let (evidence, advice) = text;
        Candidate {
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
