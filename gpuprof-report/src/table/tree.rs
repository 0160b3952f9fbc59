//! The call tree: one row per chain of callers.

use std::io::{self, Write};

use super::functions::{hints, inside, own, sum};
use super::grid::{Column, Grid};
use super::legend::Marks;
use super::number::{self, Number};
use super::tree_rows::{Row, Tree};
use super::{Sort, TableOptions, diagnostics, header, row};
use crate::profile::{Profile, TreeNode};

/// Writes the call tree with its header and trust lines, in one piece; nothing where no call was
/// counted.
///
/// Of each node, `%` is its GPU total, without the parts of other threads and tasks in it, over the
/// GPU self time of the whole program. With a limit the largest subtrees stay, and the callees cut
/// from one node are summed in one row.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    let ran = |node: &TreeNode| node.has_run() || node.captured.is_some();
    if !profile.tree.iter().any(ran) {
        return Ok(());
    }
    let tree = Tree::new(profile, options);
    let rows = tree.rows(profile);
    let cut = rows.iter().any(|row| row.label.secondary);
    let mut marks = Marks::default();
    for row in &rows {
        marks.add_row(row.mark);
        marks.doubt = marks.doubt.and(row.doubt);
        marks.inside |= row.gpu_total.is_none() && row.gpu_inside > 0;
    }
    let mut text = String::from("\n");
    header::write(profile, options.width, options.color, &mut text);
    text.push('\n');
    let dropped = grid(rows, row::gpu_self_of_all(profile), options.sort).draw(
        options.width,
        options.color,
        &mut text,
    );
    text.push('\n');
    hints(&dropped, cut, options, &mut text);
    diagnostics::write(profile, marks, options, &mut text);
    out.write_all(text.as_bytes())
}

/// Group, heading, rank (the smallest is dropped first) and the cell made of a row and the GPU self
/// time of all.
type Spec = (
    &'static str,
    &'static str,
    u8,
    fn(&Row, u64) -> Option<Number>,
);

const COLUMNS: [Spec; 8] = [
    ("", "calls", 90, |row, _| Some(number::count(row.calls))),
    ("open", "calls", 82, |row, _| {
        row.open.map(|(calls, _)| number::count(calls))
    }),
    ("open", "so far", 83, |row, _| {
        row.open.map(|(_, ns)| number::duration(ns))
    }),
    ("GPU", "total", 100, gpu_total),
    ("GPU", "%", 95, |row, all| {
        number::percent(row.gpu_share? as f64 / all as f64)
    }),
    ("GPU", "self", 80, |row, _| {
        row.gpu_self.map(|ns| own(ns, row.doubt))
    }),
    ("CPU", "total", 85, |row, _| {
        row.cpu_total.map(number::duration)
    }),
    ("CPU", "self", 75, |row, _| {
        row.cpu_self.map(number::duration)
    }),
];

fn gpu_total(row: &Row, _: u64) -> Option<Number> {
    match row.gpu_total {
        Some(ns) => Some(sum(ns, row.doubt)),
        None => (row.gpu_inside > 0).then(|| inside(row.gpu_inside, row.doubt)),
    }
}

fn grid(rows: Vec<Row>, all_self: u64, sort: Sort) -> Grid {
    let sorted_by = match sort {
        Sort::Gpu => ("GPU", "total"),
        Sort::Cpu => ("CPU", "total"),
        Sort::Calls => ("", "calls"),
        Sort::Max | Sort::Name => ("", ""),
    };
    let columns = COLUMNS.iter().map(|(group, heading, rank, cell)| {
        let sorted = (*group, *heading) == sorted_by;
        let cells = rows.iter().map(|row| cell(row, all_self)).collect();
        Column {
            group,
            heading,
            rank: if sorted { u8::MAX } else { *rank },
            sorted,
            cells,
        }
    });
    let columns = columns.collect();
    let title = if sort == Sort::Name {
        "call tree ↓"
    } else {
        "call tree"
    };
    Grid {
        title: title.into(),
        columns,
        labels: rows.into_iter().map(|row| row.label).collect(),
    }
}
