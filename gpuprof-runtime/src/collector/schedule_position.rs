//! Where a window is in its schedule, and what its cycles have measured.

use super::window_totals::HostSum;
use crate::clock;
use crate::cupti;
use gpuprof_report::profile::ScheduleSteps;
use gpuprof_report::schedule::{Phase, Position, Schedule};

/// The position in the schedule, and the sums of its closed cycles.
#[derive(Debug)]
pub(super) struct SchedulePosition {
    schedule: Schedule,
    /// Steps made so far.
    made: u64,
    /// What the closed cycles counted.
    closed: HostSum,
    /// Active steps and cycles in `closed`.
    closed_steps: u64,
    closed_cycles: u64,
    /// Finished active steps of the cycle that is still open.
    open_steps: u64,
    /// When the last active step of the open cycle ended, in clock ticks. `None` while active steps
    /// remain in the open cycle.
    ended: Option<u64>,
    /// CUPTI's counts when the latest cycle began.
    cupti: cupti::CollectionCounts,
}

impl SchedulePosition {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            made: 0,
            closed: HostSum::default(),
            closed_steps: 0,
            closed_cycles: 0,
            open_steps: 0,
            ended: None,
            cupti: cupti::CollectionCounts::default(),
        }
    }

    pub(super) fn position(&self) -> Position {
        self.schedule.position(self.made)
    }

    /// Whether spans do nothing now.
    pub(super) fn is_waiting(&self) -> bool {
        self.position().phase == Phase::Wait
    }

    /// Whether the current totals go into the profile: the phase is active, or the cycle's active
    /// steps ended but the cycle is not closed.
    pub(super) fn counts(&self) -> bool {
        self.ended.is_some() || self.position().phase == Phase::Active
    }

    /// What the closed cycles counted.
    pub(super) fn closed(&self) -> &HostSum {
        &self.closed
    }

    /// The phase in which the current totals are discarded. `None`: they count.
    pub(super) fn discards(&self) -> Option<Phase> {
        (!self.counts()).then(|| self.position().phase)
    }

    pub(super) fn closed_mut(&mut self) -> &mut HostSum {
        &mut self.closed
    }

    pub(super) fn ended(&self) -> Option<u64> {
        self.ended
    }

    pub(super) fn set_ended(&mut self, ended: u64) {
        self.ended = Some(ended);
    }

    pub(super) fn cupti(&self) -> &cupti::CollectionCounts {
        &self.cupti
    }

    pub(super) fn set_cupti(&mut self, counts: cupti::CollectionCounts) {
        self.cupti = counts;
    }

    /// Discards what was measured. The schedule goes on.
    pub(super) fn reset(&mut self) {
        *self = Self {
            made: self.made,
            cupti: std::mem::take(&mut self.cupti),
            ..Self::new(self.schedule)
        };
    }

    /// Advances by one step. `measures`: whether this window is measuring. Returns the positions
    /// before and after.
    pub(super) fn advance(&mut self, measures: bool) -> (Position, Position) {
        let before = self.position();
        self.made += 1;
        let after = self.position();
        if before.phase == Phase::Active {
            self.open_steps += 1;
            if after != before && measures {
                self.ended = Some(clock::now());
            }
        }
        (before, after)
    }

    /// Closes the open cycle. Returns its steps, and when it ended.
    pub(super) fn close_cycle(&mut self) -> (ScheduleSteps, Option<u64>) {
        let measured_steps = std::mem::take(&mut self.open_steps);
        let cycles = u64::from(measured_steps > 0);
        self.closed_steps += measured_steps;
        self.closed_cycles += cycles;
        let mut cycle = self.schedule_steps();
        cycle.measured_steps = measured_steps;
        cycle.cycles = cycles;
        (cycle, self.ended.take())
    }

    /// The schedule with its steps so far, as a profile reports them.
    pub(super) fn schedule_steps(&self) -> ScheduleSteps {
        let mut progress = ScheduleSteps::default();
        progress.schedule = self.schedule;
        progress.steps = self.made;
        progress.measured_steps = self.closed_steps + self.open_steps;
        progress.cycles = self.closed_cycles + u64::from(self.open_steps > 0);
        progress
    }
}
