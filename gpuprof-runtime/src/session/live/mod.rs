//! `GPUPROF_LIVE=on` and `GPUPROF=standby`: viewers of the same user connect to a Unix socket and
//! ask for counters, for the profile, or for a time line.
//!
//! A thread waits for viewers, and each viewer has one of its own: a time line that takes seconds,
//! or a viewer that stops reading, keeps no other viewer waiting. Without a viewer nothing runs.
//! All limits are in docs/security.md.

mod answers;
mod connection;
mod looks;
mod rate_limit;
#[cfg(feature = "trace")]
mod recording;
mod server;
mod socket;
mod waiting;

pub(super) use self::rate_limit::stop;

use std::sync::Arc;

use self::socket::Socket;
use super::write_outputs;
use crate::collector::collector;
use crate::os::thread_signals;
use crate::settings::Settings;

/// Lets viewers connect, if the settings ask for it. `start_cupti` is for their looks.
pub(super) fn start(settings: &Arc<Settings>, start_cupti: fn(&Settings)) {
    if !settings.live || !settings.may_measure() {
        return;
    }
    let setting = if settings.standby {
        "GPUPROF=standby"
    } else {
        "GPUPROF_LIVE"
    };
    looks::stand_by(settings, start_cupti);
    collector().watch_threads();
    answers::begin();
    let socket = match Socket::bind() {
        Ok(socket) => socket,
        Err((path, problem)) => {
            let path = write_outputs::shown(&path);
            return warn_without_effect(setting, &format!("{path}: {problem}"));
        }
    };
    let serve = move || {
        server::run(&socket);
        // Its number may be that of a file of the program by now.
        std::mem::forget(socket);
    };
    if let Err(error) = thread_signals::spawn("gpuprof-live", serve) {
        socket::remove();
        warn_without_effect(setting, &format!("could not start a thread: {error}"));
    }
}

fn warn_without_effect(setting: &str, problem: &str) {
    let line = format!("{setting} has no effect: {problem}");
    collector().diagnostics.warning(&line);
}
