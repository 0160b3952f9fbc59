//! Starts measuring, takes profiles, resets, and counts the program's steps.

#[cfg(feature = "metrics")]
use super::metrics;
use super::waits::{self, LOCK_LIMIT};
use super::{
    checkpoint, cupti_start, current_profile, elf_note, exit, live, measured_time, signals,
};
use crate::collector::collector;
use crate::cupti;
use crate::os::own_work::OwnWork;
use crate::os::{fork, user};
use crate::settings::{self, Mode, Settings};
use crate::span::overhead;
use gpuprof_report::profile::Profile;
use std::sync::{Arc, Once};

const FOREIGN_RIGHTS: &str = "off: this program has rights that its user lacks (set-user-id, \
                              set-group-id or file capabilities)";

/// For functions of a library that was loaded into a program which `gpuprof run` measures.
const INJECTED: &str = "off in a library that this program loads: gpuprof run measures the whole \
                        program; functions with #[gpu_profile] are measured without gpuprof run";

/// Opens the window that the environment describes, unless a window was opened before.
pub(crate) fn start_from_environment() {
    start_once(|| {
        // The environment's author must not write files, or load libraries, with its rights.
        if user::has_foreign_rights() {
            return (Settings::off(), vec![FOREIGN_RIGHTS.to_owned()]);
        }
        let (settings, problems) = settings::from_env(std::env::vars_os());
        if settings.may_measure() && elf_note::other_copies().injected {
            return (Settings::off(), vec![INJECTED.to_owned()]);
        }
        (settings, problems)
    });
}

/// Opens the window with the settings that `read` gives, beside what is wrong with them, unless a
/// window was opened before.
pub(crate) fn start_once(read: impl FnOnce() -> (Settings, Vec<String>)) {
    static ONCE: Once = Once::new();
    if fork::is_child() || ONCE.is_completed() {
        return;
    }
    let _own = OwnWork::begin();
    ONCE.call_once(|| {
        exit::register_fork_handler();
        if !collector().is_untouched() {
            return;
        }
        let (settings, problems) = read();
        for problem in problems {
            collector().diagnostics.warning(&problem);
        }
        let settings = Arc::new(settings);
        start(Arc::clone(&settings));
        measured_time::start(&settings);
        #[cfg(feature = "metrics")]
        metrics::start(&settings);
        checkpoint::start(&settings);
        live::start(&settings, cupti_start::start_for_look);
        signals::start(&settings);
    });
}

/// Opens a window with these settings; its report is written at exit unless the session is ended
/// before.
pub(super) fn start(settings: Arc<Settings>) {
    let settings = if user::has_foreign_rights() {
        Arc::new(Settings::off())
    } else {
        settings
    };
    // Before CUPTI, whose start is given up if the process ends meanwhile.
    exit::register();
    if settings.mode == Mode::On {
        overhead::calibrate();
        if settings.asks_for_cupti() {
            cupti_start::start(&settings);
        }
    }
    let is_on = settings.mode == Mode::On && settings.asks_for_cupti();
    cupti::record_stacks(is_on && settings.stacks);
    let first_context = &collector().first_context;
    first_context.set_call(exit::register_handler);
    collector().start(settings);
}

/// What was measured so far, without waiting: GPU times that are not read yet count as unfinished.
#[must_use]
pub fn snapshot() -> Profile {
    let _own = OwnWork::begin();
    start_from_environment();
    if fork::is_child() {
        return current_profile::empty();
    }
    current_profile::current(LOCK_LIMIT).unwrap_or_else(current_profile::empty)
}

/// What was measured so far, after waiting for the GPU times of the calls that have ended.
///
/// Waits at most `GPUPROF_EXIT_WAIT`; calls that the GPU has not finished by then count as
/// unfinished. It waits for gpuprof's own events only and never synchronizes a stream, context or
/// device.
#[must_use]
pub fn collect() -> Profile {
    let _own = OwnWork::begin();
    start_from_environment();
    if fork::is_child() {
        return current_profile::empty();
    }
    waits::wait(waits::exit_wait(LOCK_LIMIT));
    current_profile::current(LOCK_LIMIT).unwrap_or_else(current_profile::empty)
}

/// Resets all counters. A call in progress is counted once, when it ends.
pub fn reset() {
    let _own = OwnWork::begin();
    start_from_environment();
    if !fork::is_child() {
        collector().reset();
    }
}

/// Ends one step of the program, such as a training step or a batch, and begins the next.
///
/// The profile has the wall times of the steps. Step 1 begins when measuring does; a step takes its
/// time on the CPU, without waiting for the GPU.
pub fn step() {
    let _own = OwnWork::begin();
    start_from_environment();
    if !fork::is_child() {
        collector().step();
    }
}
