//! The clocks of what the recorder has kept.

use crate::clock::Scale;
use crate::recorder::Recording;
use gpuprof_report::trace::ClockPair;

/// Times of a GPU clock may be before its zero.
const GPU_ZERO: i64 = 1 << 62;

/// By how much the moments of GPU clocks may be wrong, ns; `None` if there are none.
pub(super) fn clock_error_ns(recorded: &Recording) -> Option<u64> {
    let anchors = recorded.anchors.iter().flat_map(|(_, anchors)| anchors);
    anchors.map(|anchor| anchor.error_ns).max()
}

/// Clock ticks to ns since the Unix epoch: by one moment, and the rate of all reports. The system
/// may set its own clock meanwhile.
#[derive(Clone, Copy)]
pub(super) struct HostClock {
    pub(super) began: ClockPair,
    pub(super) scale: Scale,
}

impl HostClock {
    pub(super) fn convert(&self, ticks: u64) -> u64 {
        let ClockPair { from, to } = self.began;
        match ticks.checked_sub(from) {
            Some(since) => to.saturating_add(self.scale.ns(since)),
            None => to.saturating_sub(self.scale.ns(from - ticks)),
        }
    }
}

/// A time of a GPU clock without a sign.
pub(super) fn gpu_time(ns: i64) -> u64 {
    ns.saturating_add(GPU_ZERO).max(0).unsigned_abs()
}
