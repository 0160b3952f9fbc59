//! What is worth doing: rules over a [`Profile`], each with its thresholds as data.
//!
//! The room: `rule` is what a rule is made of, `facts` what several of them ask, `kernels`, `rates`, `copies`, `host` and
//! `program` are the rules, `commands` the command lines that look further, and `page` makes docs/findings.md.
//!
//! A finding says what the profile shows, and calls a suspicion a suspicion. Must import only `profile`, `sanitize`, and from
//! `report` the figures and digits that the tables have, so that both say the same.

mod commands;
mod copies;
mod facts;
mod host;
mod kernels;
mod page;
mod program;
mod roofline;
mod rule;
#[cfg(test)]
mod tests;

pub use commands::commands;
pub use page::page;
pub use rule::{Rule, Threshold, Unit};

use crate::profile::{Finding, Profile};
use facts::Facts;

/// Findings shown at most.
pub const MOST: usize = 8;

/// Every rule. Where two findings weigh the same, the rule that stands first here goes first.
pub const RULES: [&Rule; 12] = [
    &roofline::DOUBLE,
    &kernels::LAUNCH_BOUND,
    &copies::HOST_COPIES,
    &copies::ONE_STREAM,
    &host::SYNCHRONIZATION,
    &kernels::UNDERUSED,
    &roofline::ROOFLINE,
    &kernels::ONE_KERNEL,
    &host::FIRST_CALL,
    &program::SPREAD,
    &program::OUTSIDE,
    &program::THROTTLED,
];

/// What is worth doing, at most [`MOST`] of it, what costs most first.
///
/// Nothing where CUPTI did not run: `profile.cupti` is `None`.
#[must_use]
pub fn findings(profile: &Profile) -> Vec<Finding> {
    if profile.cupti.is_none() {
        return Vec::new();
    }
    let facts = Facts::of(profile);
    let mut found: Vec<Finding> = RULES
        .iter()
        .flat_map(|rule| (rule.find)(rule, &facts))
        .collect();
    // Stable, so that equal weights keep the order of the rules.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight_ns));
    found.truncate(MOST);
    found
}
