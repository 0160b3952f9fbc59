//! The columns of the call tree and of the functions.

use std::borrow::Cow;

use super::counters;
use super::grid::{Grid, RowLabel};
use super::legend;
use super::peak::PeakKind;
use super::qualifiers::{self, Doubt};
use super::quantity::{self, ColumnSpec, MarkedQuantity, Quantity};
use super::row::Figures;
use crate::profile::Metric;

/// What shares are of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wholes {
    /// GPU busy time of the program, ns; `None` without CUPTI.
    pub(super) busy_ns: Option<u64>,
    /// Time of its outermost GPU spans, ns.
    pub(super) gpu_ns: u64,
}

/// Heading, rank (the smallest is dropped first) and the cell made of a row.
pub(super) type FunctionColumn = (
    &'static str,
    u8,
    fn(&Figures, Wholes) -> Option<MarkedQuantity>,
);

/// Of the call tree with CUPTI's records.
pub(super) const BUSY_COLUMNS: &[FunctionColumn] = &[
    ("Busy", 95, |row, all| share(row.busy?, all.busy_ns?)),
    ("Busy", 100, |row, _| ns(row.busy)),
    ("Idle", 90, |row, _| {
        let share = MarkedQuantity::from(Quantity::Share(row.idle?));
        Some(share.marked(row.doubt.if_estimated(qualifiers::ESTIMATED)))
    }),
    OPEN_CALLS,
    OPEN_TIME,
    CALLS,
    ("Avg", 85, |row, _| ns(row.busy_avg)),
    ("CPU", 80, |row, _| ns(row.cpu_total)),
    WALL,
    PEAK,
    GB_PER_S,
    DRAM,
    DRAM_PEAK,
    TFLOP_PER_S,
    TENSOR,
    SMS,
    ISSUE,
    FP64,
    L2,
    L1,
    ALU,
    XU,
    WARPS,
    THREADS,
    CONFLICTS,
    PASSES,
    BOUND,
    ITEMS_PER_S,
    ("CPU self", 40, |row, _| ns(row.cpu_self)),
    ("Span", 20, gpu_total),
];

/// Of the call tree without CUPTI.
pub(super) const SPAN_COLUMNS: &[FunctionColumn] = &[
    ("Span", 95, gpu_share),
    ("Span", 100, gpu_total),
    OPEN_CALLS,
    OPEN_TIME,
    CALLS,
    ("Avg", 85, |row, _| estimate(row.gpu_avg, row.doubt)),
    ("CPU", 80, |row, _| ns(row.cpu_total)),
    WALL,
    PEAK,
    GB_PER_S,
    ("p95", 50, |row, _| estimate(row.gpu_p95, row.doubt)),
    ("Max", 60, |row, _| longest(row.gpu_max, row.doubt)),
    ("Span self", 55, gpu_self),
    TFLOP_PER_S,
    ITEMS_PER_S,
    ("CPU self", 40, |row, _| ns(row.cpu_self)),
];

/// Of the functions, each over all its call paths.
pub(super) const FUNCTION_COLUMNS: &[FunctionColumn] = &[
    OPEN_CALLS,
    OPEN_TIME,
    CALLS,
    ("Busy", 78, |row, _| ns(row.busy)),
    ("Span", 80, gpu_total),
    ("Span self", 100, gpu_self),
    ("Avg", 85, |row, _| estimate(row.gpu_avg, row.doubt)),
    ("Med", 45, |row, _| estimate(row.gpu_p50, row.doubt)),
    ("p95", 50, |row, _| estimate(row.gpu_p95, row.doubt)),
    ("Max", 65, |row, _| longest(row.gpu_max, row.doubt)),
    ("CPU", 70, |row, _| ns(row.cpu_total)),
    ("CPU self", 55, |row, _| ns(row.cpu_self)),
    ("CPU avg", 30, |row, _| ns(row.cpu_avg)),
    WALL,
    GB_PER_S,
    TFLOP_PER_S,
    ITEMS_PER_S,
    PEAK,
    DRAM,
    DRAM_PEAK,
    DRAM_INTERVAL,
    DRAM_WRITE,
    TENSOR,
    SMS,
    ISSUE,
    FP64,
    L2,
    L1,
    ALU,
    XU,
    WARPS,
    THREADS,
    CONFLICTS,
    PASSES,
    BOUND,
    PCIE,
    NVLINK,
];

