//! What is worth doing, and how complete the records are that it was worked out from: the end of
//! the report.
//!
//! Which rule finds what is no matter of this file.

use std::borrow::Cow;

use super::TableOptions;
use super::activities::heading;
use super::number;
use super::words::{BOLD, DIM, PLAIN, WARN, Words};
use crate::profile::{Cupti, Finding, Profile};
use crate::sanitize;

/// Findings shown in the table; the JSON document has all.
pub(crate) const MAX_FINDINGS: usize = 8;

/// Characters of an evidence or an advice that are shown: a command line with long names fits.
const LONGEST: usize = 1_000;

/// Writes the findings, numbered, and an empty line; nothing where there is none.
pub(super) fn write(profile: &Profile, options: &TableOptions, out: &mut String) {
    let findings = &profile.findings;
    if findings.is_empty() {
        return;
    }
    let title = match findings.len() {
        0..=MAX_FINDINGS => "Findings".to_owned(),
        all => format!("Findings: the worst {MAX_FINDINGS} of {all}, the JSON has all"),
    };
    heading(&title, profile, options, out);
    for (at, finding) in findings.iter().take(MAX_FINDINGS).enumerate() {
        line(at + 1, finding).write(out, options.color, options.width, 3);
    }
    out.push('\n');
}

/// Number, function, evidence, advice.
fn line(number: usize, finding: &Finding) -> Words {
    let function = match &finding.function {
        Some(name) => sanitize::name(name),
        None => Cow::Borrowed("the program"),
    };
    let mut words = Words::default();
    words
        .add_one(WARN, format!("{number}."))
        .add_one(BOLD, function)
        .then(":");
    add(&mut words, &finding.evidence);
    words.add(WARN, "→");
    add(&mut words, &finding.advice);
    words
}

/// Adds the words of a text from outside; a figure and its unit are one.
fn add(words: &mut Words, text: &str) {
    let text = sanitize::short(text, LONGEST);
    let mut after_figure = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if after_figure && UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')'])) {
            words.then(" ").then(word);
        } else {
            words.add_one(PLAIN, word);
        }
        after_figure = word.ends_with(|c: char| c.is_ascii_digit());
    }
}

/// What stands after a figure in a finding.
const UNITS: [&str; 16] = [
    "ns", "µs", "ms", "s", "h", "%", "×", "B", "kB", "MB", "GB", "TB", "GB/s", "TFLOP/s", "MHz",
    "calls",
];

/// Writes how CUPTI's records came, and what ran outside of the functions.
pub(super) fn foot(cupti: &Cupti, options: &TableOptions, out: &mut String) {
    records(cupti).write(out, options.color, options.width, 2);
    if cupti.unattributed > 0 {
        outside(cupti).write(out, options.color, options.width, 2);
    }
    if cupti.unattributed_graph_nodes > 0 {
        not_captured(cupti).write(out, options.color, options.width, 2);
    }
}

fn records(cupti: &Cupti) -> Words {
    let mut words = Words::default();
    words
        .add_one(PLAIN, format!("CUPTI {}", cupti.version))
        .then(" ·")
        .add_one(
            PLAIN,
            format!("{} records", number::count(cupti.records).text()),
        );
    let losses = [
        (cupti.dropped_records, "dropped for want of room"),
        (
            cupti.invalid_records,
            "left out as their time stamps make no sense",
        ),
        (cupti.unfinished, "missing: not finished or dropped"),
        (
            cupti.late_records,
            "late: what of them overlaps other work counts twice as busy",
        ),
        (
            cupti.records_without_call,
            "missing from busy times: their calls were forgotten to bound the memory",
        ),
        (
            cupti.dropped_calls,
            "calls ended too fast to be taken note of: they are missing from busy times",
        ),
    ];
    for (count, what) in losses.into_iter().filter(|(count, _)| *count > 0) {
        words
            .then(" ·")
            .add_one(WARN, number::count(count).text())
            .add(PLAIN, what);
    }
    words
}

