//! What the program's threads counted in a window. What the GPU did is kept by window elsewhere,
//! as it arrives late.

use crate::stats::host_totals::Totals;

/// See the module: of one window, or the sum of several.
#[derive(Clone, Debug, Default)]
pub(super) struct HostTotals {
    pub(super) counters: Totals,
    pub(super) wall_ticks: u64,
}

impl HostTotals {
    /// Adds a later window, whose calls in progress replace those of this one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.wall_ticks += other.wall_ticks;
    }
}
