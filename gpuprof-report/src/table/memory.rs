//! What each function allocated and freed, and what is live of it.

use std::cmp::Reverse;

use super::function_name::{RepeatedNames, UNATTRIBUTED, others_label};
use super::grid::{Grid, RowLabel};
use super::hidden::Hidden;
use super::memory_lines::{explained, losses};
use super::number::total;
use super::options::TableOptions;
#[cfg(feature = "html")]
use super::quantity::Headed;
use super::quantity::{self, Column, MarkedQuantity, Quantity};
use crate::profile::{FunctionMemory, MemoryKind, MemoryTotals, Profile};
use crate::sorting::sort_by;

/// Memory of one kind of a function, or the sum of what a limit cut.
#[derive(Default)]
struct MemoryRow {
    label: RowLabel,
    /// `None` in a sum, since nested functions would count several times.
    inclusive: Option<MemoryTotals>,
    own: Option<FunctionMemory>,
}

impl MemoryRow {
    fn new(name: String, memory: &FunctionMemory) -> Self {
        let name = match memory.kind {
            MemoryKind::Device => name,
            kind => format!("{name} [{kind}]"),
        };
        Self {
            label: RowLabel::named(name),
            inclusive: Some(memory.inclusive),
            own: Some(*memory),
        }
    }

    /// The functions that allocated most first, then those with most that is live.
    fn of_profile(profile: &Profile) -> Vec<Self> {
        let Some(memory) = &profile.memory else {
            return Vec::new();
        };
        let names = RepeatedNames::of(profile);
        let mut rows: Vec<Self> = Vec::new();
        for function in &profile.functions {
            let of_kind = |memory| Self::new(names.shown(function), memory);
            rows.extend(function.memory.iter().map(of_kind));
        }
        let outside = memory.outside.iter();
        rows.extend(outside.map(|memory| Self::new(UNATTRIBUTED.to_owned(), memory)));
        sort_by(&mut rows, |a, b| {
            let key = |row: &Self| {
                let allocated = row.inclusive.map_or(0, |totals| totals.allocated_bytes);
                let live = row.own.map_or(0, |own| own.live_bytes);
                Reverse((allocated, live))
            };
            (key(a), &a.label.name).cmp(&(key(b), &b.label.name))
        });
        rows
    }

    /// All but the first `limit` rows as one.
    fn limited(mut rows: Vec<Self>, limit: usize) -> Vec<Self> {
        let cut = rows.split_off(limit.min(rows.len()));
        if !cut.is_empty() {
            let sum = |field: fn(&FunctionMemory) -> u64| {
                total(cut.iter().filter_map(|row| row.own.as_ref()).map(field))
            };
            let mut own = FunctionMemory::default();
            own.exclusive.allocated_bytes = sum(|own| own.exclusive.allocated_bytes);
            own.live_allocations = sum(|own| own.live_allocations);
            own.live_bytes = sum(|own| own.live_bytes);
            own.peak_growth_bytes = sum(|own| own.peak_growth_bytes);
            rows.push(Self {
                label: RowLabel::secondary("", others_label(cut.len())),
                own: cut.iter().any(|row| row.own.is_some()).then_some(own),
                ..Self::default()
            });
        }
        rows
    }

    fn count(&self, field: fn(&MemoryTotals) -> u64) -> Option<MarkedQuantity> {
        Some(Quantity::Count(field(self.inclusive.as_ref()?)).into())
    }

    fn bytes(&self, field: fn(&MemoryTotals) -> u64) -> Option<MarkedQuantity> {
        Some(Quantity::TotalBytes(field(self.inclusive.as_ref()?)).into())
    }

    fn own(&self, field: fn(&FunctionMemory) -> u64) -> Option<MarkedQuantity> {
        Some(Quantity::Bytes(field(self.own.as_ref()?)).into())
    }

    /// Allocated less freed.
    fn net(&self) -> Option<MarkedQuantity> {
        let totals = self.inclusive.as_ref()?;
        let (more, less) = (totals.allocated_bytes, totals.freed_bytes);
        let net = MarkedQuantity::from(Quantity::TotalBytes(more.abs_diff(less)));
        Some(net.marked(if more < less { "-" } else { "" }))
    }
}

const COLUMNS: &[Column<MemoryRow>] = &[
    ("Allocs", 88, |row| row.count(|of| of.allocations)),
    ("Allocated", 100, |row| row.bytes(|of| of.allocated_bytes)),
    ("Frees", 60, |row| row.count(|of| of.frees)),
    ("Freed", 85, |row| row.bytes(|of| of.freed_bytes)),
    ("Net", 90, MemoryRow::net),
    ("Self", 55, |row| {
        let own = row.own.as_ref()?;
        Some(Quantity::TotalBytes(own.exclusive.allocated_bytes).into())
    }),
    ("Live", 95, |row| row.own(|own| own.live_bytes)),
    ("Live allocs", 50, |row| {
        Some(Quantity::Count(row.own.as_ref()?.live_allocations).into())
    }),
    ("Peak growth", 70, |row| {
        row.own(|own| own.peak_growth_bytes)
    }),
];

/// Writes the table and what its figures are of; nothing unless memory was recorded.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let Some(memory) = &profile.memory else {
        return;
    };
    let rows = MemoryRow::of_profile(profile);
    let losses = losses(memory);
    if rows.is_empty() && losses.is_none() {
        return;
    }
    if !rows.is_empty() {
        let limit = options.activity_limit();
        hidden.rows += rows.len().saturating_sub(limit);
        let rows = MemoryRow::limited(rows, limit);
        let grid = Grid {
            title: "Memory".to_owned(),
            columns: quantity::columns(quantity::values(&rows, COLUMNS)),
            labels: rows.iter().map(|row| row.label.clone()).collect(),
        };
        hidden.columns += grid.draw(options, out).dropped;
        explained().write(out, options.color, options.width, 2);
    }
    if let Some(losses) = losses {
        losses.write(out, options.color, options.width, 2);
    }
    out.push('\n');
}

/// The names of all rows, and their columns.
#[cfg(feature = "html")]
pub(super) fn memory_sections(profile: &Profile) -> (Vec<String>, Vec<Headed>) {
    let rows = MemoryRow::of_profile(profile);
    let columns = quantity::headed(quantity::values(&rows, COLUMNS));
    let names = rows.into_iter().map(|row| row.label.name);
    (names.collect(), columns)
}
