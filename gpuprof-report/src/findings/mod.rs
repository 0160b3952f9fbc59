//! What to improve: rules over a [`Profile`].
//!
//! A finding states what the profile shows, what to change, and how much wall time that can save at
//! most. A rule that needs data that the profile lacks finds nothing; docs/findings.md describes
//! each. [`commands()`] makes command lines of other tools.

mod access;
mod any_program;
mod below_roofline;
mod cache_bound;
mod candidate;
mod collectives;
mod copies;
mod double_precision;
mod enough_kernel_time;
mod gpu_idle;
mod host;
mod host_time;
mod kernel_faults;
mod late_rank;
#[cfg_attr(
    not(feature = "analysis"),
    expect(dead_code, reason = "of merging alone")
)]
mod late_steps;
mod launches;
mod loading;
mod measured;
mod measured_bytes;
mod memory;
mod nesting;
mod nsight_commands;
mod overlap;
mod precedence;
mod profile_facts;
mod profile_index;
mod rule;
mod rule_limit;
mod rule_list;
mod run_idle;
mod shapes;
mod tensor_cores;
#[cfg(test)]
mod tests;
mod thresholds;
mod thresholds_of_kernels;
mod waits;
mod whole_run;
mod wording;

#[cfg(feature = "analysis")]
pub(crate) use late_steps::late_steps;
pub use nsight_commands::commands;
pub use wording::names_kernel;

use crate::profile::{Finding, FindingRule, Profile};
use profile_facts::ProfileFacts;
use rule::FindingCheck;
use rule_list::RULES;

/// All findings, largest gain first. Empty without CUPTI: `profile.cupti` is `None`. In a merged
/// profile only what its ranks show: all other rules are about one process.
#[must_use]
pub fn findings(profile: &Profile) -> Vec<Finding> {
    if profile.cupti.is_none() {
        return Vec::new();
    }
    let facts = ProfileFacts::new(profile);
    let is_of_ranks = |rule: &FindingCheck| rule.id == FindingRule::LateRank;
    let rules = RULES
        .iter()
        .filter(|rule| is_of_ranks(rule) == profile.ranks.is_some());
    let found = rules.flat_map(|rule| (rule.find)(rule, &facts));
    let mut found = precedence::choose(&facts, found.collect());
    if !profile.has_annotated_functions() {
        for finding in &mut found {
            finding.advice = any_program::advice(&finding.advice);
        }
    }
    found
}
