//! Rows and columns on a terminal of any width: the drawing that all tables share.
//!
//! No table crate is used here. comfy-table pads cells, which is the small part: what a report
//! needs is columns aligned on the decimal point, whole columns dropped by rank and names cut in
//! the middle; all of these need the widths before anything is drawn, and styled cells would bring
//! crossterm.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anstyle::Style;

use super::number::AlignedNumber;
use super::options::{PIPE_WIDTH, TableOptions};
use super::words::{self, BOLD, DIM, ELLIPSIS, PLAIN, WARN, pad, paint};

/// One column of figures.
#[derive(Clone, Debug)]
pub(super) struct GridColumn {
    /// Heading, with the unit.
    pub(super) heading: String,
    /// The column with the smallest rank is dropped first.
    pub(super) rank: u8,
    /// One per row; `None` is drawn as a dash.
    pub(super) cells: Vec<Option<AlignedNumber>>,
}

/// The beginning of one row.
#[derive(Clone, Debug, Default)]
pub(super) struct RowLabel {
    /// A mark before the name, or nothing.
    pub(super) mark: &'static str,
    /// Indentation, possibly of box characters.
    pub(super) indent: String,
    /// A source line before the name, such as `app/src/model.rs:40`, or nothing. Of it, folders
    /// alone are cut. Already safe to print.
    pub(super) place: String,
    /// The name, already safe to print.
    pub(super) name: String,
    /// Whether the row only adds to another one.
    pub(super) secondary: bool,
    /// Whether the row is the rest of the label above, without figures.
    pub(super) continues: bool,
}

impl RowLabel {
    /// A row of its own, with nothing before its name.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// A row that only adds to another one.
    pub(super) fn secondary(indent: &str, name: String) -> Self {
        Self {
            indent: indent.to_owned(),
            secondary: true,
            ..Self::named(name)
        }
    }

    fn width(&self) -> usize {
        let space = usize::from(!self.place.is_empty());
        let name = words::width(&self.place) + space + words::width(&self.name);
        words::width(&self.indent) + name
    }

    /// The place and the name in at most `max` columns.
    fn text(&self, max: usize) -> Cow<'_, str> {
        if self.place.is_empty() {
            return words::shorten(&self.name, max);
        }
        let whole = format!("{} {}", self.place, self.name);
        if words::width(&whole) <= max {
            return Cow::Owned(whole);
        }
        let name = last_segments(&self.name);
        let file = self.place.rsplit('/').next().unwrap_or_default();
        let shorter = [(&*self.place, name), (file, name)].map(|(place, name)| {
            let room = max.saturating_sub(words::width(place) + 1);
            (place, name, room)
        });
        let fits = |(_, name, room): &&(&str, &str, usize)| words::width(name) <= *room;
        let found = shorter.iter().find(fits);
        let (place, name, room) = *found.unwrap_or(&shorter[1]);
        let text = format!("{place} {}", words::shorten(name, room));
        match text.trim_end() {
            text if words::width(text) <= max => Cow::Owned(text.to_owned()),
            // The line's number is at the end.
            text => Cow::Owned(words::suffix(text, max).to_owned()),
        }
    }
}

/// `Net::forward` of `app::model::Net::forward`.
fn last_segments(path: &str) -> &str {
    let mut ends = path.rmatch_indices("::");
    let start = ends.nth(1).map_or(0, |(at, _)| at + 2);
    // Not the end of `<app::Net as app::Module>::forward`, which has no beginning.
    let is_whole = !path.starts_with('<');
    path.get(start..).filter(|_| is_whole).unwrap_or(path)
}

/// A table that has not been fitted to a width yet.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Heading of the names.
    pub(super) title: String,
    /// One per row.
    pub(super) labels: Vec<RowLabel>,
    /// From left to right.
    pub(super) columns: Vec<GridColumn>,
}

/// Spaces before a column.
const GAP: usize = 2;
/// Columns of a lower rank are dropped before any name is cut to less than two fifths of the width;
/// the others before names are cut to less than [`NAME_LEAST`].
pub(super) const NEEDED: u8 = 80;
const NAME_LEAST: usize = 20;
/// Where a figure is missing.
const DASH: &str = "–";

/// Widths of the parts of a column.
#[derive(Clone, Copy, Debug)]
struct ColumnWidths {
    whole: usize,
    fraction: usize,
    unit: usize,
    all: usize,
}

impl ColumnWidths {
    fn of(column: &GridColumn) -> Self {
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
        parts.all = figures.max(words::width(&column.heading));
        parts
    }
}

