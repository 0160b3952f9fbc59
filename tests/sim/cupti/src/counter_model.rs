//! What activities add to the hardware counters of the simulated device. The amounts are modelled.

use std::collections::BTreeMap;

use simbase::activity::{Activity, ActivityKind, MemoryKind};

/// What one launch of a kernel adds to the hardware counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct KernelCounters {
    /// Bytes read from device memory.
    pub dram_read: u64,
    /// Bytes written to device memory.
    pub dram_write: u64,
    /// Share of its time that the multiprocessors have warps, 0 to 1.
    pub sm_active: f64,
    /// Share of its time that the tensor cores work, 0 to 1.
    pub tensor_active: f64,
    /// Share of the instructions that could be executed in its time, 0 to 1.
    pub issue_rate: f64,
    /// Share of the peak of the units for double precision, 0 to 1.
    pub fp64_active: f64,
    /// Share of the peak of the L2 cache, 0 to 1.
    pub l2_throughput: f64,
    /// Share of the peak of L1 caches and shared memory, 0 to 1.
    pub l1_throughput: f64,
    /// Share of the peak of the units for integers, 0 to 1.
    pub alu_active: f64,
    /// Share of the peak of the units for conversions, 0 to 1.
    pub xu_active: f64,
    /// Share of the warps that could be resident in its time, 0 to 1.
    pub warps_active: f64,
    /// Share of the peak of L1 caches and shared memory that shared memory takes, 0 to 1.
    pub shared_throughput: f64,
    /// Instructions of warps.
    pub instructions: u64,
    /// Threads that executed them.
    pub thread_instructions: u64,
    /// Loads and stores among the instructions.
    pub accesses: u64,
    /// Their passes of the L1 data path.
    pub passes: u64,
    /// Those of shared memory.
    pub shared_passes: u64,
    /// Those of shared memory beyond the first of an access.
    pub conflicts: u64,
    /// Sectors that the L2 cache was asked for.
    pub l2_sectors: u64,
    /// Those of them that it had.
    pub l2_hits: u64,
}

/// The counters of the device, each summed over some time: bytes, and ns in which a unit worked.
pub(crate) type Totals = [f64; COUNTERS];

/// The counters, by their number in [`Totals`].
pub(crate) const COUNTERS: usize = 22;
pub(crate) const DRAM_READ: usize = 0;
pub(crate) const DRAM_WRITE: usize = 1;
pub(crate) const SM_ACTIVE: usize = 2;
pub(crate) const TENSOR_ACTIVE: usize = 3;
pub(crate) const ISSUE_RATE: usize = 4;
pub(crate) const PCIE_READ: usize = 5;
pub(crate) const PCIE_WRITE: usize = 6;
pub(crate) const FP64_ACTIVE: usize = 7;
pub(crate) const L2_THROUGHPUT: usize = 8;
pub(crate) const L1_THROUGHPUT: usize = 9;
pub(crate) const ALU_ACTIVE: usize = 10;
pub(crate) const XU_ACTIVE: usize = 11;
pub(crate) const WARPS_ACTIVE: usize = 12;
pub(crate) const L2_SECTORS: usize = 13;
pub(crate) const L2_HITS: usize = 14;
pub(crate) const SHARED_THROUGHPUT: usize = 15;
pub(crate) const INSTRUCTIONS: usize = 16;
pub(crate) const THREAD_INSTRUCTIONS: usize = 17;
pub(crate) const ACCESSES: usize = 18;
pub(crate) const PASSES: usize = 19;
pub(crate) const SHARED_PASSES: usize = 20;
pub(crate) const CONFLICTS: usize = 21;
/// Those that are shares of the time.
const SHARES: [usize; 10] = [
    SM_ACTIVE,
    TENSOR_ACTIVE,
    ISSUE_RATE,
    FP64_ACTIVE,
    L2_THROUGHPUT,
    L1_THROUGHPUT,
    ALU_ACTIVE,
    XU_ACTIVE,
    WARPS_ACTIVE,
    SHARED_THROUGHPUT,
];

