//! What limits a kernel or the kernels of a function, by the peak that hardware counters measured
//! as nearest.

use std::{fmt, iter};

use crate::profile::{CounterValues, Device, Function, KernelStats, Metric};

/// From which share of a peak on a kernel is limited by it, as in Nsight Compute (Kernel Profiling
/// Guide, GPU Speed Of Light Throughput).
pub const BOUND_SHARE: f64 = 0.6;

/// A part of the device that can be the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Device memory, by its bandwidth.
    Memory,
    /// Instructions of the multiprocessors.
    Issue,
    /// The tensor cores.
    Tensor,
    /// The units for double precision.
    Fp64,
    /// The L2 cache.
    L2,
    /// The data path that L1 caches and shared memory have together.
    L1,
    /// The same, if shared memory takes most of it.
    Shared,
    /// The units for integers, logic and comparisons.
    Alu,
    /// The units for conversions and special functions.
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
            Self::Shared => "shared",
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

/// What limits a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The unit whose peak is nearest, with its share of that peak.
    Unit(Unit, f64),
    /// No peak is near: the threads wait, or a unit that is not sampled limits them.
    Latency,
}

impl Bound {
    /// By the nearest peak.
    #[must_use]
    pub fn of((unit, share): (Unit, f64)) -> Self {
        if share < BOUND_SHARE {
            Self::Latency
        } else {
            Self::Unit(unit, share)
        }
    }

    /// The unit, or `latency`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Unit(unit, _) => unit.to_string(),
            Self::Latency => "latency".to_owned(),
        }
    }
}

/// For example `XU 94 %`, or `latency`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        match self {
            Self::Unit(_, share) => write!(f, " {:.0} %", 100.0 * share),
            Self::Latency => Ok(()),
        }
    }
}

/// How close a kernel came to each peak that was measured, 0 to 1; the nearest first. `None`
/// without the two that limit most kernels, memory and the issue rate: any other could be far from
/// its peak because of them.
#[must_use]
pub fn of_kernel(kernel: &KernelStats, devices: &[Device]) -> Option<Vec<(Unit, f64)>> {
    let counters = kernel.counters.as_deref()?;
    peak_shares(counters, dram_share_of_kernel(kernel, devices))
}

/// The same of the kernels that a function launched itself.
#[must_use]
pub fn of_function(function: &Function, devices: &[Device]) -> Option<Vec<(Unit, f64)>> {
    let counters = function.activity.counters.as_deref()?;
    peak_shares(counters, dram_share_of_function(function, devices))
}

/// Values from samples in which nothing else ran.
pub(crate) fn own_samples(counters: Option<&CounterValues>) -> Option<&CounterValues> {
    counters.filter(|counters| !counters.is_divided)
}

/// The share of the peak bandwidth of device memory that a kernel reached.
pub(crate) fn dram_share_of_kernel(kernel: &KernelStats, devices: &[Device]) -> Option<f64> {
    let device = iter::once(kernel.device);
    dram_share(kernel.counters.as_deref()?, device, devices)
}

/// The same of the kernels of a function, if all devices that ran them have the same peak.
pub(crate) fn dram_share_of_function(function: &Function, devices: &[Device]) -> Option<f64> {
    let kernels = function.activity.kernels.iter();
    let kernel_devices = kernels.map(|kernel| kernel.device);
    dram_share(
        function.activity.counters.as_deref()?,
        kernel_devices,
        devices,
    )
}

fn dram_share(
    counters: &CounterValues,
    kernel_devices: impl Iterator<Item = u32>,
    devices: &[Device],
) -> Option<f64> {
    let mut peaks = kernel_devices.map(|ordinal| {
        let mut devices = devices.iter();
        devices
            .find(|device| device.ordinal == ordinal)?
            .peak_bytes_per_s
    });
    let first = peaks.next()??;
    let has_one = peaks.all(|peak| peak == Some(first));
    let share = counters.dram_bytes_per_s()? / first as f64;
    (has_one && share.is_finite()).then_some(share)
}

/// [`of_kernel`], with the share of the peak bandwidth of device memory.
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
    let shared = counters.mean(Metric::SharedThroughput);
    UNITS.into_iter().filter_map(share).map(move |of| match of {
        (Unit::L1, share) if shared.is_some_and(|shared| shared > 0.5 * share) => {
            (Unit::Shared, share)
        }
        of => of,
    })
}

fn nearest_first(shares: impl Iterator<Item = (Unit, f64)>) -> Vec<(Unit, f64)> {
    let mut shares: Vec<_> = shares.collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    shares
}
