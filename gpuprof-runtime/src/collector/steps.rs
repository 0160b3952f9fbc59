//! A window under a schedule: its cycles are measured one by one, and what they measured is added up.
//!
//! Nothing here waits. The GPU times of a cycle's last calls arrive while the program goes on, so a cycle is closed at the
//! first step at which they are all there, at the latest when the next one begins to measure. What comes after that still
//! counts in the sum.

use std::time::Duration;

use super::{Collector, Window, WindowTotals};
use crate::clock;
use crate::cupti;
use crate::stats::windowed::LatePolicy;
use gpuprof_report::profile::{Profile, ScheduleSteps};
use gpuprof_report::schedule::{Phase, Position, Schedule};

/// How long a step waits for a lock: these are held for milliseconds at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the step that closes a cycle waits at most for what CUPTI has ready to be read, which takes far below a millisecond. It
/// waits for no GPU work.
const READING: Duration = Duration::from_millis(100);

/// Of a cycle that was closed before that.
const NOT_READ: &str = "CUPTI's records were not all read within 100 ms of the cycle's end: kernels of it may be missing here, and \
     count in the sum of all cycles";

/// Where a window is in its schedule, and what its cycles have measured.
#[derive(Debug)]
pub(super) struct Steps {
    schedule: Schedule,
    /// Steps made.
    made: u64,
    /// What closed cycles measured.
    pub(super) done: WindowTotals,
    /// Active steps and cycles in `done`.
    done_steps: u64,
    done_cycles: u64,
    /// Active steps of the cycle that is not closed, without the one under way.
    open_steps: u64,
    /// When its last active step ended, in clock ticks; `None` while there are more to come.
    pub(super) ended: Option<u64>,
    /// What had come from CUPTI when the latest cycle began.
    pub(super) cupti: cupti::CollectionCounts,
}

impl Steps {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            made: 0,
            done: WindowTotals::default(),
            done_steps: 0,
            done_cycles: 0,
            open_steps: 0,
            ended: None,
            cupti: cupti::CollectionCounts::default(),
        }
    }

    fn position(&self) -> Position {
        self.schedule.position(self.made)
    }

    /// Whether spans do nothing now.
    pub(super) fn rests(&self) -> bool {
        self.position().phase == Phase::Wait
    }

    /// Whether what is counted in the window as it stands belongs to the result.
    pub(super) fn counts(&self) -> bool {
        self.ended.is_some() || self.position().phase == Phase::Active
    }

    /// Forgets what was measured; the schedule goes on.
    pub(super) fn forget(&mut self) {
        *self = Self {
            made: self.made,
            cupti: std::mem::take(&mut self.cupti),
            ..Self::new(self.schedule)
        };
    }

    pub(super) fn progress(&self) -> ScheduleSteps {
        let mut progress = ScheduleSteps::default();
        progress.schedule = self.schedule;
        progress.steps = self.made;
        progress.measured_steps = self.done_steps + self.open_steps;
        progress.cycles = self.done_cycles + u64::from(self.open_steps > 0);
        progress
    }
}

impl Collector {
    /// One step further. Returns what a cycle measured, once it is complete.
    pub(crate) fn step(&self) -> Option<Profile> {
        let mut window = self.window.lock();
        let measures = window.began.is_some();
        let steps = window.steps.as_mut()?;
        let before = steps.position();
        steps.made += 1;
        let after = steps.position();
        if before.phase == Phase::Active {
            steps.open_steps += 1;
            if after != before && measures {
                steps.ended = Some(clock::now());
            }
        }
        let is_ready = after.phase != Phase::Wait || self.gpu.is_settled();
        let closes = steps.ended.is_some() && is_ready;
        let closed = closes.then(|| self.close(&mut window)).flatten();
        if after != before {
            let begins = after.phase != Phase::Wait;
            // A warm-up is forgotten, and what ended in a pause. A cycle that was closed now has begun the next window.
            if begins && !closes {
                self.next_window(&window, LatePolicy::KeepPrevious);
            }
            if begins && measures {
                window.began = Some(clock::now());
            }
            if let Some(steps) = window.steps.as_mut().filter(|_| begins) {
                steps.cupti = cupti::counts().unwrap_or_default();
            }
            self.set_duties(&window);
        }
        closed
    }

    /// Ends the cycle under way, if it has measured anything, and returns what that is.
    pub(crate) fn close_cycle(&self, limit: Duration) -> Option<Profile> {
        let mut window = self.window.try_lock_for(limit)?;
        let measures = window.began.is_some();
        let steps = window.steps.as_mut()?;
        if !measures || !steps.counts() {
            return None;
        }
        if steps.ended.is_none() {
            steps.ended = Some(clock::now());
        }
        let cycle = self.close(&mut window)?;
        // The step under way may have measured nothing.
        (cycle.diagnostics.calls + cycle.diagnostics.replays > 0).then_some(cycle)
    }

    fn close(&self, window: &mut Window) -> Option<Profile> {
        let is_read = cupti::drain(READING);
        let (cycle, late) = self.next_window(window, LatePolicy::KeepCurrent);
        let steps = window.steps.as_mut()?;
        steps.done.add_late(&late);
        steps.done.fold(&cycle);
        if let Some(ended) = steps.ended.take() {
            // What comes from here on is no part of what was folded.
            window.began = Some(ended);
        }
        let measured_steps = std::mem::take(&mut steps.open_steps);
        let cycles = u64::from(measured_steps > 0);
        steps.done_steps += measured_steps;
        steps.done_cycles += cycles;
        let mut of_it = steps.progress();
        of_it.measured_steps = measured_steps;
        of_it.cycles = cycles;
        let since = steps.cupti.clone();
        let symbols = self.work.symbols(PATIENCE)?;
        let mut profile = self.profile_of(window, cycle, &symbols, &since, PATIENCE)?;
        profile.schedule = Some(of_it);
        if !is_read {
            profile.diagnostics.notes.push(NOT_READ.to_owned());
        }
        Some(profile)
    }
}