/// What was drawn of a grid.
pub(super) struct Drawn {
    /// Columns that did not fit.
    pub(super) dropped: usize,
    /// The marks before numbers.
    pub(super) marks: BTreeSet<&'static str>,
}

impl Grid {
    /// Draws into `out` what fits into `options.width`, or into [`PIPE_WIDTH`] in a pipe, where
    /// names are not cut.
    ///
    /// Columns without a single figure are left out and not counted.
    pub(super) fn draw(&self, options: &TableOptions, out: &mut String) -> Drawn {
        let mut kept: Vec<(&GridColumn, ColumnWidths)> = (self.columns.iter())
            .filter(|column| column.cells.iter().any(Option::is_some))
            .map(|column| (column, ColumnWidths::of(column)))
            .collect();
        let gutter = if self.labels.iter().any(|label| !label.mark.is_empty()) {
            2
        } else {
            0
        };
        let natural = (self.labels.iter())
            .map(RowLabel::width)
            .chain([words::width(&self.title)])
            .max()
            .unwrap_or(0);
        let mut dropped = 0;
        let mut names = natural;
        let room = if options.full {
            options.width
        } else {
            options.width.or(Some(PIPE_WIDTH))
        };
        if let Some(width) = room {
            let least = |rank| match rank {
                0..NEEDED => natural.min(NAME_LEAST.max(width * 2 / 5)),
                _ => natural.min(NAME_LEAST),
            };
            while let Some((at, (column, _))) =
                (kept.iter().enumerate()).min_by_key(|(_, (column, _))| column.rank)
                && gutter + least(column.rank) + figures_width(&kept) > width
            {
                kept.remove(at);
                dropped += 1;
            }
        }
        if let Some(width) = options.width {
            names = natural.min(width.saturating_sub(gutter + figures_width(&kept)));
        }
        let drawing = Drawing {
            kept: &kept,
            gutter,
            names,
            color: options.color,
        };
        drawing.headings(&self.title, out);
        for (row, label) in self.labels.iter().enumerate() {
            drawing.row(row, label, out);
        }
        let cells = kept.iter().flat_map(|(column, _)| &column.cells);
        Drawn {
            dropped,
            marks: cells.flatten().map(|number| number.mark).collect(),
        }
    }
}

/// The figures of a row together with the gap before each.
fn figures_width(kept: &[(&GridColumn, ColumnWidths)]) -> usize {
    kept.iter().map(|(_, parts)| GAP + parts.all).sum()
}

/// A grid whose columns are settled.
struct Drawing<'a> {
    kept: &'a [(&'a GridColumn, ColumnWidths)],
    gutter: usize,
    names: usize,
    color: bool,
}

impl Drawing<'_> {
    fn headings(&self, title: &str, out: &mut String) {
        let mut line = " ".repeat(self.gutter);
        let title = words::shorten(title, self.names);
        paint(&mut line, self.color, BOLD, &title);
        pad(&mut line, self.names, words::width(&title));
        for (column, parts) in self.kept {
            pad(&mut line, GAP + parts.all, words::width(&column.heading));
            paint(&mut line, self.color, BOLD, &column.heading);
        }
        end_line(line, out);
    }

    fn row(&self, row: usize, label: &RowLabel, out: &mut String) {
        let mut line = String::new();
        if self.gutter > 0 {
            paint(&mut line, self.color, WARN, label.mark);
            pad(&mut line, self.gutter, words::width(label.mark));
        }
        self.name(label, &mut line);
        if label.continues {
            return end_line(line, out);
        }
        let style = if label.secondary { DIM } else { PLAIN };
        for (column, parts) in self.kept {
            pad(&mut line, GAP, 0);
            self.cell(
                column.cells.get(row).and_then(Option::as_ref),
                *parts,
                style,
                &mut line,
            );
        }
        end_line(line, out);
    }

    fn name(&self, label: &RowLabel, line: &mut String) {
        // However deep a call lies, half of the column is left for its name.
        let mut indent = label.indent.clone();
        if label.width() > self.names && words::width(&indent) > self.names / 2 {
            let room = (self.names / 2).saturating_sub(words::width(ELLIPSIS));
            indent = format!("{ELLIPSIS}{}", words::suffix(&label.indent, room));
        }
        let indent = words::shorten(&indent, self.names);
        let name = label.text(self.names.saturating_sub(words::width(&indent)));
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

    fn cell(
        &self,
        number: Option<&AlignedNumber>,
        parts: ColumnWidths,
        style: Style,
        line: &mut String,
    ) {
        let ColumnWidths {
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
