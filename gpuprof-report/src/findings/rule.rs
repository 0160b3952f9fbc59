//! A rule over a profile, as data.

use super::profile_facts::Facts;
use super::threshold::Threshold;
use crate::profile::{Finding, FindingRule};

/// A rule: what it looks for, its thresholds, and its advice.
#[derive(Debug)]
pub struct Rule {
    /// Identifies the rule in [`Finding::rule`].
    pub id: FindingRule,
    /// What it looks for, in a few words.
    pub title: &'static str,
    /// The condition for a finding, and what its weight is.
    pub when: &'static str,
    /// What to try.
    pub advice: &'static str,
    /// The limits of the condition.
    pub thresholds: &'static [&'static Threshold],
    /// Returns a finding for each part of the profile that meets the condition.
    pub(super) find: fn(&Rule, &Facts<'_>) -> Vec<Finding>,
}

impl Rule {
    /// A finding of this rule, with the advice of the rule.
    pub(super) fn finding(
        &self,
        function: Option<&str>,
        gain_ns: u64,
        evidence: String,
    ) -> Finding {
        Finding {
            rule: self.id,
            function: function.map(str::to_owned),
            gain_ns,
            evidence,
            advice: self.advice.to_owned(),
        }
    }
}
