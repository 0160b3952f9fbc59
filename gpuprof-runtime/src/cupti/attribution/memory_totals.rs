//! Memory totals of a call path, and the records so far of the process.

use super::live_memory::{LiveMemory, MemoryChange};
use super::pending_memory::PendingMemory;
use crate::cupti::collect::record::MemoryOperation;
use gpuprof_report::profile::MemoryTotals;

/// What the records of the process come to, whatever the window.
#[derive(Debug, Default)]
pub(super) struct ProcessMemory {
    pub(super) pending: PendingMemory,
    pub(super) live: LiveMemory,
    /// Records whose CUDA call is unknown.
    pub(super) without_call: u64,
}

/// Allocations and frees of a call path in one space, and what they raised the peak by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathMemory {
    pub(super) totals: MemoryTotals,
    pub(super) peak_growth_bytes: u64,
}

impl PathMemory {
    pub(super) fn add(&mut self, operation: MemoryOperation, change: &MemoryChange) {
        let totals = &mut self.totals;
        let (count, bytes) = match operation {
            MemoryOperation::Allocate => (&mut totals.allocations, &mut totals.allocated_bytes),
            MemoryOperation::Free => (&mut totals.frees, &mut totals.freed_bytes),
        };
        *count += 1;
        *bytes = bytes.saturating_add(change.bytes);
        self.peak_growth_bytes += change.peak_growth_bytes;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.totals.add(&other.totals);
        self.peak_growth_bytes += other.peak_growth_bytes;
    }
}
