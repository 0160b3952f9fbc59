//! What the host recorded on a call path, as plain data.

use super::call_outcome::{REASONS, StatedWork, UntimedReason};
use super::calls_in_progress::CallsInProgress;
use super::durations::{DurationSums, Ns, Ticks};
use crate::clock::Scale;

/// Number of calls by GPU timing outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OutcomeCounts {
    pub(crate) submitted: u64,
    pub(crate) captured: u64,
    /// Of the calls that were left out without asking the driver, an estimate of those captured.
    pub(crate) captured_unasked: u64,
    /// The variance of that estimate, calls².
    pub(crate) captured_variance: u64,
    pub(crate) untimed: [u64; REASONS],
}

impl OutcomeCounts {
    /// Calls that have a stream.
    pub(super) fn with_stream(&self) -> u64 {
        self.submitted + self.captured + self.untimed.iter().sum::<u64>()
    }
}

/// [`PathCounters`](super::path_counters::PathCounters) as plain data, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostPathTotals<Unit = Ticks> {
    pub(crate) cpu: DurationSums<Unit>,
    pub(crate) wall: DurationSums<Unit>,
    pub(crate) counts: OutcomeCounts,
    pub(crate) work: StatedWork,
    /// Calls in progress at the moment of reading, whenever they began.
    pub(crate) open: CallsInProgress,
    /// Calls that ended on another thread than the main one.
    pub(crate) off_main: u64,
}

impl<Unit> HostPathTotals<Unit> {
    /// Whether any call has ended on this path or is in progress.
    pub(crate) fn ran(&self) -> bool {
        self.cpu.calls > 0 || self.open.count() > 0
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.cpu.merge(&other.cpu);
        self.wall.merge(&other.wall);
        self.counts.submitted += other.counts.submitted;
        self.counts.captured += other.counts.captured;
        self.counts.captured_unasked += other.counts.captured_unasked;
        self.counts.captured_variance += other.counts.captured_variance;
        for (into, more) in self.counts.untimed.iter_mut().zip(other.counts.untimed) {
            *into += more;
        }
        self.work.add(&other.work);
        self.open.add(&other.open);
        self.off_main += other.off_main;
    }

    /// Calls that sampling left out, captured ones among them.
    pub(super) fn left_out_calls(&self) -> u64 {
        self.untimed(UntimedReason::LeftOutAsked) + self.untimed(UntimedReason::LeftOutUnasked)
    }

    /// Calls that were not timed for this reason.
    pub(super) fn untimed(&self, reason: UntimedReason) -> u64 {
        let count = self.counts.untimed.get(reason as usize);
        count.copied().unwrap_or(0)
    }
}

impl HostPathTotals<Ticks> {
    /// The same with durations in ns.
    pub(super) fn to_ns(self, scale: Scale) -> HostPathTotals<Ns> {
        HostPathTotals {
            cpu: self.cpu.to_ns(scale),
            wall: self.wall.to_ns(scale),
            counts: self.counts,
            work: self.work,
            open: self.open,
            off_main: self.off_main,
        }
    }

    /// Subtracts an earlier state of the same sum. Minimum, maximum and the calls in progress are
    /// left unchanged.
    pub(crate) fn subtract(&mut self, earlier: &Self) {
        self.cpu.subtract(&earlier.cpu);
        self.wall.subtract(&earlier.wall);
        self.counts.submitted = self
            .counts
            .submitted
            .saturating_sub(earlier.counts.submitted);
        self.counts.captured = self.counts.captured.saturating_sub(earlier.counts.captured);
        self.counts.captured_unasked = self
            .counts
            .captured_unasked
            .saturating_sub(earlier.counts.captured_unasked);
        self.counts.captured_variance = self
            .counts
            .captured_variance
            .saturating_sub(earlier.counts.captured_variance);
        for (into, gone) in self.counts.untimed.iter_mut().zip(earlier.counts.untimed) {
            *into = into.saturating_sub(gone);
        }
        self.work.subtract(&earlier.work);
        self.off_main = self.off_main.saturating_sub(earlier.off_main);
        if self.cpu.calls == 0 {
            self.work = StatedWork::NONE;
        }
    }
}
