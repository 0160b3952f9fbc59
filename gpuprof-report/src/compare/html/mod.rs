//! A comparison as one HTML file that needs nothing else: no script and no network.
//!
//! Names reach the page as text alone: every character that HTML would interpret is a reference,
//! and the content security policy allows the page's own two styles and nothing besides.

mod intervals;

use std::fmt::Write as _;

use super::comparison::{Comparison, Item, Verdict};
use super::{lines, table, text};
use crate::escape::html as escaped;
use crate::html::SHARED_STYLE;
use intervals::Axis;

const OWN_STYLE: &str = include_str!("style.css");
/// Its SHA-256 in Base64, by which the policy knows it. A browser ignores a style with another
/// hash; `cargo xtask pages` compares them first.
const OWN_STYLE_HASH: &str = "+wLkt1objhHxwZYdmlwKAzsrZZdrqQueVJz2AxrRfMM=";

/// Rows that are listed: more than a browser draws at once without a delay.
const MAX_ROWS: usize = 2_000;

/// The columns of the text, of which the first has no heading there.
const FIRST_HEADING: &str = "Function / kernel";
/// Classes of the columns after the first.
const CLASSES: [&str; 6] = ["verdict", "old", "new-time", "change", "range-cell", "p"];

/// Writes a comparison as a page of its own, complete in one file: the verdicts, warnings, facts
/// about both sides, and a row for each function and kernel, with a picture of its interval. The
/// words and figures are those of [`to_text`](super::to_text). At most 2,000 rows are listed; the
/// others are counted.
#[must_use]
pub fn to_html(comparison: &Comparison) -> String {
    let (shared_style, shared_hash) = SHARED_STYLE;
    format!(
        include_str!("page.html"),
        policy = format_args!(
            "default-src 'none'; style-src 'sha256-{shared_hash}' 'sha256-{OWN_STYLE_HASH}'; \
             base-uri 'none'; form-action 'none'"
        ),
        shared_style = shared_style,
        own_style = OWN_STYLE,
        verdicts = escaped(&lines::verdicts(comparison)),
        runs = runs(comparison),
        warnings = warnings(comparison),
        facts = facts(comparison),
        rows = rows(comparison),
    )
}

fn runs(comparison: &Comparison) -> String {
    let class = if comparison.old.simulated || comparison.new.simulated {
        r#" class="simulated" role="note""#
    } else {
        ""
    };
    format!("<p{class}>{}</p>\n", escaped(&lines::runs(comparison)))
}

fn warnings(comparison: &Comparison) -> String {
    if comparison.warnings.is_empty() {
        return String::new();
    }
    let warnings = comparison.warnings.iter();
    let items: String = warnings
        .map(|warning| format!("<li>warning: {}</li>\n", escaped(warning)))
        .collect();
    format!("<ul class=\"warnings\">\n{items}</ul>\n")
}

fn facts(comparison: &Comparison) -> String {
    if comparison.facts.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        r#"<section aria-labelledby="runs-title">
<h2 id="runs-title">Runs</h2>
<div class="scroll">
<table class="facts-table" aria-labelledby="runs-title">
<thead><tr><th scope="col"><span class="hidden">Fact</span></th>
<th scope="col">Old</th><th scope="col">New</th></tr></thead>
<tbody>
"#,
    );
    for fact in &comparison.facts {
        let [old, new] = [&fact.old, &fact.new].map(|side| escaped(table::shown(side)));
        let key = escaped(&fact.key);
        // Writing to a String cannot fail.
        let _ = if fact.differs() {
            writeln!(
                out,
                r#"<tr class="differs"><th scope="row">{key}</th><td>{old}</td><td>{new}</td></tr>"#
            )
        } else {
            writeln!(
                out,
                r#"<tr><th scope="row">{key}</th><td colspan="2">{new}</td></tr>"#
            )
        };
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
    out
}

/// The table and what explains it; empty without items.
fn rows(comparison: &Comparison) -> String {
    if comparison.items.is_empty() {
        return String::new();
    }
    let axis = Axis::new(comparison);
    let mut out = String::from(
        r#"<section aria-labelledby="rows-title">
<h2 id="rows-title">Functions and kernels</h2>
<div class="scroll" role="region" tabindex="0" aria-labelledby="rows-title">
<table class="rows" aria-labelledby="rows-title">
<thead><tr>"#,
    );
    for heading in table::HEADINGS {
        let heading = if heading.is_empty() {
            FIRST_HEADING
        } else {
            heading
        };
        let _ = write!(out, r#"<th scope="col">{}</th>"#, escaped(heading));
    }
    out.push_str("</tr></thead>\n");
    for item in comparison.items.iter().take(MAX_ROWS) {
        write_row(item, &axis, &mut out);
    }
    if let hidden @ 1.. = comparison.items.len().saturating_sub(MAX_ROWS) {
        let _ = writeln!(
            out,
            r#"<tbody class="more"><tr><th scope="row" colspan="7">… {} more</th></tr></tbody>"#,
            text::count(hidden as u64)
        );
    }
    let _ = write!(
        out,
        "</table>\n</div>\n<p class=\"note legend-note\">{}</p>\n\
         <p class=\"note legend-note\">{}</p>\n</section>\n",
        legend(comparison, &axis),
        escaped(&lines::method(comparison)),
    );
    out
}

/// What the pictures show.
fn legend(comparison: &Comparison, axis: &Axis) -> String {
    let marks = if comparison.is_undecidable() {
        "A line marks the change"
    } else {
        "A line marks the change and a bar its 95 % interval"
    };
    format!(
        "{marks}, on an axis of ± {}; an arrow points to what is beyond it. The grey band is ± {}.",
        text::percent(axis.limit),
        text::percent(comparison.options.margin)
    )
}

/// A row, and one below it with its notes.
fn write_row(item: &Item, axis: &Axis, out: &mut String) {
    let [name, cells @ ..] = table::cells(item);
    let _ = write!(
        out,
        r#"<tbody class="{}"><tr><th scope="row">{}</th>"#,
        class(item.verdict),
        escaped(&name)
    );
    for (class, cell) in CLASSES.iter().zip(&cells) {
        let picture = match *class {
            "range-cell" => axis.picture(item),
            _ => String::new(),
        };
        let _ = write!(
            out,
            r#"<td class="{class}">{picture}{}</td>"#,
            escaped(cell)
        );
    }
    out.push_str("</tr>");
    if !item.notes.is_empty() {
        let notes = item.notes.iter();
        let notes: String = notes
            .map(|note| format!("<p>{}</p>", escaped(note)))
            .collect();
        let _ = write!(
            out,
            r#"<tr class="notes"><td colspan="7">{notes}</td></tr>"#
        );
    }
    out.push_str("</tbody>\n");
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Unsure => "unsure",
        Verdict::New => "new",
        Verdict::Gone => "gone",
        Verdict::Same => "same",
    }
}
