//! What `gpuprof::step()` does: advances the schedule by one step, and when a cycle has ended,
//! returns the cycle's profile and adds its totals to the sum of all cycles.
//!
//! Nothing here waits for the GPU. The times of a cycle's last calls arrive while the program goes
//! on, so a cycle is closed at the first step at which they are all there, at the latest when the
//! next one begins to measure. Times that arrive later still count in the sum of all cycles.

use std::time::Duration;

use super::Collector;
use super::window::Window;
use crate::clock;
use crate::cupti;
use crate::stats::late_results::LatePolicy;
use gpuprof_report::profile::Profile;
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
    /// Advances by one step. Returns the profile of a cycle once it is complete.
    pub(crate) fn step(&self) -> Option<Profile> {
        let mut window = self.window.lock();
        let measures = window.began.is_some();
        let schedule = window.schedule.as_mut()?;
        let (before, after) = schedule.advance(measures);
        let is_ready = after.phase != Phase::Wait || self.gpu.is_settled();
        let closes = schedule.ended().is_some() && is_ready;
        let closed = closes.then(|| self.close(&mut window)).flatten();
        if after != before {
            let begins = after.phase != Phase::Wait;
            // Discards the calls of warm-up steps, except those that began before them. The calls
            // that ended in wait steps all did. Closing a cycle has already begun a new window, so
            // there is nothing to discard then.
            if begins && !closes {
                let (discarded, _) = self.next_window(&window, LatePolicy::KeepPrevious);
                if let Some(schedule) = &mut window.schedule {
                    let kept = discarded.of_calls_begun_before(before.phase);
                    schedule.closed_mut().counters.merge(kept);
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
        closed
    }

    /// Closes the open cycle and returns its profile, if it has measured anything.
    pub(crate) fn close_cycle(&self, limit: Duration) -> Option<Profile> {
        let mut window = self.window.try_lock_for(limit)?;
        let measures = window.began.is_some();
        let schedule = window.schedule.as_mut()?;
        if !measures || !schedule.counts() {
            return None;
        }
        if schedule.ended().is_none() {
            schedule.set_ended(clock::now());
        }
        let cycle = self.close(&mut window)?;
        // A cycle without a single call or replay gives no profile.
        (cycle.diagnostics.calls + cycle.diagnostics.replays > 0).then_some(cycle)
    }

    fn close(&self, window: &mut Window) -> Option<Profile> {
        let is_read = cupti::drain(READ_TIMEOUT);
        let (totals, late) = self.next_window(window, LatePolicy::KeepCurrent);
        let schedule = window.schedule.as_mut()?;
        schedule.closed_mut().add_late(&late);
        schedule.closed_mut().merge(&totals);
        let (cycle, ended) = schedule.close_cycle();
        let since = schedule.cupti().clone();
        if let Some(ended) = ended {
            // The merged totals end at `ended`; the wall time of the next window starts there.
            window.began = Some(ended);
        }
        let symbols = self.cupti.symbols(LOCK_TIMEOUT)?;
        let mut profile = self.build_profile(window, totals, &symbols, &since, LOCK_TIMEOUT)?;
        profile.schedule = Some(cycle);
        if !is_read {
            profile.diagnostics.notes.push(NOT_READ.to_owned());
        }
        Some(profile)
    }
}
