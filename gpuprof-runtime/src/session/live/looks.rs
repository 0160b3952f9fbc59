//! Looks of viewers at a program in standby: what they ask for is recorded while they last.
//!
//! CUPTI is started for the first look that needs it, and left after the last look.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::rate_limit::{self, ENDING, LOCKED};
use crate::collector::collector;
use crate::collector::process_state::Standby;
use crate::cupti;
use crate::os::own_work::OwnWork;
use crate::session::waits::{self, LOCK_LIMIT};
use crate::session::{answer_cost, current_profile, open_windows, serving};
use crate::settings::{CuptiMode, Settings};
use crate::span::overhead;
use gpuprof_report::live::Look;
use gpuprof_report::profile::Profile;

pub(super) const NOT_IN_STANDBY: &str = "the program is not in standby: it records what it was \
    started with; viewers choose in one that is started with GPUPROF=standby";

const IN_SESSION: &str = "the program measures a session of its own; try again when it has ended";

/// The first pause in waiting for records; each further one is twice as long.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// A look, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct OpenLook {
    number: u64,
    /// What all answers had cost when it began, ns.
    answers_ns: u64,
}

/// The program is in standby from now on: these are its settings, and what starts CUPTI.
pub(super) fn stand_by(settings: &Arc<Settings>, start_cupti: fn(&Settings)) {
    if settings.standby {
        let settings = Arc::clone(settings);
        let standby = Standby {
            settings,
            start_cupti,
        };
        let _ = collector().process.standby.set(standby);
    }
}

/// Whether the program is in standby.
pub(super) fn is_in_standby() -> bool {
    collector().process.standby.get().is_some()
}

impl OpenLook {
    /// Begins a look.
    ///
    /// # Errors
    /// Why it is not possible.
    pub(super) fn begin(look: Look) -> Result<Self, String> {
        let _own = OwnWork::begin();
        let process = &collector().process;
        let standby = process.standby.get().ok_or(NOT_IN_STANDBY)?;
        let Standby {
            settings: standby,
            start_cupti,
        } = standby;
        let mut looks = process.looks.lock();
        if serving::has_ended() {
            return Err(ENDING.to_owned());
        }
        overhead::calibrate();
        let own = Arc::new(standby.while_looked_at(look));
        let all = looks.iter().fold(look, |all, (_, other)| all.union(*other));
        let all = Arc::new(standby.while_looked_at(all));
        if open_windows::is_session_open() {
            return Err(IN_SESSION.to_owned());
        }
        // Takes up to seconds, for which a session without CUPTI must not wait.
        if own.asks_for_cupti() {
            cupti::relaxed(|| start_cupti(&all));
            if let Some(reason) = cupti::unavailable() {
                return Err(reason);
            }
        }
        let began = open_windows::unless_in_session(|| collector().begin_look(own, all));
        let number = began.ok_or(IN_SESSION)?;
        looks.push((number, look));
        Ok(Self {
            number,
            answers_ns: answer_cost::spent_ns(),
        })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The profile so far. `None`: a lock was not free.
    pub(super) fn profile(&self) -> Option<Profile> {
        let mut profile = collector().look_profile(self.number, LOCK_LIMIT)?;
        current_profile::complete(&mut profile);
        let live_ns = &mut profile.diagnostics.live_ns;
        *live_ns = live_ns.saturating_sub(self.answers_ns);
        Some(profile)
    }

    /// Ends the look, waits as a report does for what the GPU is at, and returns its profile.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn finish(self) -> Result<Profile, &'static str> {
        let profile = Cell::new(None);
        self.end(true, || {
            profile.set(rate_limit::make_at_once(|| self.profile()))
        });
        std::mem::forget(self);
        profile.take().ok_or(ENDING)?.ok_or(LOCKED)
    }

    /// Ends the look, and calls `ended` before CUPTI is left.
    fn end(&self, waits: bool, ended: impl FnOnce()) {
        let _own = OwnWork::begin();
        let process = &collector().process;
        let Some(Standby {
            settings: standby, ..
        }) = process.standby.get()
        else {
            return;
        };
        let mut looks = process.looks.lock();
        looks.retain(|(number, _)| *number != self.number);
        let rest = looks.iter().map(|(_, look)| *look).reduce(Look::union);
        let settings = match rest {
            Some(rest) => Arc::new(standby.while_looked_at(rest)),
            None => Arc::clone(standby),
        };
        if !rest.is_some_and(|rest| rest.stalls) {
            // What the device has not delivered yet is of this look.
            open_windows::change_cupti(|| {
                cupti::relaxed(|| {
                    // What goes on is ended with the next look.
                    let _ = collector().cupti.pc_sampling.end();
                });
            });
        }
        let wait = || {
            if waits {
                self.wait(standby.exit_wait);
            }
        };
        if rest.is_none() {
            // What comes late is of the window that is still open.
            collector().pause_looks();
            wait();
        }
        collector().end_look(self.number, Arc::clone(&settings));
        if rest.is_some() {
            wait();
        }
        ended();
        collector().forget_look(self.number);
        if rest.is_none() || !settings.asks_for_cupti() {
            return open_windows::leave_cupti();
        }
        // What an injected program records without a viewer is not recorded in standby.
        open_windows::change_cupti(|| {
            let all = settings.cupti == Some(CuptiMode::Full);
            cupti::record_optional(all, settings.memory);
            cupti::relaxed(|| {
                let cupti = &collector().cupti;
                if !settings.counters.is_on() {
                    cupti::end_counters(cupti);
                }
                if !settings.stalls {
                    let _ = cupti.pc_sampling.suspend();
                }
            });
        });
    }

    /// Waits at most `limit` for the GPU times of calls, and for the records of all that was
    /// launched in the look.
    fn wait(&self, limit: Duration) {
        let began = Instant::now();
        waits::wait(limit);
        let mut pause = MIN_PAUSE;
        while began.elapsed() < limit && collector().awaits_records(self.number, LOCK_LIMIT) {
            thread::sleep(pause.min(limit));
            pause *= 2;
            let _ = cupti::drain(LOCK_LIMIT);
        }
    }
}

impl Drop for OpenLook {
    fn drop(&mut self) {
        self.end(false, || {});
    }
}
