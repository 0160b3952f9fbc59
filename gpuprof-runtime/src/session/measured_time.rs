//! `GPUPROF_DELAY` and `GPUPROF_FOR`: a thread that begins and ends what is measured.

use std::thread;

use crate::collector::collector;
use crate::os::thread_signals;
use crate::settings::{Mode, Settings};

/// Starts the thread if the settings of the window that was opened ask for it.
pub(super) fn start(settings: &Settings) {
    if settings.mode != Mode::On || !settings.is_timed() {
        return;
    }
    let (delay, length) = (settings.delay, settings.length);
    let run = move || {
        if let Some(delay) = delay {
            thread::sleep(delay);
            measure(true);
        }
        if let Some(length) = length {
            thread::sleep(length);
            measure(false);
        }
    };
    if let Err(error) = thread_signals::spawn("gpuprof-timer", run) {
        measure(true);
        let line = format!(
            "GPUPROF_DELAY and GPUPROF_FOR have no effect: could not start a thread: {error}"
        );
        collector().diagnostics.warning(&line);
    }
}

/// A session of the program has no such times.
fn measure(on: bool) {
    collector().measure(on, Settings::is_timed);
}
