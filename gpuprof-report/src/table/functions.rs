//! The functions, each over all its call paths, with the statistics of their calls: part of the
//! full report, and the whole table of a profile without a call tree.

use super::columns::{self, FUNCTION_COLUMNS, Wholes};
use super::function_name::{RepeatedNames, others_label};
use super::grid::RowLabel;
use super::hidden::Hidden;
use super::label_rows;
use super::legend::Marks;
use super::options::TableOptions;
use super::peak;
use super::qualifiers::{Doubt, RowMark};
use super::row::{self, Figures};
use crate::profile::{Function, Profile};

/// Writes the functions that ran and returns the marks that were drawn.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) -> Marks {
    let functions = row::sorted(profile, options.sort);
    let limit = options.row_limit().min(functions.len());
    let (shown, cut) = functions.split_at(limit);
    let names = RepeatedNames::of(profile);
    let mut rows = FunctionRows::default();
    for function in shown {
        rows.function(function, profile, &names, options);
    }
    if !cut.is_empty() {
        hidden.rows += cut.len();
        rows.push(
            RowLabel::secondary("", others_label(cut.len())),
            Figures::of_others(cut.iter().copied()),
        );
    }
    let mut marks = rows.marks;
    let grid = columns::grid(
        "Function, all paths",
        rows.rows,
        FUNCTION_COLUMNS,
        Wholes::default(),
    );
    let drawn = grid.draw(options, out);
    hidden.columns += drawn.dropped;
    marks.add_drawn(&drawn.marks);
    out.push('\n');
    marks
}

/// The rows gathered so far.
#[derive(Default)]
struct FunctionRows {
    rows: Vec<(RowLabel, Figures)>,
    marks: Marks,
}

impl FunctionRows {
    fn push(&mut self, label: RowLabel, figures: Figures) {
        self.rows.push((label, figures));
    }

    /// A function, and below it each device that timed it if there are several, and each label.
    fn function(
        &mut self,
        function: &Function,
        profile: &Profile,
        names: &RepeatedNames<'_>,
        options: &TableOptions,
    ) {
        let mean_ns = function.gpu.as_ref().map(|gpu| gpu.times.mean_ns);
        let mark = RowMark::of(function, mean_ns, profile);
        self.marks.add_row(mark);
        let name = names.shown(function);
        self.push(
            RowLabel {
                mark: mark.map_or("", RowMark::text),
                name,
                ..RowLabel::default()
            },
            Figures::of_function(function, &profile.devices),
        );
        let several = Some(&function.gpu_by_device).filter(|devices| devices.len() > 1);
        let devices = several.into_iter().flatten().map(|part| {
            let name = part
                .device
                .map_or_else(String::new, |ordinal| format!("GPU {ordinal}"));
            let devices = &profile.devices;
            let mut figures =
                Figures::of_device(part, Doubt::of(function), devices, function.precision);
            let parts = std::slice::from_ref(part);
            figures.peak = peak::shown(figures.peak, function, parts, devices);
            (name, figures)
        });
        let labels = label_rows::rows(function, options.sort, options.row_limit());
        let mut parts = devices.chain(labels).peekable();
        while let Some((name, figures)) = parts.next() {
            let is_last = parts.peek().is_none();
            let indent = if is_last { "└─ " } else { "├─ " };
            self.push(RowLabel::secondary(indent, name), figures);
        }
    }
}
