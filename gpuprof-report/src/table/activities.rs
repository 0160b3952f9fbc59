//! What the GPU ran and what CUDA calls took, over the whole program: the two tables that nvprof's
//! users know.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::columns::{ns, share};
use super::counters;
use super::function_name::others_label;
use super::grid::{Grid, RowLabel};
use super::hidden::Hidden;
use super::number::total;
use super::options::TableOptions;
#[cfg(feature = "html")]
use super::quantity::Headed;
use super::quantity::{self, ColumnSpec, MarkedQuantity, Quantity};
use crate::peak_shares::dram_share_of_kernel;
use crate::profile::{
    ApiStats, CopyStats, DurationStats, KernelStats, Metric, NodeActivity, Profile,
};
use crate::sanitize;
use crate::sorting::sort_by;

/// One row: a kernel, a kind of copy, a CUDA call, or the sum of what a limit cut.
#[derive(Default)]
struct ActivityRow<'a> {
    label: RowLabel,
    calls: u64,
    total_ns: u64,
    /// `None` in a sum, as all that depends on one activity.
    times: Option<&'a DurationStats>,
    kernel: Option<&'a KernelStats>,
    /// Its measured share of the peak bandwidth.
    dram_share: Option<f64>,
    copies: Option<&'a CopyStats>,
    call: Option<&'a ApiStats>,
}

impl<'a> ActivityRow<'a> {
    fn new(name: String, times: &'a DurationStats) -> Self {
        Self {
            label: RowLabel::named(name),
            calls: times.calls,
            total_ns: times.total_ns,
            times: Some(times),
            ..Self::default()
        }
    }

    fn of_call(call: &'a ApiStats) -> Self {
        Self {
            call: Some(call),
            ..Self::new(sanitize::name(&call.name).into_owned(), &call.times)
        }
    }

    /// Kernels, copies and memsets.
    fn of_profile(profile: &'a Profile, options: &TableOptions) -> Vec<Self> {
        let names = ActivityNames::new(profile, options);
        let kernels = profile.kernels.iter().map(|kernel| Self {
            kernel: Some(kernel),
            dram_share: dram_share_of_kernel(kernel, &profile.devices),
            ..Self::new(names.kernel(kernel), &kernel.times)
        });
        let copies = profile.copies.iter().map(|copies| Self {
            copies: Some(copies),
            ..Self::new(names.copies(copies), &copies.times)
        });
        kernels.chain(copies).collect()
    }

    /// Those of the most time first; past `limit` they are summed in one row.
    fn limited(mut rows: Vec<Self>, limit: usize) -> Vec<Self> {
        sort_by(&mut rows, |a, b| {
            let key = |row: &Self| (Reverse(row.total_ns), Reverse(row.calls));
            key(a)
                .cmp(&key(b))
                .then_with(|| a.label.name.cmp(&b.label.name))
        });
        let cut = rows.split_off(limit.min(rows.len()));
        if !cut.is_empty() {
            rows.push(Self::sum(&cut));
        }
        rows
    }

    fn sum(cut: &[Self]) -> Self {
        Self {
            label: RowLabel::secondary("", others_label(cut.len())),
            calls: total(cut.iter().map(|row| row.calls)),
            total_ns: total(cut.iter().map(|row| row.total_ns)),
            ..Self::default()
        }
    }

    /// One of the durations, where the row is of one thing.
    fn time(&self, which: fn(&DurationStats) -> u64) -> Option<MarkedQuantity> {
        ns(self.times.map(which))
    }

    /// The measured share of a unit's peak.
    fn unit(&self, metric: Metric) -> Option<MarkedQuantity> {
        counters::share(self.kernel?.counters.as_ref()?, metric)
    }

    /// GB/s of a copy.
    fn rate(&self) -> Option<MarkedQuantity> {
        let copies = self.copies?;
        let seconds = copies.times.total_ns as f64 / 1e9;
        let rate = copies.bytes as f64 / seconds;
        rate.is_finite().then(|| Quantity::BytesPerS(rate).into())
    }

