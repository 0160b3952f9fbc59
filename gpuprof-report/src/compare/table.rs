//! A comparison as text for a terminal or a log.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::comparison::{ComparedItem, ItemKind, ProfileComparison, SideFigures, Verdict};
use super::{sentences, text};
use crate::sanitize;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Writes a comparison as aligned text, in colour if `color` says so. At most `limit` rows that are
/// `SAME` are listed; the others are counted.
#[must_use]
pub fn to_text(comparison: &ProfileComparison, limit: usize, color: bool) -> String {
    let mut out = format!("gpuprof diff: {}\n", sentences::verdicts(comparison));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", sentences::runs(comparison));
    for fact in &comparison.facts {
        let _ = if fact.differs() {
            writeln!(
                out,
                "{}: {} → {}",
                fact.key,
                shown(&fact.old),
                shown(&fact.new)
            )
        } else {
            writeln!(out, "{}: {}", fact.key, fact.new)
        };
    }
    for warning in &comparison.warnings {
        let _ = writeln!(
            out,
            "{}",
            paint(color, warn(), &format!("warning: {warning}"))
        );
    }
    out.push('\n');
    if comparison.items.is_empty() {
        return out;
    }
    let mut same = 0;
    let rows: Vec<&ComparedItem> = comparison
        .items
        .iter()
        .filter(|item| {
            same += usize::from(item.verdict == Verdict::Same);
            item.verdict != Verdict::Same || same <= limit
        })
        .collect();
    write_rows(&rows, color, &mut out);
    if let hidden @ 1.. = comparison.items.len() - rows.len() {
        let _ = writeln!(out, "… {} more that are SAME", hidden);
    }
    let _ = write!(
        out,
        "\n{}\n",
        paint(color, DIM, &sentences::method(comparison))
    );
    out
}

fn shown(values: &str) -> &str {
    if values.is_empty() { "none" } else { values }
}

const HEADINGS: [&str; 7] = ["", "Verdict", "Old", "New", "Change", "95 % interval", "p"];

fn write_rows(rows: &[&ComparedItem], color: bool, out: &mut String) {
    let cells: Vec<[String; 7]> = rows.iter().map(|item| cells(item)).collect();
    let mut widths = HEADINGS.map(UnicodeWidthStr::width);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    write_line(&HEADINGS, &widths, |_, text| paint(color, BOLD, text), out);
    for (item, row) in rows.iter().zip(&cells) {
        let style = |column: usize, text: &str| match column {
            1 => paint(color, verdict_style(item.verdict), text),
            _ => text.to_owned(),
        };
        let row: [&str; 7] = std::array::from_fn(|at| row.get(at).map_or("", String::as_str));
        write_line(&row, &widths, style, out);
        for note in &item.notes {
            let _ = writeln!(out, "  {}", paint(color, DIM, note));
        }
    }
}

/// Names and verdicts are aligned to the left, figures to the right.
fn write_line(
    cells: &[&str; 7],
    widths: &[usize; 7],
    style: impl Fn(usize, &str) -> String,
    out: &mut String,
) {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        let gap = if column == 0 { "" } else { "  " };
        let _ = match column {
            ..2 => write!(line, "{gap}{}{padding}", style(column, cell)),
            _ => write!(line, "{gap}{padding}{}", style(column, cell)),
        };
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The cells of a row, in the order of [`HEADINGS`].
fn cells(item: &ComparedItem) -> [String; 7] {
    let figure = |figure: &Option<SideFigures>| match figure {
        Some(figure) => text::duration(figure.ns),
        None => "–".to_owned(),
    };
    let text = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    [
        name(item),
        item.verdict.as_str().to_owned(),
        figure(&item.old),
        figure(&item.new),
        text(item.change.map(text::change)),
        text(item.interval.map(text::interval)),
        text(item.p.map(text::probability)),
    ]
}

/// The name with what its times are.
pub(super) fn name(item: &ComparedItem) -> String {
    let name = sanitize::name(&item.name);
    match item.kind {
        ItemKind::All => name.into_owned(),
        ItemKind::Function | ItemKind::Kernel => format!("{name} ({})", item.measure.as_str()),
    }
}

fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Slower => AnsiColor::Red.on_default().bold(),
        Verdict::Faster => AnsiColor::Green.on_default(),
        Verdict::Unsure => warn(),
        Verdict::New | Verdict::Gone => BOLD,
        Verdict::Same => DIM,
    }
}

const fn warn() -> Style {
    AnsiColor::Yellow.on_default()
}

fn paint(color: bool, style: Style, text: &str) -> String {
    if color && !text.is_empty() {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}
