//! The end of the process: an `atexit` handler, or a signal if the settings ask for it, writes the
//! reports once.
//!
//! The thread-locals of the exiting thread are gone by then, other threads still run, and the
//! driver may be shutting down. Therefore the locks that a profile is made under are only tried,
//! waits are bounded, and no panic leaves the handler. Locks that other threads hold for
//! milliseconds at most, and that no code of the program runs under, are waited for.

use std::panic;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(feature = "metrics")]
use super::metrics;
use super::{checkpoint, live, open_windows, waits, write_outputs};
use crate::collector::collector;
use crate::os::own_work::OwnWork;
use crate::os::{self, fork, noted_descriptor};
use crate::settings::{Output, Settings};
use crate::site::Site;
use crate::site::all_sites::all_sites;
use crate::span::thread_state;
use gpuprof_report::diagnostic::Severity;
use gpuprof_report::profile::Profile;
use gpuprof_report::sanitize;

/// Timeout for the settings' lock, before waiting for another thread's reports.
const SETTINGS_LOCK_LIMIT: Duration = Duration::from_millis(200);

/// Timeout for each lock needed to write a report. Another thread may hold such a lock for about a
/// second while it builds a profile.
const REPORT_LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Timeout for another thread's reports, beyond the wait for GPU work.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// Timeout for a checkpoint that is being written. If it hangs, in a network file system for
/// example, the reports are written all the same.
const CHECKPOINT_LIMIT: Duration = Duration::from_secs(2);

/// Timeout for a call of CUPTI's that starts the sampling of counters or stalls.
const SAMPLING_LIMIT: Duration = Duration::from_secs(2);

/// Timeout for an answer to a viewer that is being made.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Timeout for a scrape of metrics in progress.
#[cfg(feature = "metrics")]
const SCRAPE_LIMIT: Duration = Duration::from_secs(1);

/// Timeout for the program's callback to receive the last lines.
const DIAGNOSTICS_LIMIT: Duration = Duration::from_secs(1);

/// Characters of a filter that a message shows.
const MAX_PATTERN: usize = 60;

/// Id of the process that registered the handler, 0 before. A forked child has a different id and
/// writes no report.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Progress of the reports: one of the three below.
static STATE: AtomicU8 = AtomicU8::new(NOT_BEGUN);
const NOT_BEGUN: u8 = 0;
const BEGUN: u8 = 1;
const WRITTEN: u8 = 2;

/// Registers the handler, once.
pub(super) fn register() {
    let process = std::process::id();
    let first = OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_ok() {
        register_handler();
    }
}

/// Registers the handler, also again: `atexit` handlers run in reverse order, and this one must run
/// before those that the driver registers when CUDA is initialized, and libcupti when it starts.
pub(super) fn register_handler() {
    // SAFETY: the handler is a plain function of the right type that lives as long as the program.
    let status = unsafe { libc::atexit(handler) };
    if status != 0 && STATE.load(Ordering::Relaxed) == NOT_BEGUN {
        collector()
            .diagnostics
            .error("atexit is full: there will be no report; call gpuprof::collect() for one");
    }
}

/// The end of the main thread: `exit` destroys its thread-locals before it calls any handler and
/// destroys any static.
struct MainThreadEnd;

impl Drop for MainThreadEnd {
    fn drop(&mut self) {
        if !fork::is_child() {
            let _own = OwnWork::begin();
            let cupti = &collector().cupti;
            cupti.pm_sampling.prepare_to_end(SAMPLING_LIMIT);
            cupti.pc_sampling.prepare_to_end(SAMPLING_LIMIT);
        }
    }
}

thread_local! {
    static MAIN_THREAD_END: MainThreadEnd = const { MainThreadEnd };
}

/// Notifies the sampling of counters of the end of the process in time, if this is the main thread.
pub(super) fn watch_main_thread() {
    if os::thread_id() == std::process::id() {
        let _ = MAIN_THREAD_END.try_with(|_| ());
    }
}

/// Has nothing of gpuprof run in forked children, which report nothing.
pub(super) fn register_fork_handler() {
    fork::set_handler(stop_in_forked_child);
}

/// Takes no lock.
unsafe extern "C" fn stop_in_forked_child() {
    fork::set_is_child();
    all_sites().for_each(Site::disable);
    thread_state::forget_in_forked_child();
    noted_descriptor::close_in_forked_child();
}

/// Whether the reports at exit are being made.
#[cfg(feature = "tracing")]
pub(crate) fn is_reporting() -> bool {
    STATE.load(Ordering::Acquire) == BEGUN
}

extern "C" fn handler() {
    report_once();
}

/// Writes the reports, unless they are written or this is a forked child. Returns when they are
/// written, also by another thread, or when waiting for that thread took too long.
pub(super) fn report_once() {
    if OWNER.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    let _own = OwnWork::begin();
    match STATE.compare_exchange(NOT_BEGUN, BEGUN, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // A panic must not leave a C function, and nothing is left that could handle it.
            let _ = panic::catch_unwind(write_reports);
            collector().diagnostics.wait(DIAGNOSTICS_LIMIT);
            STATE.store(WRITTEN, Ordering::Release);
        }
        Err(BEGUN) => wait_for_report(),
        Err(_) => {}
    }
}

fn wait_for_report() {
    let began = Instant::now();
    let limit = waits::exit_wait(SETTINGS_LOCK_LIMIT).saturating_add(WRITE_LIMIT);
    while STATE.load(Ordering::Acquire) != WRITTEN && began.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
}

fn write_reports() {
    let has_checkpoint = checkpoint::stop(CHECKPOINT_LIMIT);
    live::stop(ANSWER_LIMIT);
    #[cfg(feature = "metrics")]
    metrics::stop(SCRAPE_LIMIT);
    for (settings, profile) in open_windows::profiles_at_exit(REPORT_LOCK_LIMIT) {
        warn_unmatched_filter(&settings, &profile);
        let has_content = write_outputs::has_content(&profile);
        let explains = (settings.is_injected || settings.is_partial()) && !has_content;
        if explains && !settings.outputs.is_empty() {
            explain_no_records(&profile);
        }
        for output in &settings.outputs {
            let is_stale = has_checkpoint && matches!(output, Output::Json(_));
            // For `gpuprof run`, which says nothing of a program that has explained itself.
            let is_explained = explains
                && !profile.diagnostics.notes.is_empty()
                && matches!(output, Output::Json(_));
            if has_content || is_stale || is_explained {
                write_outputs::write(output, &settings, &profile);
            }
        }
    }
    #[cfg(feature = "metrics")]
    if let Some(problem) = metrics::write_files(REPORT_LOCK_LIMIT) {
        collector().diagnostics.error(&problem);
    }
}

/// Somebody has asked for the report of a program that has used CUDA, or of a part of a program.
fn explain_no_records(profile: &Profile) {
    for note in &profile.diagnostics.notes {
        collector().diagnostics.say(Severity::Note, note);
    }
}

/// A filter that matches no function is most likely a mistake.
fn warn_unmatched_filter(settings: &Settings, profile: &Profile) {
    if let Some(filter) = &settings.filter
        && profile.functions.is_empty()
    {
        let pattern = sanitize::quoted(filter.as_str(), MAX_PATTERN);
        let annotated = all_sites().count();
        let line =
            format!("the filter {pattern} matches none of the {annotated} annotated functions");
        collector().diagnostics.warning(&line);
    }
}