const CALLS: FunctionColumn = ("Calls", 88, |row, _| {
    Some(Quantity::Count(row.calls).into())
});
// A column without a value is not drawn.
const OPEN_CALLS: FunctionColumn = ("Open", 82, |row, _| {
    Some(Quantity::Count(row.open_calls?).into())
});
const OPEN_TIME: FunctionColumn = ("Open", 83, |row, _| ns(row.open_ns));
const WALL: FunctionColumn = ("Wall avg", 65, |row, _| ns(row.wall_avg));
const GB_PER_S: FunctionColumn = ("", 70, |row, _| {
    Some(Quantity::BytesPerS(row.bytes_per_s?).into())
});
const TFLOP_PER_S: FunctionColumn = ("", 48, |row, _| {
    Some(Quantity::FlopsPerS(row.flops_per_s?).into())
});
const ITEMS_PER_S: FunctionColumn = ("", 35, |row, _| {
    Some(Quantity::ItemsPerS(row.items_per_s?).into())
});
/// The share of a peak of the device, with the peak.
const PEAK: FunctionColumn = ("Peak", 75, |row, _| {
    let (share, limit) = row.peak?;
    let suffix = match limit {
        PeakKind::Memory => "mem",
        PeakKind::Link => "link",
        PeakKind::Arithmetic(precision) => precision.as_str(),
    };
    Some(MarkedQuantity::from(Quantity::Share(share)).with_suffix(suffix))
});

// From the hardware counters, which the user switched on: the most important of them outrank most
// of the standard columns.
const DRAM: FunctionColumn = ("DRAM", 91, |row, _| counters::dram(row.counters.as_ref()?));
const DRAM_PEAK: FunctionColumn = ("DRAM", 86, |row, _| {
    let share = Quantity::Share(row.dram_share?);
    Some(counters::value(row.counters.as_ref()?, share))
});
const BOUND: FunctionColumn = ("Bound", 92, |row, _| {
    counters::bound(row.counters.as_ref()?, row.dram_share)
});
const DRAM_INTERVAL: FunctionColumn = ("DRAM ±", 16, |row, _| {
    counters::dram_interval(row.counters.as_ref()?)
});
const DRAM_WRITE: FunctionColumn = ("DRAM write", 17, |row, _| {
    counters::dram_write(row.counters.as_ref()?)
});
const TENSOR: FunctionColumn = ("Tensor", 46, |row, _| unit(row, Metric::TensorActive));
const SMS: FunctionColumn = ("SMs", 34, |row, _| unit(row, Metric::SmActive));
const ISSUE: FunctionColumn = ("Issue", 69, |row, _| unit(row, Metric::IssueRate));
const FP64: FunctionColumn = ("FP64", 45, |row, _| unit(row, Metric::Fp64Active));
const L2: FunctionColumn = ("L2", 44, |row, _| unit(row, Metric::L2Throughput));
const L1: FunctionColumn = ("L1/shared", 43, |row, _| unit(row, Metric::L1Throughput));
const ALU: FunctionColumn = ("ALU", 33, |row, _| unit(row, Metric::AluActive));
const XU: FunctionColumn = ("XU", 32, |row, _| unit(row, Metric::XuActive));
const WARPS: FunctionColumn = ("Warps", 31, |row, _| unit(row, Metric::WarpsActive));
const THREADS: FunctionColumn = ("Threads", 30, |row, _| unit(row, Metric::ThreadsActive));
const CONFLICTS: FunctionColumn = ("Conflicts", 29, |row, _| unit(row, Metric::SharedConflicts));
const PASSES: FunctionColumn = ("Passes", 28, |row, _| {
    counters::access_passes(row.counters.as_ref()?)
});
const PCIE: FunctionColumn = ("PCIe", 19, |row, _| counters::pcie(row.counters.as_ref()?));
const NVLINK: FunctionColumn = ("NVLink", 18, |row, _| {
    counters::nvlink(row.counters.as_ref()?)
});

