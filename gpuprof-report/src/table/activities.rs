//! What the GPU ran and what CUDA calls took, over the whole program: the two tables that nvprof's
//! users know.
//!
//! The rows of the first are made here for the whole program and, in `kernels`, for each function.

use std::cmp::Reverse;

use super::TableOptions;
use super::function_name::others;
use super::functions::hints;
use super::grid::{Column, Grid, Label};
use super::number::{self, Number};
use super::words::{BOLD, DIM, LOUD, Words};
use crate::profile::{ApiStats, CopyKind, CopyStats, DurationStats, KernelStats, Profile};
use crate::sanitize;

/// What the grids below the function table left out: said once for all of them.
#[derive(Default)]
pub(super) struct LeftOut {
    columns: Vec<String>,
    rows: bool,
}

impl LeftOut {
    /// Adds the names of columns, each once.
    pub(super) fn columns(&mut self, dropped: Vec<String>) {
        for name in dropped {
            if !self.columns.contains(&name) {
                self.columns.push(name);
            }
        }
    }

    /// A limit cut rows.
    pub(super) fn rows(&mut self, cut: bool) {
        self.rows |= cut;
    }

    /// Says how to see it. `said` is whether the function table has told already how to see rows.
    pub(super) fn write(&self, said: bool, options: &TableOptions, out: &mut String) {
        hints(&self.columns, self.rows && !said, options, out);
        if !self.columns.is_empty() || (self.rows && !said) {
            out.push('\n');
        }
    }
}

/// A heading over a table, with the words that stand over everything of a simulated device.
pub(super) fn heading(title: &str, profile: &Profile, options: &TableOptions, out: &mut String) {
    title_words(title, profile).write(out, options.color, options.width, 2);
}

fn title_words(title: &str, profile: &Profile) -> Words {
    let mut words = Words::default();
    words.add(BOLD, title);
    if profile.devices.iter().any(|device| device.simulated) {
        words.then(" ·").add_one(LOUD, "simulated device");
    }
    words
}

/// The heading over the API calls, with what is not among them.
fn api_heading(profile: &Profile, options: &TableOptions, out: &mut String) {
    let mut words = title_words("API calls", profile);
    if profile.cupti.as_ref().is_some_and(|cupti| !cupti.all_calls) {
        words.then(" ·").add(
            DIM,
            "GPUPROF_CUPTI=full adds allocations, frees and look-ups of kernels",
        );
    }
    words.write(out, options.color, options.width, 2);
}

/// One row: a kernel, a kind of copy, or the sum of what a limit cut.
#[derive(Default)]
pub(super) struct Activity<'a> {
    pub(super) label: Label,
    pub(super) calls: u64,
    pub(super) total_ns: u64,
    /// `None` in a sum, as all that depends on one activity.
    pub(super) times: Option<&'a DurationStats>,
    pub(super) kernel: Option<&'a KernelStats>,
    pub(super) copies: Option<&'a CopyStats>,
}

impl<'a> Activity<'a> {
    fn new(name: String, times: &'a DurationStats) -> Self {
        Self {
            label: Label {
                name,
                ..Label::default()
            },
            calls: times.calls,
            total_ns: times.total_ns,
            times: Some(times),
            ..Self::default()
        }
    }