#[derive(Debug)]
pub(crate) struct CounterModel {
    kernels: BTreeMap<String, KernelCounters>,
    /// Bytes per ns that another process reads from device memory.
    pub(crate) other_process: f64,
}

impl CounterModel {
    pub(crate) const fn new() -> CounterModel {
        CounterModel {
            kernels: BTreeMap::new(),
            other_process: 0.0,
        }
    }

    pub(crate) fn set(&mut self, kernel: &str, counters: KernelCounters) {
        self.kernels.insert(kernel.to_owned(), counters);
    }

    /// What the whole of an activity adds.
    fn totals(&self, activity: &Activity) -> Totals {
        let ns = (activity.end - activity.start) as f64;
        let mut totals = [0.0; COUNTERS];
        match activity.kind {
            ActivityKind::Kernel {
                name,
                dram_bytes,
                arithmetic_ns,
                ..
            } => {
                let modelled = KernelCounters {
                    // As in y = a * x + y: two reads and one write.
                    dram_read: dram_bytes - dram_bytes / 3,
                    dram_write: dram_bytes / 3,
                    sm_active: 1.0,
                    tensor_active: 0.0,
                    issue_rate: (arithmetic_ns as f64 / ns.max(1.0)).min(1.0),
                    ..KernelCounters::default()
                };
                let counters = self.kernels.get(name.text()).copied().unwrap_or(modelled);
                totals[DRAM_READ] = counters.dram_read as f64;
                totals[DRAM_WRITE] = counters.dram_write as f64;
                let counts = [
                    (L2_SECTORS, counters.l2_sectors),
                    (L2_HITS, counters.l2_hits),
                    (INSTRUCTIONS, counters.instructions),
                    (THREAD_INSTRUCTIONS, counters.thread_instructions),
                    (ACCESSES, counters.accesses),
                    (PASSES, counters.passes),
                    (SHARED_PASSES, counters.shared_passes),
                    (CONFLICTS, counters.conflicts),
                ];
                for (counter, count) in counts {
                    totals[counter] = count as f64;
                }
                let shares = [
                    counters.sm_active,
                    counters.tensor_active,
                    counters.issue_rate,
                    counters.fp64_active,
                    counters.l2_throughput,
                    counters.l1_throughput,
                    counters.alu_active,
                    counters.xu_active,
                    counters.warps_active,
                    counters.shared_throughput,
                ];
                for (counter, share) in SHARES.into_iter().zip(shares) {
                    totals[counter] = share * ns;
                }
            }
            ActivityKind::Copy { bytes, from, to } => {
                let bytes = bytes as f64;
                let [reads, writes] = [from, to].map(|memory| memory.kind == MemoryKind::Device);
                totals[DRAM_READ] = if reads { bytes } else { 0.0 };
                totals[DRAM_WRITE] = if writes { bytes } else { 0.0 };
                totals[PCIE_READ] = if reads { 0.0 } else { bytes };
                totals[PCIE_WRITE] = if writes { 0.0 } else { bytes };
            }
            ActivityKind::Memset { bytes, .. } => totals[DRAM_WRITE] = bytes as f64,
            ActivityKind::Memory { .. } | ActivityKind::Wait { .. } => {}
        }
        totals
    }

    /// What a device's counters add up to from `start` to `end`, if these activities ran on it.
    pub(crate) fn sample<'a>(
        &self,
        activities: impl Iterator<Item = &'a Activity>,
        start: u64,
        end: u64,
    ) -> Totals {
        let mut sums = [0.0; COUNTERS];
        sums[DRAM_READ] = self.other_process * (end - start) as f64;
        for activity in activities {
            let ns = activity
                .end
                .min(end)
                .saturating_sub(activity.start.max(start));
            if ns == 0 {
                continue;
            }
            let share = ns as f64 / (activity.end - activity.start) as f64;
            let totals = self.totals(activity);
            let added = sums.iter_mut().zip(totals);
            added.for_each(|(sum, total)| *sum += total * share);
        }
        for busy in SHARES {
            sums[busy] = sums[busy].min((end - start) as f64);
        }
        sums
    }
}
