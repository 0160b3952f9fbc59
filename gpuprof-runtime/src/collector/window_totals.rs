//! What was measured in a window, from all sources.

use crate::cupti;
use crate::stats::gpu_totals::GpuTotals;
use crate::stats::host_totals::Totals;
use gpuprof_report::schedule::Phase;

/// What was measured in one window, or in several.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowTotals {
    pub(super) counters: Totals,
    /// The part of `counters` of calls that began before the window. They count even if the window
    /// is discarded.
    pub(super) crossed: Totals,
    pub(super) gpu: GpuTotals,
    pub(super) cupti: cupti::WindowTables,
    pub(super) wall_ticks: u64,
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

    /// The part of `counters`, in a window of this phase that is discarded, of calls that began
    /// before it.
    pub(super) fn of_calls_begun_before(&self, phase: Phase) -> &Totals {
        match phase {
            // No call begins in it.
            Phase::Wait => &self.counters,
            _ => &self.crossed,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.gpu.merge(&other.gpu);
        self.cupti.merge(&other.cupti);
        self.wall_ticks += other.wall_ticks;
    }
}
