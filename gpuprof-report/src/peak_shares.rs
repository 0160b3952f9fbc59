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

/// How close the kernels came to each peak that was measured, 0 to 1; the nearest first, and of
/// equal ones the one that is farther from the threads.
pub(crate) fn peak_shares(counters: &CounterValues, dram_share: Option<f64>) -> Vec<(Unit, f64)> {
    let memory = dram_share.map(|share| (Unit::Memory, share));
    let share = |(unit, metric): &(Unit, Metric)| Some((*unit, counters.mean(*metric)?));
    let units = UNITS.iter().filter_map(share);
    let mut shares: Vec<_> = memory.into_iter().chain(units).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    shares
}
