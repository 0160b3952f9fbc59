//! The end of the process: the report is written from an `atexit` handler, once, whatever way `exit` was reached, or
//! before a signal ends the process, where that was asked for.
//!
//! The exiting thread's thread-locals are gone by then, other threads still run, and the driver may be shutting down: so
//! the locks that a profile is made under are tried, waits are bounded, and nothing here panics outward. Locks that others hold
//! for no more than milliseconds, and no user's code runs under, are waited for: to end a cycle of a schedule takes such.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{checkpoint, control, outputs, signals};
use crate::os::fd;
use crate::settings::{Mode, Output, Settings};
use crate::site::{Entry, GATE_SHUT};
use gpuprof_report::profile::Profile;
use gpuprof_report::sanitize;

/// How long who waits for the reports waits for a lock first.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long the handler waits for each lock before there is no report. Who has one has it for as long as a profile takes to make,
/// which of a large program on a busy machine is a second.
const LONGEST_LOCK: Duration = Duration::from_secs(5);

/// How long whoever ends the process waits for a report that is being written, beside the wait for GPU work in it.
const LONGEST_WRITE: Duration = Duration::from_secs(10);

/// How long the end waits for a checkpoint to be whole. Where that hangs, in a network file system for example, the
/// reports are written all the same.
const LONGEST_CHECKPOINT: Duration = Duration::from_secs(2);

/// How much of a filter is repeated to the user.
const LONGEST_PATTERN: usize = 60;

static OWNER: AtomicU32 = AtomicU32::new(0);

/// How far the reports are: one of the three below.
static STATE: AtomicU8 = AtomicU8::new(NOT_BEGUN);
const NOT_BEGUN: u8 = 0;
const BEGUN: u8 = 1;
const WRITTEN: u8 = 2;

/// Registers the handler, once.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        OWNER.store(std::process::id(), Ordering::Relaxed);
        register_handler();
        // Where there is no memory for it, a forked child may find a lock held for ever; nothing else is lost.
        // SAFETY: the handler is a plain function of the right type that lives as long as the program.
        unsafe { libc::pthread_atfork(None, None, Some(shut_all_gates)) };
    });
}

/// Registers it again once CUDA is up: handlers run last-in first-out, so ours then comes before the driver's own.
pub(crate) fn register_after_cuda() {
    static ONCE: Once = Once::new();
    ONCE.call_once(register_handler);
}

/// Registers it again after something has that comes with handlers of its own, so that ours runs before them.
pub(crate) fn register_again() {
    register_handler();
}

/// Does what the environment asks for beyond the report at exit. To be called once, after [`register`].
pub(crate) fn follow(settings: &Settings) {
    checkpoint::start(settings);
    // Where nothing is measured there is nothing to print first.
    if settings.signals && settings.mode == Mode::On && !signals::take() {
        fd::stderr(b"gpuprof: GPUPROF_SIGNALS has no effect: no thread is to be had\n");
    }
}

fn register_handler() {
    // SAFETY: the handler is a plain function of the right type that lives as long as the program.
    let status = unsafe { libc::atexit(handler) };
    if status != 0 {
        fd::stderr(
            b"gpuprof: atexit is full: there will be no report; call gpuprof::collect() for one\n",
        );
    }
}

/// In a forked child, where nothing is reported: spans do nothing from now on, as they could wait for locks whose holders were
/// not forked. Takes none itself.
unsafe extern "C" fn shut_all_gates() {
    for entry in inventory::iter::<Entry> {
        entry.0.gate.store(GATE_SHUT, Ordering::Relaxed);
    }
}

extern "C" fn handler() {
    report_once();
}

/// Writes the reports, unless that was done or this is a forked child. Returns when they are written; where another
/// thread writes them, not before that one is done, or far too late.
pub(super) fn report_once() {
    if OWNER.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    match STATE.compare_exchange(NOT_BEGUN, BEGUN, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // A panic must not leave a C function. There is nothing sensible left to do about it either.
            let _ = panic::catch_unwind(write_reports);
            STATE.store(WRITTEN, Ordering::Release);
        }
        Err(BEGUN) => wait_for_the_other(),
        Err(_) => {}
    }
}

/// Waits until the thread that writes the reports is done.
fn wait_for_the_other() {
    let began = Instant::now();
    let limit = control::exit_wait(PATIENCE).saturating_add(LONGEST_WRITE);
    while STATE.load(Ordering::Acquire) != WRITTEN && began.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
}

fn write_reports() {
    let replaces = checkpoint::stop(LONGEST_CHECKPOINT);
    for (settings, profile) in control::at_exit(LONGEST_LOCK) {
        tell_of_filter(&settings, &profile);
        for output in &settings.outputs {
            let is_stale = replaces && matches!(output, Output::Json(_));
            if outputs::has_content(&profile) || is_stale {
                outputs::write(output, &settings, &profile);
            }
        }
    }
}

/// A filter that leaves nothing over is most likely a slip of the pen.
fn tell_of_filter(settings: &Settings, profile: &Profile) {
    if let Some(filter) = &settings.filter
        && profile.functions.is_empty()
    {
        let pattern = sanitize::quoted(filter.as_str(), LONGEST_PATTERN);
        let annotated = inventory::iter::<Entry>.into_iter().count();
        let line = format!(
            "gpuprof: the filter {pattern} matches none of the {annotated} annotated functions\n"
        );
        fd::stderr(line.as_bytes());
    }
}
