//! Rows and columns on a terminal of any width: the drawing that table and tree share.
//!
//! No table crate is used here. comfy-table pads cells, which is the small part: what a report
//! needs is columns aligned on the decimal point, headings that span a group of columns, whole
//! columns dropped by rank and names cut in the middle; all of these need the widths before
//! anything is drawn, and styled cells would bring crossterm.

use anstyle::Style;

use super::number::Number;
use super::words::{self, BOLD, DIM, ELLIPSIS, PLAIN, WARN, pad, paint};

/// One column of figures.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Heading over neighbouring columns of one kind; may be empty.
    pub(super) group: &'static str,
    /// Heading.
    pub(super) heading: &'static str,
    /// The column with the smallest rank is dropped first.
    pub(super) rank: u8,
    /// Whether the rows are ordered by it.
    pub(super) sorted: bool,
    /// One per row; `None` is drawn as a dash.
    pub(super) cells: Vec<Option<Number>>,
}

impl Column {
    /// As it is called where its group's heading is not in sight.
    pub(super) fn full_name(&self) -> String {
        match self.group {
            "GPU" | "CPU" | "open" => format!("{} {}", self.group, self.heading),
            _ => self.heading.to_owned(),
        }
    }
}

/// The beginning of one row.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    /// A mark before the name, or nothing.
    pub(super) mark: &'static str,
    /// Indentation, possibly of box characters.
    pub(super) indent: String,
    /// The name, already safe to print.
    pub(super) name: String,
    /// Whether the row only adds to another one.
    pub(super) secondary: bool,
}

/// A table that has not been fitted to a width yet.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Heading of the names.
    pub(super) title: String,
    /// One per row.
    pub(super) labels: Vec<Label>,
    /// From left to right.
    pub(super) columns: Vec<Column>,
}

/// Spaces between two columns, and between two groups.
const GAP: usize = 2;
const GROUP_GAP: usize = 3;
/// Names keep a quarter of a narrow terminal, and never less than this, as long as a column can be
/// dropped for it.
const NAME_SHARE: usize = 4;
const NAME_LEAST: usize = 20;
/// Where a figure is missing.
const DASH: &str = "–";

/// Widths of the parts of a column.
#[derive(Clone, Copy, Debug)]
struct Parts {
    whole: usize,
    fraction: usize,
    unit: usize,
    all: usize,
}

impl Parts {
    fn of(column: &Column) -> Self {
        let mut parts = Self {
            whole: 1,
            fraction: 0,
            unit: 0,
            all: 0,
        };
        for number in column.cells.iter().flatten() {
            parts.whole = parts
                .whole
                .max(words::width(number.mark) + words::width(&number.whole));
            parts.fraction = parts.fraction.max(words::width(&number.fraction));
            parts.unit = parts.unit.max(words::width(number.unit));
        }
        let figures =
            parts.whole + parts.fraction + if parts.unit > 0 { 1 + parts.unit } else { 0 };
        parts.all = figures.max(words::width(&heading(column)));
        parts
    }
}

fn heading(column: &Column) -> String {
    format!(
        "{}{}",
        column.heading,
        if column.sorted { " ↓" } else { "" }
    )
}

impl Grid {
    /// Draws into `out` and returns the full names of the columns that did not fit.
    ///
    /// Columns without a single figure are left out and not counted as dropped.
    pub(super) fn draw(&self, width: Option<usize>, color: bool, out: &mut String) -> Vec<String> {
        let mut kept: Vec<(&Column, Parts)> = (self.columns.iter())
            .filter(|column| column.cells.iter().any(Option::is_some))
            .map(|column| (column, Parts::of(column)))
            .collect();
        let gutter = if self.labels.iter().any(|label| !label.mark.is_empty()) {
            2
        } else {
            0
        };
        let natural = (self.labels.iter())
            .map(|label| words::width(&label.indent) + words::width(&label.name))
            .chain([words::width(&self.title)])
            .max()
            .unwrap_or(0);
        let mut dropped = Vec::new();
        let mut names = natural;
        if let Some(width) = width {
            let least = natural.min(NAME_LEAST.max(width / NAME_SHARE));
            while gutter + least + figures_width(&kept) > width {
                let last = (kept.iter().enumerate())
                    .min_by_key(|(_, (column, _))| column.rank)
                    .map(|(at, _)| at);
                let Some(at) = last else { break };
                dropped.push(kept.remove(at).0.full_name());
            }
            names = natural.min(width.saturating_sub(gutter + figures_width(&kept)));
        }
        let drawing = Drawing {
            kept: &kept,
            gutter,
            names,
            color,
        };
        drawing.headings(&self.title, out);
        for (row, label) in self.labels.iter().enumerate() {
            drawing.row(row, label, out);
        }
        dropped
    }
}

