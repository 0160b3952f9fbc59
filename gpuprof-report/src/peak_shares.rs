//! What limits the kernels of a function, by the peak that hardware counters measured as nearest.

use std::fmt;

use crate::profile::{CounterValues, Metric};

/// From which share of a peak on a kernel is limited by it, as in Nsight Compute (Kernel Profiling
/// Guide, GPU Speed Of Light Throughput).
pub(crate) const BOUND_SHARE: f64 = 0.6;

/// A part of the device that can be the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Memory,
    Issue,
    Tensor,
    Fp64,
    L2,
    L1,
    Alu,
    Xu,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Issue => "issue",
            Self::Tensor => "tensor",
            Self::Fp64 => "FP64",
            Self::L2 => "L2",
            Self::L1 => "L1/shared",
            Self::Alu => "ALU",
            Self::Xu => "XU",
        })
    }
}

/// The metrics that are shares of a unit's peak.
const UNITS: [(Unit, Metric); 7] = [
    (Unit::Issue, Metric::IssueRate),
    (Unit::Tensor, Metric::TensorActive),
    (Unit::Fp64, Metric::Fp64Active),
    (Unit::L2, Metric::L2Throughput),
    (Unit::L1, Metric::L1Throughput),
    (Unit::Alu, Metric::AluActive),
    (Unit::Xu, Metric::XuActive),
];

/// How close the kernels came to each peak that was measured, 0 to 1; the nearest first. `None`
/// without the two that limit most kernels, memory and the issue rate: any other could be far from
/// its peak because of them.
pub(crate) fn peak_shares(
    counters: &CounterValues,
    dram_share: Option<f64>,
) -> Option<Vec<(Unit, f64)>> {
    counters.mean(Metric::IssueRate)?;
    let memory = (Unit::Memory, dram_share?);
    Some(nearest_first(units(counters).chain([memory])))
}

/// The same of the units of the multiprocessors and of the caches.
pub(crate) fn unit_shares(counters: &CounterValues) -> Vec<(Unit, f64)> {
    nearest_first(units(counters))
}

fn units(counters: &CounterValues) -> impl Iterator<Item = (Unit, f64)> {
    let share = |(unit, metric)| Some((unit, counters.mean(metric)?));
    UNITS.into_iter().filter_map(share)
}

fn nearest_first(shares: impl Iterator<Item = (Unit, f64)>) -> Vec<(Unit, f64)> {
    let mut shares: Vec<_> = shares.collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    shares
}
