//! The table: one row per function that ran, and below it what the kernel tier saw.

use std::io::{self, Write};

use super::activities::LeftOut;
use super::function_name::{RepeatedNames, others};
use super::grid::{Column, Grid, Label};
use super::legend::{self, Marks};
use super::number::{self, Number};
use super::qualifiers::{self, Doubt, RowMark};
use super::row::{self, Figures, Limit};
use super::words::{DIM, Words};
use super::{
    Sort, TableOptions, activities, commands, diagnostics, findings, header, kernels, label_rows,
};
use crate::profile::{Function, Profile};

/// Writes the table with its header and trust lines, in one piece; nothing where no call was
/// counted.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let functions = row::sorted(profile, options.sort);
    if functions.is_empty() {
        return Ok(());
    }
    let limit = options.row_limit().min(functions.len());
    let (shown, cut) = functions.split_at(limit);
    let names = RepeatedNames::of(profile);
    let mut rows = Rows {
        all_self: row::gpu_self_of_all(profile),
        ..Rows::default()
    };
    for function in shown {
        rows.function(function, profile, &names, options);
    }
    if !cut.is_empty() {
        rows.push(
            Label {
                name: others(cut.len()),
                secondary: true,
                ..Label::default()
            },
            Figures::of_others(cut.iter().copied()),
        );
    }
    let marks = rows.marks;
    let mut text = String::from("\n");
    header::write(profile, options.width, options.color, &mut text);
    text.push('\n');
    let dropped = rows
        .grid(options.sort)
        .draw(options.width, options.color, &mut text);
    text.push('\n');
    let mut labels = shown.iter().map(|function| function.labels.len());
    let is_cut = !cut.is_empty() || labels.any(|labels| labels > options.row_limit());
    hints(&dropped, is_cut, options, &mut text);
    diagnostics::write(profile, marks, options, &mut text);
    if let Some(cupti) = &profile.cupti {
        text.push('\n');
        let mut left_out = LeftOut::default();
        activities::write(profile, options, &mut left_out, &mut text);
        kernels::write(profile, shown, cut, options, &mut left_out, &mut text);
        left_out.write(!cut.is_empty(), options, &mut text);
        findings::write(profile, options, &mut text);
        commands::write(profile, options, &mut text);
        findings::foot(cupti, options, &mut text);
    }
    out.write_all(text.as_bytes())
}

/// What the table leaves out and how to see it.
pub(super) fn hints(dropped: &[String], cut: bool, options: &TableOptions, out: &mut String) {
    let mut words = Words::default();
    if !dropped.is_empty() {
        words.add(DIM, "No room for");
        for (at, name) in dropped.iter().rev().enumerate() {
            if at > 0 {
                words.then(",");
            }
            words.add_one(DIM, name);
        }
        words.then(":").add(DIM, "widen the terminal, or 2>file.");
    }
    if cut {
        words.add(DIM, "All rows: GPUPROF_LIMIT=0, or limit(0) of a session.");
    }
    if !dropped.is_empty() || cut {
        words.write(out, options.color, options.width, 2);
    }
}

/// The rows gathered so far.
#[derive(Default)]
struct Rows {
    all_self: u64,
    labels: Vec<Label>,
    figures: Vec<Figures>,
    marks: Marks,
}

impl Rows {
    fn push(&mut self, label: Label, figures: Figures) {
        self.marks.doubt = self.marks.doubt.and(figures.doubt);
        self.marks.inside |= figures.gpu_inside.is_some();
        self.labels.push(label);
        self.figures.push(figures);
    }

    /// A function, and below it each device that timed it if there are several, and each label.
    fn function(
        &mut self,
        function: &Function,
        profile: &Profile,
        names: &RepeatedNames<'_>,
        options: &TableOptions,
    ) {
        let mark = RowMark::of(function, profile);
        self.marks.add_row(mark);
        let name = names.shown(function);
        self.push(
            Label {
                mark: mark.map_or("", RowMark::text),
                name,
                ..Label::default()
            },
            Figures::of_function(function, &profile.devices),
        );
        let several = Some(&function.gpu_by_device).filter(|devices| devices.len() > 1);
        let devices = several.into_iter().flatten().map(|part| {
            let name = part
                .device
                .map_or_else(String::new, |ordinal| format!("GPU {ordinal}"));
            let figures = Figures::of_device(part, Doubt::of(function), &profile.devices);
            (name, figures)
        });
        let labels = label_rows::rows(function, options.sort, options.row_limit());
        let mut parts = devices.chain(labels).peekable();
        while let Some((name, figures)) = parts.next() {
            let is_last = parts.peek().is_none();
            let label = Label {
                mark: "",
                indent: if is_last { "└─ " } else { "├─ " }.into(),
                name,
                secondary: true,
            };
            self.push(label, figures);
        }
    }

