//! What the program's threads counted in a window. What the GPU did is kept by window elsewhere,
//! as it arrives late.

use crate::stats::host_totals::Totals;
use gpuprof_report::schedule::Phase;

/// The sum of several windows.
#[derive(Clone, Debug, Default)]
pub(super) struct HostSum {
    pub(super) counters: Totals,
    pub(super) wall_ticks: u64,
}

/// One window.
#[derive(Debug)]
pub(super) struct HostTotals {
    pub(super) counters: Totals,
    /// The part of `counters` of calls that began before the window. They count even if the window
    /// is discarded.
    pub(super) crossed: Totals,
    pub(super) wall_ticks: u64,
}

impl HostSum {
    pub(super) fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.wall_ticks += other.wall_ticks;
    }

    /// Adds a window, of which the calls in progress are the latest. `discarded`: the phase in
    /// which it is discarded; calls that began before it still count.
    pub(super) fn add_window(&mut self, window: &HostTotals, discarded: Option<Phase>) {
        let kept = match discarded {
            None => &window.counters,
            // No call begins in it.
            Some(Phase::Wait) => &window.counters,
            Some(_) => &window.crossed,
        };
        self.counters.merge(kept);
        if discarded.is_none() {
            self.wall_ticks += window.wall_ticks;
        } else {
            self.counters.set_open_calls(&window.counters);
        }
    }
}
