//! The ranks of a merged profile that were late in a part of the run.

use super::columns;
use super::grid::{Grid, RowLabel};
use super::hidden::Hidden;
use super::options::TableOptions;
use super::quantity::{self, Column, Quantity};
use super::ranks::process;
use crate::profile::{LateSteps, Profile};

const COLUMNS: &[Column<LateSteps>] = &[
    ("Steps", 100, |part| {
        let text = format!("{} to {}", part.first_step, part.last_step());
        Some(Quantity::Text(text).into())
    }),
    ("Wait/step", 95, |part| {
        columns::ns(Some(part.ns_per_step()))
    }),
    ("Wait", 90, |part| columns::ns(Some(part.late_ns))),
];

/// Writes the section; nothing if no rank was.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let limit = options.activity_limit();
    let late = profile.ranks.iter().flat_map(|ranks| &ranks.late_steps);
    hidden.rows += late.clone().count().saturating_sub(limit);
    let parts: Vec<&LateSteps> = late.take(limit).collect();
    if parts.is_empty() {
        return;
    }
    let labels = parts.iter().map(|part| {
        let process = process(part.process.rank, &part.process.host, part.process.pid);
        RowLabel::named(process)
    });
    let grid = Grid {
        title: "Late in some steps".to_owned(),
        columns: quantity::columns(quantity::values(parts.iter().copied(), COLUMNS)),
        labels: labels.collect(),
    };
    hidden.columns += grid.draw(options, out).dropped;
    out.push('\n');
}
