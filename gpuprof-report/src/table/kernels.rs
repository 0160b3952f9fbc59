//! Kernels and copies under the functions that launched them, below one line per function with its
//! three times.
//!
//! All functions share one grid, so that their figures stand under each other; the lines stand
//! between its rows.

use super::TableOptions;
use super::activities::{Activity, LeftOut, heading, total};
use super::function_name::{RepeatedNames, others};
use super::functions::gpu_total;
use super::grid::{Column, Grid};
use super::number::{self, Number};
use super::qualifiers::ESTIMATED;
use super::row::Figures;
use super::words::{BOLD, DIM, PLAIN, Words};
use crate::profile::{Function, Profile};

/// Before each kernel of a function.
const INDENT: &str = "  ";
/// Columns by which a function's line goes on, deeper than its kernels.
const HANG: usize = 4;

/// A kernel or a kind of copy, and what it is set against.
struct Row<'a> {
    activity: Activity<'a>,
    /// Of the function, ns.
    busy_ns: Option<u64>,
    /// Calls of the function that could launch, and replays of captured ones.
    calls: u64,
}

/// Writes the functions of `shown` that had the GPU do anything, each with its kernels, and one
/// line for those of `cut`.
pub(super) fn write(
    profile: &Profile,
    shown: &[&Function],
    cut: &[&Function],
    options: &TableOptions,
    left_out: &mut LeftOut,
    out: &mut String,
) {
    let shown: Vec<&Function> = shown.iter().copied().filter(|own| has_work(own)).collect();
    let cut: Vec<&Function> = cut.iter().copied().filter(|own| has_work(own)).collect();
    if shown.is_empty() && cut.is_empty() {
        return;
    }
    let names = RepeatedNames::of(profile);
    heading("Kernels inside functions", profile, options, out);
    let rows: Vec<Vec<Row<'_>>> = shown
        .iter()
        .map(|own| rows(own, profile, options.row_limit()))
        .collect();
    let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
    let rows: Vec<Row<'_>> = rows.into_iter().flatten().collect();
    left_out.rows(!cut.is_empty() || rows.iter().any(|row| row.activity.label.secondary));
    let mut drawn = String::new();
    let dropped = grid(&rows).draw(options.width, options.color, &mut drawn);
    // One line per row, after those of the headings.
    let mut lines = drawn.split_inclusive('\n');
    let headings = drawn.matches('\n').count().saturating_sub(rows.len());
    let headings: String = lines.by_ref().take(headings).collect();
    if !rows.is_empty() {
        out.push_str(&headings);
    }
    for (function, own) in shown.iter().zip(lengths) {
        times(function, profile, &names).write(out, options.color, options.width, HANG);
        out.extend(lines.by_ref().take(own));
    }
    if !cut.is_empty() {
        rest(&cut).write(out, options.color, options.width, HANG);
    }
    let several_shapes = rows.iter().any(|row| row.more_shapes() > 0);
    if several_shapes && !dropped.iter().any(|name| name == GRID) {
        shapes().write(out, options.color, options.width, 2);
    }
    left_out.columns(dropped);
    out.push('\n');
}

fn has_work(function: &Function) -> bool {
    let work = &function.activity;
    work.activities > 0 || !work.kernels.is_empty() || !work.copies.is_empty()
}

fn rows<'a>(function: &'a Function, profile: &Profile, limit: usize) -> Vec<Row<'a>> {
    let work = &function.activity;
    let calls = function.calls.saturating_sub(function.captured_calls);
    let calls = calls.saturating_add(replays(function, profile));
    let own = Activity::rows(&work.kernels, &work.copies, INDENT, limit);
    let row = |activity| Row {
        activity,
        busy_ns: work.busy_ns,
        calls,
    };
    own.into_iter().map(row).collect()
}

/// Replays of the function's captured calls.
fn replays(function: &Function, profile: &Profile) -> u64 {
    let mut functions = profile.functions.iter();
    let index = functions.position(|one| std::ptr::eq(one, function));
    let own = (profile.tree.iter())
        .filter(|node| index.is_some() && node.function.map(|at| at as usize) == index);
    own.filter_map(|node| node.captured.as_ref())
        .map(|captured| captured.replays)
        .sum()
}

/// The function's three times, which docs/cupti.md explains.
fn times(function: &Function, profile: &Profile, names: &RepeatedNames<'_>) -> Words {
    let figures = Figures::of_function(function, &profile.devices);
    let work = &function.activity;
    let text = |number: Option<Number>| number.map_or_else(|| "–".to_owned(), |n| n.text());
    let mut parts = vec![
        format!("GPU span {}", text(gpu_total(&figures, 0))),
        format!("GPU busy {}", text(work.busy_ns.map(number::duration))),
        format!("CPU {}", text(figures.cpu_total.map(number::duration))),
    ];
    if let Some(idle) = work.idle_ns {
        let mark = match figures.doubt.estimated {
            true => ESTIMATED,
            false => "",
        };
        let share = figures
            .gpu_total
            .and_then(|span| number::percent(idle as f64 / span as f64));
        let share = share.map_or_else(String::new, |share| format!(" ({} %)", share.text()));
        let idle = number::duration(idle).marked(mark).text();
        parts.push(format!("idle in span {idle}{share}"));
    }
    let per_call = work.launches as f64 / work.busy_calls as f64;
    if let Some(launches) = number::rate(per_call, 1.0).filter(|_| work.launches > 0) {
        parts.push(format!("kernels per call {}", launches.text()));
    }
    let mut words = Words::default();
    words.add_one(BOLD, names.shown(function)).then(":");
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            words.then(" ·");
        }
        words.add_one(PLAIN, part);
    }
    words
}