    /// Blocks, with the number of other launch shapes.
    fn grid(&self) -> Option<MarkedQuantity> {
        let kernel = self.kernel?;
        let more = match kernel.shapes.saturating_sub(1) {
            0 => String::new(),
            more => format!(" +{more}"),
        };
        Some(Quantity::Text(dimensions(kernel.grid) + &more).into())
    }
}

/// The names of kernels and copies as the tables show them: with the device if there are several.
pub(super) struct ActivityNames<'a> {
    profile: &'a Profile,
    has_several_devices: bool,
    /// Full names of kernels.
    in_full: bool,
}

impl<'a> ActivityNames<'a> {
    pub(super) fn new(profile: &'a Profile, options: &TableOptions) -> Self {
        let kernels = profile.kernels.iter().map(|kernel| kernel.device);
        let mut devices = kernels.chain(profile.copies.iter().map(|copies| copies.device));
        let first = devices.next();
        Self {
            profile,
            has_several_devices: devices.any(|device| Some(device) != first),
            in_full: options.full,
        }
    }

    /// Of what a call path launched.
    pub(super) fn of(&self, activity: &NodeActivity) -> String {
        let Profile {
            kernels, copies, ..
        } = self.profile;
        let kernel = activity.kernel.and_then(|at| kernels.get(at as usize));
        let copies = activity.copies.and_then(|at| copies.get(at as usize));
        match (kernel, copies) {
            (Some(kernel), _) => self.kernel(kernel),
            (None, Some(copies)) => self.copies(copies),
            (None, None) => "(unknown)".to_owned(),
        }
    }

    pub(super) fn kernel(&self, kernel: &KernelStats) -> String {
        let name = if self.in_full && !kernel.full_name.is_empty() {
            &kernel.full_name
        } else {
            &kernel.name
        };
        self.on_device(&sanitize::name(name), kernel.device)
    }

    /// As nvprof wrote it, so that no kernel can bear the same name.
    fn copies(&self, copies: &CopyStats) -> String {
        self.on_device(&copies.kind.row_name(), copies.device)
    }

