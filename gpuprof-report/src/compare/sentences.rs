//! The sentences around the table of a comparison, which all formats share.

use super::comparison::{ProfileComparison, Verdict};
use super::text;

/// `3 SLOWER, 1 UNSURE, 12 SAME`.
pub(super) fn verdicts(comparison: &ProfileComparison) -> String {
    let counts: Vec<String> = Verdict::ALL
        .iter()
        .filter_map(|verdict| {
            let count = comparison.count(*verdict);
            (count > 0).then(|| format!("{count} {}", verdict.as_str()))
        })
        .collect();
    if counts.is_empty() {
        "no function that ran".to_owned()
    } else {
        counts.join(", ")
    }
}

/// How many runs there are, and how long they took.
pub(super) fn runs(comparison: &ProfileComparison) -> String {
    let (old, new) = (&comparison.old, &comparison.new);
    let simulated = if old.simulated || new.simulated {
        "simulated device: GPU times are modelled, not measured; "
    } else {
        ""
    };
    let change = new.wall_ns as f64 / old.wall_ns as f64 - 1.0;
    let change = if change.is_finite() {
        format!(" ({})", text::change(change))
    } else {
        String::new()
    };
    format!(
        "{simulated}{} against {}; median wall time {} → {}{change}, which is not judged",
        text::things(old.runs, "old run"),
        text::things(new.runs, "new run"),
        text::duration(old.wall_ns as f64),
        text::duration(new.wall_ns as f64),
    )
}

/// What the verdicts mean.
pub(super) fn method(comparison: &ProfileComparison) -> String {
    let options = &comparison.options;
    if comparison.is_undecidable() {
        return "UNSURE: one run a side does not show how much runs differ by themselves.".into();
    }
    format!(
        "Change is the time per call, without what all work of a run has in common. SLOWER and \
         FASTER: p < {} after Holm's correction for all rows (moderated t over runs), and a change \
         of at least {}. SAME: the 95 % interval is within ± {}. UNSURE: neither.",
        options.alpha,
        text::percent(options.min_change),
        text::percent(options.margin)
    )
}
