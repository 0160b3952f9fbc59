//! What to improve: rules over a [`Profile`], each with its thresholds as data.
//!
//! A finding states what the profile shows; if the profile only suggests something, the finding
//! says so. [`Rule`] is what a rule consists of and [`RULES`] lists them. Numbers are formatted as
//! in the table. [`commands()`] makes command lines of other tools, and [`page()`] makes
//! docs/findings.md.

mod below_roofline;
mod copies;
mod documentation_page;
mod double_precision;
mod enough_kernel_time;
mod host_time;
mod kernels;
mod nsight_commands;
mod profile_facts;
mod rule;
mod rule_list;
#[cfg(test)]
mod tests;
mod threshold;
mod whole_run;
mod wording;

pub use documentation_page::page;
pub use nsight_commands::commands;
pub use rule::Rule;
pub use rule_list::RULES;
pub use threshold::{Threshold, Unit};

use crate::profile::{Finding, Profile};
use profile_facts::Facts;

/// All findings, largest weight first. Empty without CUPTI: `profile.cupti` is `None`.
#[must_use]
pub fn findings(profile: &Profile) -> Vec<Finding> {
    if profile.cupti.is_none() {
        return Vec::new();
    }
    let facts = Facts::new(profile);
    let mut found: Vec<Finding> = RULES
        .iter()
        .flat_map(|rule| (rule.find)(rule, &facts))
        .collect();
    // A stable sort: equal weights keep the order of the rules.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.gain_ns));
    found
}
