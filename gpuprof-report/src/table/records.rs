//! How complete CUPTI's records are.

use super::number;
use super::words::{self, BOLD, DIM, PLAIN, Paragraph, labelled};
use crate::profile::{CuptiCompleteness, Profile};

/// The CUDA version of a `cuptiGetVersion`.
fn version(version: u32) -> String {
    match version {
        // Before CUDA 13 it was a running number.
        0..100_000 => format!("CUPTI API {version}"),
        _ => format!("CUPTI {}.{}", version / 10_000, version % 10_000 / 100),
    }
}

/// Adds how many records came.
pub(super) fn add(cupti: &CuptiCompleteness, words: &mut Paragraph) {
    words
        .add_one(PLAIN, version(cupti.version))
        .then(",")
        .add_one(
            PLAIN,
            format!("{} records", number::count(cupti.records).text()),
        );
    if cupti.dropped_records == 0 {
        words.then(",").add_one(PLAIN, "0 dropped");
    }
}

/// What became of the records that are missing or came late.
pub(super) fn losses(profile: &Profile) -> Option<Paragraph> {
    let cupti = profile.cupti.as_ref()?;
    let losses = [
        (cupti.dropped_records, "dropped because there was no room"),
        (cupti.invalid_records, "discarded for their time stamps"),
        (cupti.unfinished, "missing: not finished or dropped"),
        (
            cupti.late_records,
            "late: where they overlap other work, busy time counts twice",
        ),
        (
            cupti.records_without_call,
            "missing from busy times, because their calls were forgotten to bound the memory",
        ),
        (
            cupti.dropped_calls,
            "calls missing from busy times, because they ended faster than they could be queued",
        ),
    ];
    words::losses(
        "CUPTI records:",
        losses.map(|(count, what)| (count, what.into())),
    )
}

/// Work that no function has, or not the function that captured it.
pub(super) fn unattributed(profile: &Profile) -> Vec<Paragraph> {
    let Some(cupti) = &profile.cupti else {
        return Vec::new();
    };
    let has_outside = cupti.unattributed > 0 && profile.has_annotated_functions();
    let outside = has_outside.then(|| outside(cupti));
    let graphs = (cupti.unattributed_graph_nodes > 0).then(|| not_captured(cupti));
    outside.into_iter().chain(graphs).collect()
}

/// What no row under a function has.
fn outside(cupti: &CuptiCompleteness) -> Paragraph {
    let count = number::count(cupti.unattributed).text();
    let mut words = labelled(
        BOLD,
        "unattributed (outside any profiled function):",
        &format!("{count} kernels, copies and memsets,"),
    );
    words
        .add_one(PLAIN, number::duration(cupti.unattributed_ns).text())
        .then(".")
        .add(
            DIM,
            "No span was open on the thread that launched them: annotate what launches.",
        );
    words
}

/// What a graph ran that belongs to no function that captured it.
fn not_captured(cupti: &CuptiCompleteness) -> Paragraph {
    let count = number::count(cupti.unattributed_graph_nodes).text();
    let mut words = labelled(
        BOLD,
        "graph nodes not attributed to a capturing function:",
        &format!("{count} kernels, copies and memsets."),
    );
    words.add(
        DIM,
        "They count in the function that launched the graph: they were captured outside any \
         profiled function or before CUPTI was on, or belong to a child graph or a loop.",
    );
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Function;

    fn text(cupti: &CuptiCompleteness) -> String {
        let profile = Profile {
            cupti: Some(cupti.clone()),
            functions: vec![Function::default()],
            ..Profile::default()
        };
        let mut words = Paragraph::default();
        add(cupti, &mut words);
        let mut out = String::new();
        let lines = std::iter::once(words).chain(losses(&profile));
        for line in lines.chain(unattributed(&profile)) {
            line.write(&mut out, false, None, 0);
        }
        out
    }

    #[test]
    fn a_missing_record_may_be_a_dropped_one() {
        let cupti = CuptiCompleteness {
            dropped_records: 2,
            unfinished: 1,
            ..CuptiCompleteness::default()
        };
        let expected = "2 dropped because there was no room, 1 missing: not finished or dropped";
        assert!(text(&cupti).contains(expected), "{}", text(&cupti));
    }

    #[test]
    fn the_line_names_only_what_went_wrong() {
        let mut cupti = CuptiCompleteness {
            version: 130_001,
            records: 12_345,
            ..CuptiCompleteness::default()
        };
        assert_eq!(text(&cupti), "CUPTI 13.0, 12,345 records, 0 dropped\n");
        let counts: [fn(&mut CuptiCompleteness) -> &mut u64; 8] = [
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
            assert_eq!(text(&cupti).matches("77").count(), 1, "{}", text(&cupti));
            *count(&mut cupti) = 0;
        }
        cupti.version = 18;
        assert!(text(&cupti).starts_with("CUPTI API 18,"));
    }
}