    fn grid(self, sort: Sort) -> Grid {
        let sorted_by = match sort {
            Sort::Gpu => ("GPU", "self"),
            Sort::Cpu => ("CPU", "self"),
            Sort::Calls => ("", "calls"),
            Sort::Max => ("GPU", "max"),
            Sort::Name => ("", ""),
        };
        let columns = COLUMNS.iter().map(|(group, heading, rank, cell)| {
            let sorted = (*group, *heading) == sorted_by;
            let cells = self
                .figures
                .iter()
                .map(|figures| cell(figures, self.all_self))
                .collect();
            // What the rows are ordered by stays in sight.
            Column {
                group,
                heading,
                rank: if sorted { u8::MAX } else { *rank },
                sorted,
                cells,
            }
        });
        let title = if sort == Sort::Name {
            "function ↓"
        } else {
            "function"
        };
        Grid {
            title: title.into(),
            columns: columns.collect(),
            labels: self.labels,
        }
    }
}

/// Group, heading, rank (the smallest is dropped first) and the cell made of a row and the GPU self
/// time of all.
type Spec = (
    &'static str,
    &'static str,
    u8,
    fn(&Figures, u64) -> Option<Number>,
);

const COLUMNS: [Spec; 18] = [
    ("", "calls", 90, |row, _| Some(number::count(row.calls))),
    // A column without a figure is not drawn.
    ("open", "calls", 82, |row, _| {
        row.open_calls.map(number::count)
    }),
    ("open", "so far", 83, |row, _| {
        row.open_ns.map(number::duration)
    }),
    ("GPU", "self", 100, |row, _| {
        row.gpu_self.map(|ns| own(ns, row.doubt))
    }),
    ("GPU", "%", 95, |row, all| {
        number::percent(row.gpu_self? as f64 / all as f64)
    }),
    ("GPU", "total", 80, gpu_total),
    // Only with the kernel tier.
    ("GPU", "busy", 78, |row, _| {
        row.gpu_busy.map(number::duration)
    }),
    ("GPU", "avg", 85, |row, _| row.gpu_avg.map(number::duration)),
    ("GPU", "p50", 40, |row, _| row.gpu_p50.map(number::duration)),
    ("GPU", "p95", 50, |row, _| row.gpu_p95.map(number::duration)),
    ("GPU", "max", 65, |row, _| row.gpu_max.map(number::duration)),
    ("CPU", "total", 70, |row, _| {
        row.cpu_total.map(number::duration)
    }),
    ("CPU", "self", 55, |row, _| {
        row.cpu_self.map(number::duration)
    }),
    ("CPU", "avg", 30, |row, _| row.cpu_avg.map(number::duration)),
    ("work", "GB/s", 60, |row, _| {
        number::rate(row.bytes_per_s?, 1e9)
    }),
    ("work", "TFLOP/s", 45, |row, _| {
        number::rate(row.flops_per_s?, 1e12)
    }),
    ("work", "items/s", 35, |row, _| {
        number::prefixed_rate(row.items_per_s?)
    }),
    ("work", "% peak", 75, peak),
];

/// The GPU span, or the sum of those inside, with its mark.
pub(super) fn gpu_total(row: &Figures, _: u64) -> Option<Number> {
    match (row.gpu_total, row.gpu_inside) {
        (Some(ns), _) => Some(sum(ns, row.doubt)),
        (None, within) => within.map(|ns| inside(ns, row.doubt)),
    }
}

/// The share of the peak, with the peak it is of in the place of a unit.
fn peak(row: &Figures, _: u64) -> Option<Number> {
    let (share, limit) = row.peak?;
    let unit = match limit {
        Limit::Memory => "mem",
        Limit::Arithmetic => "f32",
    };
    number::percent(share).map(|number| number.with_unit(unit))
}

/// A GPU self time with its mark.
pub(super) fn own(ns: u64, doubt: Doubt) -> Number {
    number::duration(ns).marked(doubt.own_mark())
}

/// The sum of what is inside, with its mark.
pub(super) fn inside(ns: u64, doubt: Doubt) -> Number {
    number::duration(ns).marked(match doubt.own_mark() {
        qualifiers::OVERLAPPING => legend::INSIDE_OVERLAPPING,
        qualifiers::ESTIMATED => legend::INSIDE_ESTIMATED,
        qualifiers::PARTIAL => legend::INSIDE_PARTIAL,
        qualifiers::DIVIDED => legend::INSIDE_DIVIDED,
        _ => legend::INSIDE,
    })
}

/// A GPU sum with its mark.
pub(super) fn sum(ns: u64, doubt: Doubt) -> Number {
    number::duration(ns).marked(doubt.mark())
}