    fn on_device(&self, name: &str, device: u32) -> String {
        if self.has_several_devices {
            format!("GPU {device}: {name}")
        } else {
            name.to_owned()
        }
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

/// Heading, rank (the smallest is dropped first) and the cell made of a row and the time of all.
type ActivityColumn = (
    &'static str,
    u8,
    fn(&ActivityRow<'_>, u64) -> Option<MarkedQuantity>,
);

const COLUMNS: &[ActivityColumn] = &[
    ("Time", 95, |row, all| share(row.total_ns, all)),
    ("Total", 100, |row, _| ns(Some(row.total_ns))),
    ("Calls", 90, |row, _| {
        Some(Quantity::Count(row.calls).into())
    }),
    // What went wrong stays in sight.
    ("Failed", u8::MAX, |row, _| {
        let failed = row.call?.failed;
        (failed > 0).then(|| Quantity::Count(failed).into())
    }),
    ("Avg", 85, |row, _| row.time(|times| times.mean_ns)),
    ("Med", 68, |row, _| row.time(|times| times.p50_ns)),
    ("Min", 40, |row, _| row.time(|times| times.min_ns)),
    ("Max", 70, |row, _| row.time(|times| times.max_ns)),
    ("Queued", 50, |row, _| {
        let queued = &row.kernel?.launch_latency;
        ns((queued.calls > 0).then_some(queued.p50_ns))
    }),
    ("Occupancy", 62, |row, _| {
        Some(Quantity::Share(row.kernel?.occupancy?).into())
    }),
    ("Grid", 60, |row, _| row.grid()),
    ("Block", 55, |row, _| {
        Some(Quantity::Text(dimensions(row.kernel?.block)).into())
    }),
    ("DRAM", 63, |row, _| {
        counters::dram(row.kernel?.counters.as_ref()?)
    }),
    ("Bound", 67, |row, _| {
        counters::bound(row.kernel?.counters.as_ref()?, row.dram_share)
    }),
    ("Tensor", 46, |row, _| row.unit(Metric::TensorActive)),
    ("SMs", 34, |row, _| row.unit(Metric::SmActive)),
    ("Issue", 47, |row, _| row.unit(Metric::IssueRate)),
    ("FP64", 45, |row, _| row.unit(Metric::Fp64Active)),
    ("L2", 44, |row, _| row.unit(Metric::L2Throughput)),
    ("L1/shared", 43, |row, _| row.unit(Metric::L1Throughput)),
    ("ALU", 33, |row, _| row.unit(Metric::AluActive)),
    ("XU", 32, |row, _| row.unit(Metric::XuActive)),
    ("Warps", 31, |row, _| row.unit(Metric::WarpsActive)),
    ("Threads", 30, |row, _| row.unit(Metric::ThreadsActive)),
    ("Conflicts", 29, |row, _| row.unit(Metric::SharedConflicts)),
    ("Passes", 28, |row, _| {
        counters::access_passes(row.kernel?.counters.as_ref()?)
    }),
    ("Size", 64, |row, _| {
        Some(Quantity::Bytes(row.copies?.bytes).into())
    }),
    ("", 66, |row, _| row.rate()),
];

/// Writes the table of kernels and copies, unless it has no row.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let rows = ActivityRow::of_profile(profile, options);
    draw(rows, "Kernel / copy", options, hidden, out);
}

/// Writes the table of CUDA calls, unless it has no row.
pub(super) fn write_calls(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let calls = profile.api.iter().map(ActivityRow::of_call).collect();
    draw(calls, "API call", options, hidden, out);
}

/// The names of all kernels and copies in the order of the profile, and their columns.
#[cfg(feature = "html")]
pub(super) fn kernels_and_copies(profile: &Profile) -> (Vec<String>, Vec<Headed>) {
    named(ActivityRow::of_profile(profile, &TableOptions::default()))
}

/// The names of all API calls in the order of the profile, and their columns.
#[cfg(feature = "html")]
pub(super) fn api_calls(profile: &Profile) -> (Vec<String>, Vec<Headed>) {
    named(profile.api.iter().map(ActivityRow::of_call).collect())
}

#[cfg(feature = "html")]
fn named(rows: Vec<ActivityRow<'_>>) -> (Vec<String>, Vec<Headed>) {
    let columns = quantity::headed(values(&rows));
    let names = rows.into_iter().map(|row| row.label.name);
    (names.collect(), columns)
}

/// The heading, rank and values of each column. Those of listed metrics are the last.
fn values(rows: &[ActivityRow<'_>]) -> impl Iterator<Item = ColumnSpec> {
    let all = total(rows.iter().map(|row| row.total_ns));
    let counters = rows.iter().map(|row| row.kernel?.counters.as_deref());
    let listed = counters::listed(&counters.collect::<Vec<_>>());
    let columns = COLUMNS.iter().map(move |(heading, rank, cell)| {
        let values = rows.iter().map(|row| cell(row, all));
        (Cow::Borrowed(*heading), *rank, values.collect())
    });
    columns.chain(listed)
}

/// Draws the rows with the most time, and an empty line.
fn draw(
    rows: Vec<ActivityRow<'_>>,
    title: &str,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    if rows.is_empty() {
        return;
    }
    let limit = options.activity_limit();
    hidden.rows += rows.len().saturating_sub(limit);
    let rows = ActivityRow::limited(rows, limit);
    let grid = Grid {
        title: title.to_owned(),
        columns: quantity::columns(values(&rows)),
        labels: rows.iter().map(|row| row.label.clone()).collect(),
    };
    hidden.columns += grid.draw(options, out).dropped;
    out.push('\n');
}

#[cfg(test)]
mod tests;
