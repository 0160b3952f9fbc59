//! What `gpuprof::step()` does: notes how long the step took, advances the schedule by one step,
//! and when a cycle has ended, hands over a copy of its totals and adds them to the sum of all
//! cycles.
//!
//! Nothing here waits for the GPU. The times of a cycle's last calls arrive while the program goes
//! on, so a cycle is closed at the first step at which they are all there, at the latest when the
//! next one begins to measure. Times that arrive later still count in the sum of all cycles.

use std::time::Duration;

use super::step_clock::StepClock;
use super::window::Window;
use super::window_copy::WindowCopy;
use super::{Collector, GpuWindow};
use crate::clock;
use crate::cupti;
use crate::stats::by_window::Begins;
use gpuprof_report::schedule::Phase;

/// How long a step waits for a lock. Locks are held for milliseconds at most.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// How long closing a cycle waits for CUPTI's finished records to be read, which takes far less
/// than a millisecond.
const READ_TIMEOUT: Duration = Duration::from_millis(100);

/// The note of a cycle that was closed before its records were read.
const NOT_READ: &str = "CUPTI's records were not all read within 100 ms of the cycle's end: \
     kernels of it may be missing here, and count in the sum of all cycles";

impl Collector {
    /// Advances by one step. Once a cycle is complete, `hand_over` gets what its profile is made
    /// from, in the order of cycles. It must not take long, because the window is locked.
    pub(crate) fn step(&self, hand_over: impl FnOnce(WindowCopy)) {
        let mut window = self.window.lock();
        window.steps.step(clock::now);
        let measures = window.began.is_some();
        let Some(schedule) = window.schedule.as_mut() else {
            return;
        };
        let (before, after) = schedule.advance(measures);
        let is_ready = after.phase != Phase::Wait || self.gpu.is_settled();
        let closes = schedule.ended().is_some() && is_ready;
        if let Some(cycle) = closes.then(|| self.close(&mut window)).flatten() {
            hand_over(cycle);
        }
        if after != before {
            let begins = after.phase != Phase::Wait;
            // Discards the calls of warm-up steps, except those that began before them. The calls
            // that ended in wait steps all did. Closing a cycle has already begun a new window, so
            // there is nothing to discard then.
            if begins && !closes {
                let (discarded, _) = self.next_window(&window, Begins::Part);
                if let Some(schedule) = &mut window.schedule {
                    let closed = schedule.closed_mut();
                    closed.add_window(&discarded, Some(before.phase));
                }
            }
            if begins && measures {
                window.began = Some(clock::now());
            }
            if let Some(schedule) = window.schedule.as_mut().filter(|_| begins) {
                schedule.set_cupti(cupti::counts().unwrap_or_default());
            }
            self.apply_flags(&window);
        }
    }

    /// Closes the open cycle. If it has measured anything, `hand_over` gets what its profile is
    /// made from, as in [`step`](Self::step).
    pub(crate) fn close_cycle(&self, limit: Duration, hand_over: impl FnOnce(WindowCopy)) {
        let Some(mut window) = self.window.try_lock_for(limit) else {
            return;
        };
        let measures = window.began.is_some();
        let Some(schedule) = window.schedule.as_mut() else {
            return;
        };
        if !measures || !schedule.counts() {
            return;
        }
        if schedule.ended().is_none() {
            schedule.set_ended(clock::now());
        }
        // A cycle without a single call gives no profile.
        if let Some(cycle) = self.close(&mut window)
            && cycle.counters.has_calls()
        {
            hand_over(cycle);
        }
    }

    fn close(&self, window: &mut Window) -> Option<WindowCopy> {
        let is_read = cupti::drain(READ_TIMEOUT);
        let (totals, of_gpu) = self.next_window(window, Begins::Part);
        let schedule = window.schedule.as_mut()?;
        schedule.closed_mut().add_window(&totals, None);
        let (cycle, ended) = schedule.close_cycle();
        let since = schedule.cupti().clone();
        if let Some(ended) = ended {
            // The merged totals end at `ended`; the wall time of the next window starts there.
            window.began = Some(ended);
        }
        let GpuWindow { gpu, cupti } = of_gpu?;
        Some(WindowCopy {
            counters: totals.counters,
            wall_ticks: totals.wall_ticks,
            gpu,
            cupti,
            symbols: self.cupti.symbols(LOCK_TIMEOUT)?,
            since,
            settings: window.settings().cloned(),
            began_at: window.began_at,
            // They are of the window, not of the cycle.
            steps: StepClock::default(),
            schedule: Some(cycle),
            runs_cupti: window.runs_cupti(),
            note: (!is_read).then_some(NOT_READ),
        })
    }
}
