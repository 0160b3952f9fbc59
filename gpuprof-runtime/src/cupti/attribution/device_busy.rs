//! The activities of one device in one window, put in order for the [sweep](super::device_sweep).
//!
//! Records arrive in any order, so activities wait until their window ends or there are too many.

use super::device_sweep::{DeviceSweep, RowTime, TimedActivity};
use super::limits::MAX_PENDING_ACTIVITIES;
use gpuprof_report::profile::BusyRecords;

/// Of the busy time, the part that may come too late for the sweep and is left out of it: 1 %.
const MAX_LATE_SHARE: u64 = 100;

#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceBusy {
    pending: Vec<TimedActivity>,
    sweep: DeviceSweep,
    /// Of finished sweeps.
    times: BusyRecords,
    /// The time of activities that came when their time was swept already.
    late_ns: u64,
    /// The window has ended: what ran beside an activity that comes now is unknown.
    is_finished: bool,
}

impl DeviceBusy {
    /// Adds an activity. Returns what had to be finished to make room.
    #[must_use]
    pub(crate) fn add(&mut self, activity: TimedActivity) -> Vec<RowTime> {
        if self.is_finished || activity.start < self.sweep.now() {
            self.late_ns += activity.end - activity.start;
            return Vec::new();
        }
        self.pending.push(activity);
        if self.pending.len() > MAX_PENDING_ACTIVITIES {
            self.sweep_earliest(MAX_PENDING_ACTIVITIES / 2)
        } else {
            Vec::new()
        }
    }

    /// Finishes all activities so far: those that are added from now on are late.
    #[must_use]
    pub(crate) fn finish(&mut self) -> Vec<RowTime> {
        self.is_finished = true;
        let mut finished = self.sweep_earliest(self.pending.len());
        let sweep = std::mem::take(&mut self.sweep);
        let times = sweep.finish(|row_time| finished.push(row_time));
        self.times.add(&times);
        finished
    }

    /// Adds the timeline of a later window: what has not been swept of both is then of one, if
    /// nothing of the later one has been, and of that alone otherwise. Returns what was finished.
    #[must_use]
    pub(crate) fn merge(&mut self, mut later: Self) -> Vec<RowTime> {
        if !self.is_finished && !later.is_finished && later.sweep.now() == 0 {
            self.late_ns += later.late_ns;
            let pending = later.pending.into_iter();
            return pending.flat_map(|activity| self.add(activity)).collect();
        }
        let finished = self.finish();
        later.times.add(&self.times);
        later.late_ns += self.late_ns;
        *self = later;
        finished
    }

    /// The times of all finished activities; `None` if too much came late.
    pub(crate) fn times(&self) -> Option<BusyRecords> {
        let limit = self.times.busy_ns() / MAX_LATE_SHARE;
        (self.late_ns <= limit).then_some(self.times)
    }

    fn sweep_earliest(&mut self, count: usize) -> Vec<RowTime> {
        // Mostly in order already, which a stable sort makes use of.
        self.pending
            .sort_by_key(|activity| (activity.start, activity.launch));
        let mut finished = Vec::new();
        for activity in self.pending.drain(..count) {
            if self.sweep.running() < MAX_PENDING_ACTIVITIES {
                self.sweep
                    .start(&activity, |row_time| finished.push(row_time));
            } else {
                self.late_ns += activity.end - activity.start;
            }
        }
        finished
    }
}

#[cfg(test)]
mod tests;
