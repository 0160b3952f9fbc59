//! The call tree with the kernels under their functions: the main table of a report.

use super::columns::{self, BUSY_COLUMNS, SPAN_COLUMNS};
use super::function_name::UNATTRIBUTED;
use super::grid::RowLabel;
use super::header;
use super::hidden::Hidden;
use super::legend::Marks;
use super::options::TableOptions;
use super::row::Figures;
use super::tree_rows::{SortedTree, TreeRow};
use crate::profile::Profile;

/// Writes the tree and returns the marks that were drawn.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) -> Marks {
    let tree = SortedTree::new(profile, options);
    hidden.rows += tree.cut_rows();
    let mut rows = tree.rows();
    let mut marks = Marks::default();
    for row in &rows {
        marks.add_row(row.mark);
    }
    rows.extend(unattributed(profile));
    let (title, specs) = match profile.cupti {
        Some(_) => ("Function / kernel", BUSY_COLUMNS),
        None => ("Function", SPAN_COLUMNS),
    };
    let rows: Vec<(RowLabel, Figures)> = rows
        .into_iter()
        .map(|row| (row.label, row.figures))
        .collect();
    let grid = columns::grid(title, rows, specs, header::wholes(profile));
    let drawn = grid.draw(options, out);
    hidden.columns += drawn.dropped;
    marks.add_drawn(&drawn.marks);
    out.push('\n');
    marks
}

pub(super) fn unattributed(profile: &Profile) -> Option<TreeRow> {
    let cupti = profile
        .cupti
        .as_ref()
        .filter(|cupti| cupti.unattributed > 0)?;
    Some(TreeRow {
        label: RowLabel::secondary("", UNATTRIBUTED.to_owned()),
        figures: Figures::of_activity(cupti.unattributed, cupti.unattributed_ns),
        mark: None,
    })
}
