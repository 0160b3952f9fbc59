//! What a profile is made from, copied under the locks of the window, the resolver and CUPTI.

use std::sync::Arc;
use std::time::SystemTime;

use super::step_clock::StepClock;
use crate::cupti;
use crate::settings::Settings;
use crate::stats::gpu_totals::GpuTimeTotals;
use crate::stats::host_totals::Totals;
use gpuprof_report::profile::CudaError;

/// See the module.
#[derive(Debug)]
pub(super) struct WindowCopy {
    pub(super) counters: Totals,
    pub(super) wall_ticks: u64,
    pub(super) gpu: GpuTimeTotals,
    pub(super) cupti: cupti::WindowTables,
    pub(super) symbols: cupti::SymbolNumbers,
    /// CUPTI's counts when the totals began; the profile reports the difference.
    pub(super) since: cupti::CollectionCounts,
    /// `None`: no window is open.
    pub(super) settings: Option<Arc<Settings>>,
    pub(super) began_at: SystemTime,
    pub(super) steps: StepClock,
    pub(super) runs_cupti: bool,
    /// The note about the part of the window that was measured.
    pub(super) part_note: Option<String>,
    /// gpuprof's failed driver calls.
    pub(super) errors: Vec<CudaError>,
    /// For what kernels waited.
    pub(super) stalls: Option<cupti::SampledStalls>,
}

impl WindowCopy {
    pub(super) fn add_stalls(&mut self, more: Option<cupti::SampledStalls>) {
        match (&mut self.stalls, more) {
            (Some(sum), Some(more)) => sum.merge(&more),
            (none, more) => *none = more.or(none.take()),
        }
    }
}
