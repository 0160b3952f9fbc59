//! What a rule is made of. Must not import a rule.

use super::facts::Facts;
use crate::profile::{Finding, FindingRule};

/// A rule: what it looks for, from which figures on it speaks, and what it advises.
#[derive(Debug)]
pub struct Rule {
    /// Stands in [`Finding::rule`], and never changes.
    pub id: FindingRule,
    /// What it looks for, in a few words.
    pub title: &'static str,
    /// When it speaks, and what its weight is.
    pub when: &'static str,
    /// What to try.
    pub advice: &'static str,
    /// From where on it speaks.
    pub thresholds: &'static [&'static Threshold],
    /// The rule itself.
    pub(super) find: fn(&Rule, &Facts<'_>) -> Vec<Finding>,
}

/// A figure from which on, or up to which, a rule speaks.
#[derive(Debug)]
pub struct Threshold {
    /// What is compared.
    pub what: &'static str,
    /// With what.
    pub value: f64,
    /// Of the value.
    pub unit: Unit,
    /// Why this much.
    pub why: &'static str,
}

/// What a threshold's value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share, 1 being the whole.
    Share,
    /// A number.
    Count,
    /// How many times as much.
    Times,
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
}

impl Threshold {
    /// Whether `n` is at least this.
    pub(super) fn reached(&self, n: impl Into<f64>) -> bool {
        n.into() >= self.value
    }

    /// Whether `part` is at least this share of `whole`; never of nothing.
    pub(super) fn reached_by(&self, part: u64, whole: u64) -> bool {
        whole > 0 && part as f64 >= self.value * whole as f64
    }
}

impl Rule {
    /// A finding of this rule with the rule's own advice.
    pub(super) fn finding(
        &self,
        function: Option<&str>,
        weight_ns: u64,
        evidence: String,
    ) -> Finding {
        Finding {
            rule: self.id,
            function: function.map(str::to_owned),
            weight_ns,
            evidence,
            advice: self.advice.to_owned(),
        }
    }
}