/// What the functions that the limit cut launched themselves.
fn rest(cut: &[&Function]) -> Words {
    let all = || {
        cut.iter().flat_map(|function| {
            let kernels = function.activity.kernels.iter().map(|kernel| &kernel.times);
            kernels.chain(function.activity.copies.iter().map(|copies| &copies.times))
        })
    };
    let calls = number::count(total(all().map(|times| times.calls))).text();
    let time = number::duration(total(all().map(|times| times.total_ns))).text();
    let mut words = Words::default();
    words.add_one(DIM, others(cut.len())).then(":");
    words.add(DIM, &format!("{calls} kernels, copies and memsets,"));
    words.add_one(DIM, time);
    words
}

fn shapes() -> Words {
    let mut words = Words::default();
    words.add(
        DIM,
        "+N in the column grid: launched in N other shapes as well; what is shown is of \
                    the one that took most time",
    );
    words
}

impl Row<'_> {
    fn more_shapes(&self) -> u32 {
        self.activity
            .kernel
            .map_or(0, |kernel| kernel.shapes.saturating_sub(1))
    }

    /// Blocks, with the number of other launch shapes.
    fn grid(&self) -> Option<Number> {
        let more = match self.more_shapes() {
            0 => String::new(),
            more => format!(" +{more}"),
        };
        Some(Number {
            whole: dimensions(self.activity.kernel?.grid),
            fraction: more,
            ..Number::default()
        })
    }

    fn block(&self) -> Option<Number> {
        Some(Number {
            whole: dimensions(self.activity.kernel?.block),
            ..Number::default()
        })
    }

    fn latency(&self) -> Option<Number> {
        let latency = &self.activity.kernel?.launch_latency;
        (latency.calls > 0).then(|| number::duration(latency.p50_ns))
    }

    fn occupancy(&self) -> Option<Number> {
        let share = number::percent(self.activity.kernel?.occupancy?)?;
        Some(share.with_unit("%"))
    }
}

/// `x×y×z` without the ones at its end.
fn dimensions([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0..=1, 0..=1) => x.to_string(),
        (y, 0..=1) => format!("{x}×{y}"),
        (y, z) => format!("{x}×{y}×{z}"),
    }
}

/// Group, heading, rank (the smallest is dropped first) and the cell made of a row.
type Spec = (
    &'static str,
    &'static str,
    u8,
    fn(&Row<'_>) -> Option<Number>,
);

/// The heading that [`shapes`] is about.
const GRID: &str = "grid";

const COLUMNS: [Spec; 14] = [
    ("", "calls", 90, |row| {
        Some(number::count(row.activity.calls))
    }),
    ("", "per call", 55, |row| {
        number::rate(row.activity.calls as f64 / row.calls as f64, 1.0)
    }),
    ("", "time", 100, |row| {
        Some(number::duration(row.activity.total_ns))
    }),
    ("", "% busy", 95, |row| {
        number::percent(row.activity.total_ns as f64 / row.busy_ns? as f64)
    }),
    ("", "avg", 85, |row| {
        row.activity.time(|times| times.mean_ns)
    }),
    ("", "p50", 40, |row| row.activity.time(|times| times.p50_ns)),
    ("", "min", 35, |row| row.activity.time(|times| times.min_ns)),
    ("", "max", 50, |row| row.activity.time(|times| times.max_ns)),
    ("launch", "latency", 70, |row| row.latency()),
    ("launch", "occupancy", 80, |row| row.occupancy()),
    ("launch", GRID, 65, |row| row.grid()),
    ("launch", "block", 60, |row| row.block()),
    ("copy", "bytes", 45, |row| row.activity.bytes()),
    ("copy", "GB/s", 75, |row| row.activity.rate()),
];

fn grid(rows: &[Row<'_>]) -> Grid {
    let columns = COLUMNS.iter().map(|(group, heading, rank, cell)| Column {
        group,
        heading,
        rank: *rank,
        sorted: *heading == "time",
        cells: rows.iter().map(cell).collect(),
    });
    Grid {
        title: "kernel or copy".into(),
        columns: columns.collect(),
        labels: rows.iter().map(|row| row.activity.label.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CapturedRuns, KernelStats, TreeNode};

    #[test]
    fn kernels_per_call_count_replays_as_calls() {
        let mut function = Function {
            calls: 40,
            captured_calls: 20,
            ..Function::default()
        };
        function.activity.kernels = vec![KernelStats::default()];
        let replayed = TreeNode {
            function: Some(0),
            captured: Some(CapturedRuns {
                replays: 400,
                ..CapturedRuns::default()
            }),
            ..TreeNode::default()
        };
        let mut profile = Profile {
            functions: vec![function],
            ..Profile::default()
        };
        let calls = |profile: &Profile| rows(&profile.functions[0], profile, 10)[0].calls;
        assert_eq!(calls(&profile), 20);
        profile.tree = vec![replayed];
        assert_eq!(calls(&profile), 420);
    }

    #[test]
    fn dimensions_leave_out_the_ones_at_the_end() {
        for (shape, text) in [
            ([4_096, 1, 1], "4096"),
            ([64, 32, 1], "64×32"),
            ([1, 1, 8], "1×1×8"),
            ([0, 0, 0], "0"),
        ] {
            assert_eq!(dimensions(shape), text);
        }
    }
}
