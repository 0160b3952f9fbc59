//! Every format, of whatever profiles hold.

use proptest::prelude::*;

use crate::compare::{ComparisonOptions, GateOutcome, compare, to_json, to_markdown, to_text};
use crate::merge::tests::arbitrary::profile;
use crate::profile::{Function, MetaPair, Profile, SpanStats};

fn run(name: &str, mean_ns: u64) -> Profile {
    Profile {
        functions: vec![Function {
            name: name.into(),
            calls: 1,
            cpu: SpanStats {
                mean_ns,
                ..SpanStats::default()
            },
            ..Function::default()
        }],
        meta: vec![MetaPair::new("note", name)],
        ..Profile::default()
    }
}

#[test]
fn a_table_has_a_row_with_every_figure() {
    let old = [1_000, 1_001, 1_002, 1_001, 1_000].map(|ns| run("step", ns * 1_000));
    let new = [1_100, 1_101, 1_102, 1_101, 1_100].map(|ns| run("step", ns * 1_000));
    let comparison = compare(&old, &new, &ComparisonOptions::default());
    let text = to_text(&comparison, 30, false);
    let row = text
        .lines()
        .find(|line| line.starts_with("step (CPU)"))
        .unwrap();
    let cells: Vec<&str> = row
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    assert_eq!(
        cells[..5],
        ["step (CPU)", "SLOWER", "1.00 ms", "1.10 ms", "+9.99 %"]
    );
    assert_eq!(*cells.last().unwrap(), "<0.0001");
    assert!(!text.contains('\u{1b}'));
    assert!(to_text(&comparison, 30, true).contains('\u{1b}'));
}

#[test]
fn rows_that_are_the_same_are_limited() {
    let side = || -> Vec<Profile> {
        let functions: Vec<Function> = (0..40)
            .flat_map(|at| run(&format!("f{at}"), 1_000_000).functions)
            .collect();
        let run = |_| Profile {
            functions: functions.clone(),
            ..Profile::default()
        };
        (0..5).map(run).collect()
    };
    let comparison = compare(&side(), &side(), &ComparisonOptions::default());
    let text = to_text(&comparison, 3, false);
    assert!(text.contains("\n… 38 more that are SAME\n"), "{text}");
}

#[test]
fn hostile_names_reach_no_terminal_and_are_no_markup() {
    let name = "a\u{1b}[31m|<img src=x>\n@team`";
    let comparison = compare(
        &[run(name, 5)],
        &[run(name, 9)],
        &ComparisonOptions::default(),
    );
    let text = to_text(&comparison, 30, false);
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[31m"));
    let markdown = to_markdown(&comparison);
    for forbidden in ["\u{1b}", "<img", "@team", "31m|"] {
        assert!(!markdown.contains(forbidden), "{forbidden:?} in {markdown}");
    }
    let json: serde_json::Value = serde_json::from_str(&to_json(&comparison)).unwrap();
    assert_eq!(json["items"][0]["name"], name);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_profiles_compare(
        old in prop::collection::vec(profile(), 1..4),
        new in prop::collection::vec(profile(), 1..4),
    ) {
        let comparison = compare(&old, &new, &ComparisonOptions::default());
        for item in &comparison.items {
            if let Some((low, high)) = item.interval {
                prop_assert!(low <= high, "{item:?}");
            }
            prop_assert!(item.p.is_none_or(|p| (0.0..=1.0).contains(&p)), "{item:?}");
        }
        prop_assert!(GateOutcome::new(&comparison, &[]).idle_rules.is_empty());
        let json = to_json(&comparison);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        let text = to_text(&comparison, 30, false);
        prop_assert!(!text.contains(char::from(0x1b)));
        prop_assert!(!to_markdown(&comparison).contains(char::from(0x1b)));
    }
}
