//! What was measured in a window, from all sources.

use crate::cupti;
use crate::stats::gpu_totals::GpuTotals;
use crate::stats::host_totals::Totals;

/// What was measured in one window, or in several.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowTotals {
    pub(super) counters: Totals,
    pub(super) gpu: GpuTotals,
    pub(super) cupti: cupti::WindowTables,
    pub(super) wall_ns: u64,
}

/// What has arrived for an earlier window that still counts.
#[derive(Debug, Default)]
pub(super) struct LateTotals {
    pub(super) gpu: GpuTotals,
    pub(super) cupti: cupti::WindowTables,
}

impl WindowTotals {
    pub(super) fn add_late(&mut self, late: &LateTotals) {
        self.gpu.merge(&late.gpu);
        self.cupti.merge(&late.cupti);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.gpu.merge(&other.gpu);
        self.cupti.merge(&other.cupti);
        self.wall_ns += other.wall_ns;
    }
}