/// The measured share of a unit's peak.
fn unit(row: &Figures, metric: Metric) -> Option<MarkedQuantity> {
    counters::share(row.counters.as_ref()?, metric)
}

pub(super) fn ns(ns: Option<u64>) -> Option<MarkedQuantity> {
    Some(Quantity::Ns(ns?).into())
}

/// An average or a percentile of GPU times. That calls are missing makes it no lower bound.
fn estimate(time: Option<u64>, doubt: Doubt) -> Option<MarkedQuantity> {
    Some(ns(time)?.marked(doubt.if_estimated(qualifiers::ESTIMATED)))
}

/// The longest GPU time. There may be a longer one among the calls that sampling left out.
fn longest(time: Option<u64>, doubt: Doubt) -> Option<MarkedQuantity> {
    Some(ns(time)?.marked(doubt.if_estimated(qualifiers::PARTIAL)))
}

pub(super) fn share(part: u64, whole: u64) -> Option<MarkedQuantity> {
    (whole > 0).then(|| Quantity::Share(part as f64 / whole as f64).into())
}

/// The GPU spans, or the sum of those inside, with its mark.
fn gpu_total(row: &Figures, _: Wholes) -> Option<MarkedQuantity> {
    match (row.gpu_total, row.gpu_inside) {
        (Some(spans), _) => Some(ns(Some(spans))?.marked(row.doubt.mark())),
        (None, inside) => Some(ns(inside)?.marked(inside_mark(row.doubt))),
    }
}

fn gpu_share(row: &Figures, all: Wholes) -> Option<MarkedQuantity> {
    share(row.gpu_total.or(row.gpu_inside)?, all.gpu_ns)
}

fn gpu_self(row: &Figures, _: Wholes) -> Option<MarkedQuantity> {
    Some(ns(row.gpu_self)?.marked(row.doubt.own_mark()))
}

/// What stands before the sum of what is inside.
fn inside_mark(doubt: Doubt) -> &'static str {
    match doubt.own_mark() {
        qualifiers::OVERLAPPING => legend::INSIDE_OVERLAPPING,
        qualifiers::ESTIMATED => legend::INSIDE_ESTIMATED,
        qualifiers::PARTIAL => legend::INSIDE_PARTIAL,
        qualifiers::DIVIDED => legend::INSIDE_DIVIDED,
        _ => legend::INSIDE,
    }
}

/// A grid of rows.
pub(super) fn grid(
    title: &str,
    rows: Vec<(RowLabel, Figures)>,
    specs: &'static [FunctionColumn],
    wholes: Wholes,
) -> Grid {
    let (labels, figures): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Grid {
        title: title.to_owned(),
        columns: quantity::columns(values(&figures, specs, wholes)),
        labels,
    }
}

/// The heading, rank and values of each column. Those of listed metrics are the last.
pub(super) fn values(
    rows: &[Figures],
    specs: &'static [FunctionColumn],
    wholes: Wholes,
) -> impl Iterator<Item = ColumnSpec> {
    let counters: Vec<_> = rows.iter().map(|row| row.counters.as_ref()).collect();
    let columns = specs.iter().map(move |(heading, rank, cell)| {
        let values = rows.iter().map(|row| cell(row, wholes));
        (Cow::Borrowed(*heading), *rank, values.collect())
    });
    columns.chain(counters::listed(&counters))
}