/// The figures of a row together with the gap before each.
fn figures_width(kept: &[(&Column, Parts)]) -> usize {
    with_gaps(kept).map(|(gap, _, parts)| gap + parts.all).sum()
}

/// Each column with the spaces before it.
fn with_gaps<'a>(
    kept: &'a [(&'a Column, Parts)],
) -> impl Iterator<Item = (usize, &'a Column, Parts)> {
    let before = std::iter::once(None).chain(kept.iter().map(|(column, _)| Some(column.group)));
    before.zip(kept).map(|(before, (column, parts))| {
        let gap = if before == Some(column.group) {
            GAP
        } else {
            GROUP_GAP
        };
        (gap, *column, *parts)
    })
}

/// A grid whose columns are settled.
struct Drawing<'a> {
    kept: &'a [(&'a Column, Parts)],
    gutter: usize,
    names: usize,
    color: bool,
}

impl Drawing<'_> {
    fn headings(&self, title: &str, out: &mut String) {
        let runs: Vec<_> = self.kept.chunk_by(|a, b| a.0.group == b.0.group).collect();
        if runs.iter().any(|run| {
            run.first()
                .is_some_and(|(column, _)| !column.group.is_empty())
        }) {
            let mut line = " ".repeat(self.gutter + self.names);
            for run in runs {
                let span = figures_width(run).saturating_sub(GROUP_GAP);
                let group = run.first().map_or("", |(column, _)| column.group);
                pad(&mut line, GROUP_GAP, 0);
                if group.is_empty() {
                    pad(&mut line, span, 0);
                    continue;
                }
                let label = words::shorten(group, span);
                paint(&mut line, self.color, BOLD, &label);
                let rule = span.saturating_sub(words::width(&label) + 1);
                if rule > 0 {
                    line.push(' ');
                    paint(&mut line, self.color, DIM, &"─".repeat(rule));
                }
            }
            end_line(line, out);
        }
        let mut line = " ".repeat(self.gutter);
        let title = words::shorten(title, self.names);
        paint(&mut line, self.color, BOLD, &title);
        pad(&mut line, self.names, words::width(&title));
        for (gap, column, parts) in with_gaps(self.kept) {
            let heading = heading(column);
            pad(&mut line, gap + parts.all, words::width(&heading));
            paint(&mut line, self.color, BOLD, &heading);
        }
        end_line(line, out);
    }

    fn row(&self, row: usize, label: &Label, out: &mut String) {
        let mut line = String::new();
        if self.gutter > 0 {
            paint(&mut line, self.color, WARN, label.mark);
            pad(&mut line, self.gutter, words::width(label.mark));
        }
        self.name(label, &mut line);
        let style = if label.secondary { DIM } else { PLAIN };
        for (gap, column, parts) in with_gaps(self.kept) {
            pad(&mut line, gap, 0);
            self.cell(
                column.cells.get(row).and_then(Option::as_ref),
                parts,
                style,
                &mut line,
            );
        }
        end_line(line, out);
    }

    fn name(&self, label: &Label, line: &mut String) {
        // However deep a call lies, half of the column is left for its name.
        let mut indent = label.indent.clone();
        if words::width(&indent) + words::width(&label.name) > self.names
            && words::width(&indent) > self.names / 2
        {
            let room = (self.names / 2).saturating_sub(words::width(ELLIPSIS));
            indent = format!("{ELLIPSIS}{}", words::suffix(&label.indent, room));
        }
        let indent = words::shorten(&indent, self.names);
        let name = words::shorten(
            &label.name,
            self.names.saturating_sub(words::width(&indent)),
        );
        paint(line, self.color, DIM, &indent);
        paint(
            line,
            self.color,
            if label.secondary { DIM } else { PLAIN },
            &name,
        );
        pad(
            line,
            self.names,
            words::width(&indent) + words::width(&name),
        );
    }

    fn cell(&self, number: Option<&Number>, parts: Parts, style: Style, line: &mut String) {
        let Parts {
            whole,
            fraction,
            unit,
            all,
        } = parts;
        let figures = whole + fraction + if unit > 0 { 1 + unit } else { 0 };
        pad(line, all, figures);
        let Some(number) = number else {
            pad(line, whole, words::width(DASH));
            paint(line, self.color, DIM, DASH);
            pad(line, figures, whole);
            return;
        };
        pad(
            line,
            whole,
            words::width(number.mark) + words::width(&number.whole),
        );
        paint(line, self.color, WARN, number.mark);
        paint(
            line,
            self.color,
            style,
            &format!("{}{}", number.whole, number.fraction),
        );
        pad(line, fraction, words::width(&number.fraction));
        if unit > 0 {
            line.push(' ');
            paint(line, self.color, DIM, number.unit);
            pad(line, unit, words::width(number.unit));
        }
    }
}

/// Ends a line without trailing spaces.
fn end_line(line: String, out: &mut String) {
    out.push_str(line.trim_end());
    out.push('\n');
}
