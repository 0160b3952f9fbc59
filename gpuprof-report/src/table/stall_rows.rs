//! Every sampled kernel in the full report: all reasons, source lines and instructions.

use std::collections::HashMap;

use super::grid::{Grid, RowLabel};
use super::hidden::Hidden;
use super::number::total;
use super::options::TableOptions;
use super::quantity::{self, Column, Quantity};
use super::stalls;
use super::words::{BOLD, DIM, Paragraph};
use crate::profile::{KernelStalls, KernelStats, MIN_STALL_SAMPLES, Profile, StallReasonSamples};
use crate::{sanitize, stall_reasons};

/// Characters of the path of a source file that are shown.
const LONGEST_PATH: usize = 400;

/// A kernel, one of its reasons, lines or instructions, or what is not listed.
struct StallRow {
    label: RowLabel,
    samples: u64,
    /// Of so many: those of the kernel, or of the program.
    of: u64,
}

const COLUMNS: &[Column<StallRow>] = &[
    ("Samples", 90, |row| {
        Some(Quantity::Count(row.samples).into())
    }),
    ("Share", 100, |row| {
        let share = row.samples as f64 / row.of.max(1) as f64;
        Some(Quantity::Share(share).into())
    }),
];

/// Writes the table, what helps, and an empty line; nothing unless the report is in full.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let kernels = profile.stalls.iter().flat_map(|stalls| &stalls.kernels);
    let kernels: Vec<&KernelStalls> = kernels.filter(|_| options.full).collect();
    if kernels.is_empty() {
        return;
    }
    let all = total(kernels.iter().map(|kernel| kernel.samples));
    let known: HashMap<&str, &KernelStats> = (profile.kernels.iter())
        .map(|kernel| (&*kernel.name, kernel))
        .collect();
    let rows = kernels.iter().map(|kernel| {
        let stats = known.get(&*kernel.name);
        let full_name = stats.map(|stats| &stats.full_name);
        let name = full_name.filter(|name| !name.is_empty());
        of_kernel(name.unwrap_or(&kernel.name), kernel, all)
    });
    let rows: Vec<StallRow> = rows.flatten().collect();
    let grid = Grid {
        title: "Samples of".to_owned(),
        columns: quantity::columns(quantity::values(&rows, COLUMNS)),
        labels: rows.iter().map(|row| row.label.clone()).collect(),
    };
    hidden.columns += grid.draw(options, out).dropped;
    let shown: Vec<_> = kernels
        .into_iter()
        .filter(|kernel| is_told(kernel))
        .collect();
    let remarks = stalls::remarks(profile, &shown);
    for line in helps(&shown).into_iter().chain(remarks) {
        line.write(out, options.color, options.width, 2);
    }
    out.push('\n');
}

fn is_told(kernel: &KernelStalls) -> bool {
    kernel.samples >= MIN_STALL_SAMPLES
}

/// A kernel, and its parts if it has enough samples.
fn of_kernel(name: &str, kernel: &KernelStalls, all: u64) -> Vec<StallRow> {
    let row = |label, samples| StallRow {
        label,
        samples,
        of: kernel.samples,
    };
    let mut rows = vec![StallRow {
        label: RowLabel::named(sanitize::name(name)),
        samples: kernel.samples,
        of: all,
    }];
    if !is_told(kernel) {
        return rows;
    }
    rows.extend(kernel.reasons.iter().map(|reason| {
        let words = stall_reasons::words(&reason.reason).into_owned();
        row(RowLabel::secondary("  ", words), reason.samples)
    }));
    rows.extend(kernel.lines.iter().map(|line| {
        let file = sanitize::short(&line.file, LONGEST_PATH);
        let label = RowLabel {
            place: format!("{file}:{}", line.line),
            ..RowLabel::secondary("  ", mostly(&line.reasons))
        };
        row(label, line.samples)
    }));
    rows.extend(kernel.instructions.iter().map(|instruction| {
        let label = RowLabel {
            place: format!("+{:#x}", instruction.offset),
            ..RowLabel::secondary("  ", mostly(&instruction.reasons))
        };
        row(label, instruction.samples)
    }));
    let listed = total(kernel.lines.iter().map(|line| line.samples));
    let without = kernel.samples_without_line;
    let others = kernel
        .samples
        .saturating_sub(listed)
        .saturating_sub(without);
    let rest = [(others, "other lines"), (without, "without a source line")];
    let rest = rest.into_iter().filter(|(samples, _)| *samples > 0);
    rows.extend(
        rest.map(|(samples, what)| row(RowLabel::secondary("  ", what.to_owned()), samples)),
    );
    rows
}

/// The most frequent of the reasons, in words.
fn mostly(reasons: &[StallReasonSamples]) -> String {
    let first = reasons.first();
    first.map_or_else(String::new, |reason| {
        stall_reasons::words(&reason.reason).into_owned()
    })
}

/// What makes the longest wait of each kernel shorter, each once.
fn helps(kernels: &[&KernelStalls]) -> Vec<Paragraph> {
    let mut named: Vec<&str> = Vec::new();
    for kernel in kernels {
        let Some(wait) = stall_reasons::waits(&kernel.reasons).next() else {
            continue;
        };
        let reason = &*wait.reason;
        if !named.contains(&reason) && !stall_reasons::helps(reason).is_empty() {
            named.push(reason);
        }
    }
    let lines = named.into_iter().map(|reason| {
        let label = format!("{}:", stall_reasons::words(reason));
        let mut words = Paragraph::new(BOLD, &label);
        words.add(DIM, stall_reasons::helps(reason)).then(".");
        words
    });
    lines.collect()
}