/// What no row under a function has.
fn outside(cupti: &Cupti) -> Words {
    let count = number::count(cupti.unattributed).text();
    let mut words = Words::default();
    words
        .add(BOLD, "unattributed (outside any profiled function):")
        .add(PLAIN, &format!("{count} kernels, copies and memsets,"))
        .add_one(PLAIN, number::duration(cupti.unattributed_ns).text())
        .then(".")
        .add(
            DIM,
            "No span was open on the thread that launched them: annotate what launches. Libraries \
             that launch from a thread of their own, as burn and cubecl do, always stand here.",
        );
    words
}

/// What a graph ran that belongs to no function that captured it.
fn not_captured(cupti: &Cupti) -> Words {
    let count = number::count(cupti.unattributed_graph_nodes).text();
    let mut words = Words::default();
    words
        .add(BOLD, "graph nodes not attributed to a capturing function:")
        .add(PLAIN, &format!("{count} kernels, copies and memsets."))
        .add(
            DIM,
            "They count in the function that launched the graph: they were captured outside any \
             profiled function or before CUPTI was on, or belong to a child graph or a loop.",
        );
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn no_more_than_eight_findings_are_shown_and_the_rest_is_counted() {
        let finding = |at: usize| Finding {
            function: (at > 0).then(|| format!("f{at}")),
            evidence: "seen".into(),
            advice: "try".into(),
            ..Finding::default()
        };
        let options = TableOptions::default();
        let found = |number: usize| {
            let profile = Profile {
                findings: (0..number).map(finding).collect(),
                ..Profile::default()
            };
            text(|out| write(&profile, &options, out))
        };
        let shown = found(9);
        assert!(
            shown.contains("1. the program: seen → try\n2. f1: seen → try\n"),
            "{shown}"
        );
        assert!(shown.contains("8. f7") && !shown.contains("f8"), "{shown}");
        assert!(
            shown.starts_with("Findings: the worst 8 of 9, the JSON has all\n"),
            "{shown}"
        );
        assert!(found(8).starts_with("Findings\n"));
        assert_eq!(found(0), "");
    }

    #[test]
    fn a_figure_stays_with_its_unit() {
        let finding = Finding {
            function: Some("f".into()),
            evidence: "takes 1.40 ms, 25 % of it".into(),
            ..Finding::default()
        };
        let mut out = String::new();
        line(1, &finding).write(&mut out, false, Some(16), 3);
        assert_eq!(out, "1. f: takes\n   1.40 ms, 25 %\n   of it →\n");
    }

    #[test]
    fn a_missing_record_may_be_a_dropped_one() {
        let cupti = Cupti {
            dropped_records: 2,
            unfinished: 1,
            ..Cupti::default()
        };
        let foot = text(|out| foot(&cupti, &TableOptions::default(), out));
        let told = "2 dropped for want of room · 1 missing: not finished or dropped";
        assert!(foot.contains(told), "{foot}");
    }

    #[test]
    fn the_foot_names_only_what_went_wrong() {
        let mut cupti = Cupti {
            version: 130_001,
            records: 12_345,
            ..Cupti::default()
        };
        let options = TableOptions::default();
        let foot = |cupti: &Cupti| text(|out| super::foot(cupti, &options, out));
        assert_eq!(foot(&cupti), "CUPTI 130001 · 12,345 records\n");
        let counts: [fn(&mut Cupti) -> &mut u64; 8] = [
            |cupti| &mut cupti.dropped_records,
            |cupti| &mut cupti.invalid_records,
            |cupti| &mut cupti.unfinished,
            |cupti| &mut cupti.late_records,
            |cupti| &mut cupti.records_without_call,
            |cupti| &mut cupti.dropped_calls,
            |cupti| &mut cupti.unattributed,
            |cupti| &mut cupti.unattributed_graph_nodes,
        ];
        for count in counts {
            *count(&mut cupti) = 77;
            assert_eq!(foot(&cupti).matches("77").count(), 1, "{}", foot(&cupti));
            *count(&mut cupti) = 0;
        }
    }
}
