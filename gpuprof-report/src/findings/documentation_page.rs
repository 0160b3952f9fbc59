//! Makes docs/findings.md from the rules.

use std::fmt::Write as _;

use super::rule::Rule;
use super::rule_list::RULES;
use super::threshold::{Threshold, Unit};
use crate::table;

const BEGINNING: &str = include_str!("documentation_page.md");

/// The text of docs/findings.md.
#[must_use]
pub fn page() -> String {
    let mut page = BEGINNING.replace("{most}", &table::MAX_FINDINGS.to_string());
    for rule in RULES {
        section(&mut page, rule);
    }
    page
}

// Writing to a String cannot fail.
fn section(page: &mut String, rule: &Rule) {
    let Rule {
        id,
        title,
        when,
        advice,
        thresholds,
        ..
    } = rule;
    let _ = write!(
        page,
        "\n## {title}\n\n`{id}`\n\n{when}\n\nWhat to try: {advice}\n\n"
    );
    page.push_str("| threshold | of | because |\n|---|---|---|\n");
    for threshold in *thresholds {
        let Threshold { what, why, .. } = threshold;
        let _ = writeln!(page, "| {} | {what} | {why} |", value(threshold));
    }
}

fn value(threshold: &Threshold) -> String {
    let value = threshold.value;
    match threshold.unit {
        Unit::Share => format!("{} %", value * 100.0),
        Unit::Count => format!("{value}"),
        Unit::Times => format!("{value} ×"),
        Unit::Ns => table::duration(value as u64).text(),
        Unit::Bytes => format!("{} bytes", table::count(value as u64).text()),
    }
}