    /// Kernels, copies and memsets, those of the most time first; past `limit` they are summed in
    /// one row.
    pub(super) fn rows(
        kernels: &'a [KernelStats],
        copies: &'a [CopyStats],
        indent: &str,
        limit: usize,
    ) -> Vec<Self> {
        let devices = kernels.iter().map(|kernel| kernel.device);
        let devices: Vec<u32> = devices
            .chain(copies.iter().map(|copy| copy.device))
            .collect();
        let several = devices.windows(2).any(|pair| pair.first() != pair.last());
        let name = |text: &str, device: u32| match several {
            true => format!("GPU {device}: {text}"),
            false => text.to_owned(),
        };
        let kernels = kernels.iter().map(|kernel| Self {
            kernel: Some(kernel),
            ..Self::new(
                name(&sanitize::name(&kernel.name), kernel.device),
                &kernel.times,
            )
        });
        let copies = copies.iter().map(|copies| Self {
            copies: Some(copies),
            ..Self::new(name(&copy_name(copies.kind), copies.device), &copies.times)
        });
        let mut rows: Vec<Self> = kernels.chain(copies).collect();
        rows.sort_by(|a, b| {
            let key = |row: &Self| (Reverse(row.total_ns), Reverse(row.calls));
            key(a)
                .cmp(&key(b))
                .then_with(|| a.label.name.cmp(&b.label.name))
        });
        let cut = rows.split_off(limit.min(rows.len()));
        if !cut.is_empty() {
            rows.push(Self::sum(&cut));
        }
        for row in &mut rows {
            indent.clone_into(&mut row.label.indent);
        }
        rows
    }

    fn sum(cut: &[Self]) -> Self {
        Self {
            label: Label {
                name: others(cut.len()),
                secondary: true,
                ..Label::default()
            },
            calls: total(cut.iter().map(|row| row.calls)),
            total_ns: total(cut.iter().map(|row| row.total_ns)),
            ..Self::default()
        }
    }

    fn of_call(call: &'a ApiStats) -> Self {
        Self::new(sanitize::name(&call.name).into_owned(), &call.times)
    }

    /// One of the durations, where the row is of one thing.
    pub(super) fn time(&self, which: fn(&DurationStats) -> u64) -> Option<Number> {
        self.times.map(|times| number::duration(which(times)))
    }

    /// Bytes of a copy.
    pub(super) fn bytes(&self) -> Option<Number> {
        self.copies.map(|copies| number::bytes(copies.bytes))
    }

    /// GB/s of a copy.
    pub(super) fn rate(&self) -> Option<Number> {
        let copies = self.copies?;
        let seconds = copies.times.total_ns as f64 / 1e9;
        number::rate(copies.bytes as f64 / seconds, 1e9)
    }
}

/// As nvprof wrote it, so that no kernel can bear the same name.
fn copy_name(kind: CopyKind) -> String {
    match kind {
        CopyKind::Memset => "[CUDA memset]".to_owned(),
        kind => format!("[CUDA memcpy {kind}]"),
    }
}

/// A sum that stays at the largest number.
pub(super) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Heading, rank (the smallest is dropped first) and the cell made of a row and the time of all.
type Spec = (&'static str, u8, fn(&Activity<'_>, u64) -> Option<Number>);

const COLUMNS: [Spec; 9] = [
    ("time %", 95, |row, all| {
        number::percent(row.total_ns as f64 / all as f64)
    }),
    ("time", 100, |row, _| Some(number::duration(row.total_ns))),
    ("calls", 90, |row, _| Some(number::count(row.calls))),
    ("avg", 85, |row, _| row.time(|times| times.mean_ns)),
    ("p50", 68, |row, _| row.time(|times| times.p50_ns)),
    ("min", 60, |row, _| row.time(|times| times.min_ns)),
    ("max", 70, |row, _| row.time(|times| times.max_ns)),
    ("bytes", 75, |row, _| row.bytes()),
    ("GB/s", 80, |row, _| row.rate()),
];

/// Writes both tables; one that has no row is left out.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    left_out: &mut LeftOut,
    out: &mut String,
) {
    let rows = Activity::rows(&profile.kernels, &profile.copies, "", options.row_limit());
    if !rows.is_empty() {
        heading("GPU activities", profile, options, out);
        draw(rows, "kernel or copy", None, options, left_out, out);
    }
    let mut calls: Vec<&ApiStats> = profile.api.iter().collect();
    calls.sort_by_key(|call| Reverse((call.times.total_ns, call.times.calls)));
    let limit = options.row_limit().min(calls.len());
    let (shown, cut) = calls.split_at(limit);
    let mut rows: Vec<Activity<'_>> = shown.iter().map(|call| Activity::of_call(call)).collect();
    let mut failed: Vec<u64> = shown.iter().map(|call| call.failed).collect();
    if !cut.is_empty() {
        let cut_rows: Vec<Activity<'_>> = cut.iter().map(|call| Activity::of_call(call)).collect();
        rows.push(Activity::sum(&cut_rows));
        failed.push(total(cut.iter().map(|call| call.failed)));
    }
    if !rows.is_empty() {
        api_heading(profile, options, out);
        let failed = failed
            .into_iter()
            .map(|failed| (failed > 0).then(|| number::count(failed)));
        draw(
            rows,
            "CUDA call",
            Some(failed.collect()),
            options,
            left_out,
            out,
        );
    }
}

