//! docs/findings.md has each rule, and each threshold with its value.

use crate::findings::{RULES, wording};
use crate::profile::FindingRule;

const PAGE: &str = include_str!("../../../../docs/findings.md");
const SOURCES: [&str; 2] = [
    include_str!("../thresholds.rs"),
    include_str!("../thresholds_of_kernels.rs"),
];
/// Thresholds that apply to several rules, which the text before the rules states.
const OF_ALL_RULES: [&str; 2] = ["0.2 % of the wall time", "70 % of the largest gain"];

#[test]
fn every_rule_has_its_section() {
    let sections = PAGE.split("\n## ").filter_map(|section| {
        let (_title, text) = section.split_once("\n\n`")?;
        Some(text.split_once("`\n\n")?.0)
    });
    let described: Vec<&str> = sections.collect();
    let mut rules = RULES.map(|rule| rule.id.as_str());
    assert_eq!(described, rules);
    rules.sort_unstable();
    assert!(rules.is_sorted_by(|a, b| a < b), "{rules:?}");
    // The other one is for rules that this version does not know.
    assert_eq!(rules.len() + 1, FindingRule::ALL.len());
}

#[test]
fn every_threshold_has_its_row() {
    let rows: Vec<(&str, &str)> = PAGE
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            Some((cells.next()?, cells.next()?))
        })
        .collect();
    let without_row: Vec<(String, f64)> = SOURCES
        .into_iter()
        .flat_map(thresholds)
        .filter(|(what, value)| {
            let texts = texts(*value);
            let is_its_own = |(shown, of): &(&str, &str)| {
                of.eq_ignore_ascii_case(what) && texts.iter().any(|text| text == shown)
            };
            !rows.iter().any(is_its_own)
        })
        .collect();
    assert_eq!(without_row.len(), OF_ALL_RULES.len(), "{without_row:?}");
    for text in OF_ALL_RULES {
        assert!(PAGE.contains(text), "{text}");
    }
}

/// The first sentence of each constant's documentation, and its value.
fn thresholds(source: &str) -> Vec<(String, f64)> {
    let found: Vec<(String, f64)> = source
        .split("\n\n")
        .filter_map(|constant| {
            let (text, constant) = constant.split_once("\npub(super) const ")?;
            let text = text.replace("\n/// ", " ");
            let what = text.rsplit("/// ").next()?.split(". ").next()?;
            let (_, value) = constant.split_once("Threshold(")?;
            let value = value.split(')').next()?.replace('_', "").parse().ok()?;
            Some((what.to_owned(), value))
        })
        .collect();
    let all = source.matches("\npub(super) const ").count();
    assert_eq!(found.len(), all, "{found:?}");
    found
}

/// A value with each unit that it may have.
fn texts(value: f64) -> [String; 5] {
    [
        format!("{} %", value * 100.0),
        format!("{value}"),
        format!("{value} ×"),
        wording::ns(value as u64),
        format!("{} bytes", wording::count(value as u64)),
    ]
}
