//! `GPUPROF_LIVE=on`: viewers of the same user connect to a Unix socket and ask for counters, for
//! the profile, or for a time line.
//!
//! A thread waits for viewers, and each viewer has one of its own: a time line that takes seconds,
//! or a viewer that stops reading, keeps no other viewer waiting. Without a viewer nothing runs.
//! All limits are in docs/security.md.

mod answers;
mod connection;
mod connections;
mod rate_limit;
#[cfg(feature = "trace")]
mod recording;
mod server;
mod socket;

pub(super) use self::connections::close_in_forked_child;
pub(super) use self::rate_limit::stop;

use self::socket::Socket;
use super::write_outputs;
use crate::collector::collector;
use crate::os::thread_signals;
use crate::settings::{Mode, Settings};

/// Lets viewers connect, if the settings ask for it.
pub(super) fn start(settings: &Settings) {
    if !settings.live || settings.mode != Mode::On {
        return;
    }
    collector().watch_threads();
    answers::begin();
    let socket = match Socket::bind() {
        Ok(socket) => socket,
        Err((path, problem)) => {
            let path = write_outputs::shown(&path);
            return warn_without_effect(&format!("{path}: {problem}"));
        }
    };
    let serve = move || {
        server::run(&socket);
        // Its number may be that of a file of the program by now.
        std::mem::forget(socket);
    };
    if let Err(error) = thread_signals::spawn("gpuprof-live", serve) {
        socket::remove();
        warn_without_effect(&format!("could not start a thread: {error}"));
    }
}

fn warn_without_effect(problem: &str) {
    let line = format!("GPUPROF_LIVE has no effect: {problem}");
    collector().diagnostics.warning(&line);
}