/// Draws `rows`, with a column of failed calls where there is one, and an empty line after it.
fn draw(
    rows: Vec<Activity<'_>>,
    title: &str,
    failed: Option<Vec<Option<Number>>>,
    options: &TableOptions,
    left_out: &mut LeftOut,
    out: &mut String,
) {
    let all = total(rows.iter().map(|row| row.total_ns));
    let columns = COLUMNS.iter().map(|(heading, rank, cell)| Column {
        group: "",
        heading,
        rank: *rank,
        sorted: *heading == "time",
        cells: rows.iter().map(|row| cell(row, all)).collect(),
    });
    let failed = failed.map(|cells| Column {
        group: "",
        heading: "failed",
        // What went wrong stays in sight.
        rank: u8::MAX,
        sorted: false,
        cells,
    });
    left_out.rows(rows.iter().any(|row| row.label.secondary));
    let grid = Grid {
        title: title.into(),
        columns: columns.chain(failed).collect(),
        labels: rows.into_iter().map(|row| row.label).collect(),
    };
    left_out.columns(grid.draw(options.width, options.color, out));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, device: u32, total_ns: u64) -> KernelStats {
        KernelStats {
            name: name.into(),
            device,
            times: DurationStats {
                calls: 2,
                total_ns,
                ..DurationStats::default()
            },
            ..KernelStats::default()
        }
    }

    fn names(rows: &[Activity<'_>]) -> Vec<(String, u64)> {
        let name = |row: &Activity<'_>| (row.label.name.clone(), row.total_ns);
        rows.iter().map(name).collect()
    }

    #[test]
    fn rows_are_ordered_by_time_and_what_the_limit_cuts_is_summed() {
        let kernels = [kernel("a", 0, 5), kernel("b", 0, 9), kernel("c", 0, 1)];
        let copies = [CopyStats {
            kind: "memset".into(),
            times: kernel("", 0, 7).times,
            ..CopyStats::default()
        }];
        let rows = Activity::rows(&kernels, &copies, "", 2);
        let expected = [("b", 9), ("[CUDA memset]", 7), ("… 2 others", 6)];
        assert_eq!(names(&rows), expected.map(|(name, ns)| (name.into(), ns)));
        assert_eq!(rows.last().map(|row| row.calls), Some(4));
        assert_eq!(Activity::rows(&kernels, &copies, "", usize::MAX).len(), 4);
        assert_eq!(Activity::rows(&kernels, &copies, "", 4).len(), 4);
    }

    #[test]
    fn devices_are_named_where_there_are_several() {
        let rows = [kernel("a", 1, 5), kernel("a", 0, 9)];
        assert_eq!(
            names(&Activity::rows(&rows, &[], "", usize::MAX)),
            [("GPU 0: a".into(), 9), ("GPU 1: a".into(), 5)]
        );
    }

    #[test]
    fn a_copy_of_no_time_has_no_rate_and_a_sum_never_overflows() {
        let copies = CopyStats {
            bytes: 5,
            ..CopyStats::default()
        };
        let rows = Activity::rows(&[], std::slice::from_ref(&copies), "", usize::MAX);
        assert_eq!(rows.first().and_then(Activity::rate), None);
        assert_eq!(total([u64::MAX, 1].into_iter()), u64::MAX);
    }
}
