//! Which window is open, the environment's or a session's, and what the end of the process reports.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::current_profile;
use super::waits::{self, LOCK_LIMIT};
use crate::collector::collector;
use crate::collector::process_state::Sessions;
use crate::cupti;
use crate::settings::Settings;
use gpuprof_report::profile::Profile;

fn sessions() -> &'static Mutex<Sessions> {
    &collector().process.sessions
}

/// Another session is open.
pub(super) struct SessionOpen;

/// Ends the environment's window, if that is open, and calls `start` to open the session's.
///
/// A program in standby waits for nothing, and has no report of that window.
pub(super) fn begin_session(start: impl FnOnce()) -> Result<(), SessionOpen> {
    let settings = || collector().settings(LOCK_LIMIT).filter(|s| !s.standby);
    if let Some(settings) = settings().filter(|_| !is_session_open()) {
        waits::wait(settings.exit_wait);
    }
    let mut sessions = sessions().lock();
    if is_session_open() {
        return Err(SessionOpen);
    }
    if let Some(settings) = settings() {
        sessions.environment =
            current_profile::current(LOCK_LIMIT).map(|profile| (settings, profile));
    }
    set_session_open(true);
    start();
    Ok(())
}

/// Whether a session is open, or begins.
pub(super) fn is_session_open() -> bool {
    collector().process.is_session_open.load(Relaxed)
}

fn set_session_open(is_open: bool) {
    let process = &collector().process;
    process.is_session_open.store(is_open, Relaxed);
}

/// Calls `then` unless a session is open. One that begins meanwhile waits until `then` returns.
/// `None`: one is open.
pub(super) fn unless_in_session<T>(then: impl FnOnce() -> T) -> Option<T> {
    // Held meanwhile: no session must begin in between.
    let _sessions = sessions().lock();
    (!is_session_open()).then(then)
}

/// Calls `change`, which changes what CUPTI does, while nobody else starts or leaves it, unless a
/// session is open: that may need what CUPTI does.
pub(super) fn change_cupti(change: impl FnOnce()) {
    cupti::while_unchanged(|| {
        if !is_session_open() {
            change();
        }
    });
}

/// Leaves CUPTI, unless a session is open.
pub(super) fn leave_cupti() {
    change_cupti(|| cupti::relaxed(|| cupti::suspend(&collector().cupti, LOCK_LIMIT)));
}

/// Ends the session's window: nothing is measured until the next one.
pub(super) fn end_session() {
    collector().stop();
    cupti::record_stacks(false);
    let sessions = sessions().lock();
    set_session_open(false);
    drop(sessions);
    let process = &collector().process;
    let is_last = || {
        process
            .looks
            .try_lock()
            .is_some_and(|looks| looks.is_empty())
    };
    if process.standby.get().is_some() && is_last() {
        leave_cupti();
    }
}

/// What the environment's window has measured so far, or had measured when the first session began.
/// `None` if a lock was not free within `limit`.
pub(super) fn environment_profile(limit: Duration) -> Option<(Arc<Settings>, Profile)> {
    // Held while the profile is made: it must not become that of a session which begins meanwhile.
    let sessions = sessions().try_lock_for(limit)?;
    if let Some(environment) = &sessions.environment {
        return Some(environment.clone());
    }
    Some((
        collector().settings(limit)?,
        current_profile::current(limit)?,
    ))
}

/// What is reported when the process ends, in order: settings and profile of each window.
pub(super) fn profiles_at_exit(limit: Duration) -> Vec<(Arc<Settings>, Profile)> {
    let sessions = sessions().try_lock_for(limit);
    let mut is_lost = sessions.is_none();
    let environment = sessions.and_then(|mut sessions| sessions.environment.take());
    let settings = collector().settings(limit);
    is_lost |= settings.is_none() && collector().is_held();
    let (began, exit_wait) = (Instant::now(), settings.as_ref().map(|s| s.exit_wait));
    if let Some(exit_wait) = exit_wait {
        collector().wait(exit_wait);
    }
    // Also if no window is open: CUPTI's reader must not run while the driver or CUPTI shuts down.
    cupti::drain_last(waits::read_limit(exit_wait.unwrap_or_default(), began));
    let open = settings.and_then(|settings| {
        let profile = current_profile::current(limit);
        is_lost |= profile.is_none();
        let mut profile = profile?;
        profile.at_exit = true;
        Some((settings, profile))
    });
    if is_lost {
        let line =
            format!("no report: another thread held a lock on the measurements for {limit:?}");
        collector().diagnostics.error(&line);
    }
    let environment = environment.map(|(settings, mut profile)| {
        profile.at_exit = true;
        (settings, profile)
    });
    environment.into_iter().chain(open).collect()
}
