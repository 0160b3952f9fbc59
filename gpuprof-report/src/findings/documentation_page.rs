//! Makes docs/findings.md from the rules.

use std::fmt::Write as _;

use super::rule::{Rule, RulePage};
use super::rule_list::RULES;
use super::threshold::{Threshold, ThresholdPage, Unit};
use super::thresholds::{MIN_GAIN, NEAR_SHARE};
use super::wording;

const BEGINNING: &str = include_str!("documentation_page.md");

/// The text of docs/findings.md.
#[must_use]
pub fn page() -> String {
    let page = BEGINNING.replace("{min gain}", &value(&MIN_GAIN));
    let mut page = page.replace("{near}", &value(&NEAR_SHARE));
    for rule in RULES {
        section(&mut page, rule);
    }
    page
}

// Writing to a String cannot fail.
fn section(page: &mut String, rule: &Rule) {
    let RulePage {
        title,
        when,
        gain,
        advice,
        thresholds,
    } = &rule.page;
    let id = rule.id;
    let _ = write!(
        page,
        "\n## {title}\n\n`{id}`\n\n{when}\n\nGain: {gain}\n\nWhat to try: {advice}\n\n"
    );
    page.push_str("| threshold | of | because | source |\n|---|---|---|---|\n");
    for threshold in *thresholds {
        let ThresholdPage {
            what, why, source, ..
        } = &threshold.page;
        let _ = writeln!(page, "| {} | {what} | {why} | {source} |", value(threshold));
    }
}

fn value(threshold: &Threshold) -> String {
    let value = threshold.value;
    match threshold.page.unit {
        Unit::Share => format!("{} %", value * 100.0),
        Unit::Count => format!("{value}"),
        Unit::Times => format!("{value} ×"),
        Unit::Ns => wording::ns(value as u64),
        Unit::Bytes => format!("{} bytes", wording::count(value as u64)),
    }
}
