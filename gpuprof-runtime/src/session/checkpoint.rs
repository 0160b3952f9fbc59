//! `GPUPROF_CHECKPOINT`: rewrites the JSON files of `GPUPROF_REPORT` at an interval, for a process
//! that will not reach its end: `kill -9`, `abort`, the out-of-memory killer.
//!
//! A checkpoint holds what has finished by then; it does not wait for the GPU.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::waits::LOCK_LIMIT;
use super::{open_windows, write_outputs};
use crate::collector::collector;
use crate::collector::process_state::Checkpoints;
use crate::os::{self, atomic_file, fd};
use crate::settings::{Mode, Output, Settings};

fn checkpoints() -> &'static Checkpoints {
    &collector().process.checkpoints
}

/// Starts the thread if the settings ask for it and there is a file to rewrite.
pub(super) fn start(settings: &Settings) {
    let Some(interval) = settings.checkpoint else {
        return;
    };
    if settings.mode != Mode::On {
        return;
    }
    if paths(settings).next().is_none() && !has_metrics() {
        fd::stderr(
            b"gpuprof: GPUPROF_CHECKPOINT has no effect: \
              GPUPROF_REPORT has no json=PATH to rewrite\n",
        );
        return;
    }
    if let Err(error) = os::thread_signals::spawn("gpuprof-checkpoint", move || run(interval)) {
        let line = format!(
            "gpuprof: GPUPROF_CHECKPOINT has no effect: could not start a thread: {error}\n"
        );
        fd::stderr(line.as_bytes());
    }
}

/// Waits at most `limit` for a file that is being rewritten, and lets none be rewritten for the
/// rest of the process. Returns whether one ever was.
pub(super) fn stop(limit: Duration) -> bool {
    let checkpoints = checkpoints();
    if let Some(held) = checkpoints.writing.try_lock_for(limit) {
        std::mem::forget(held);
    }
    checkpoints.has_written.load(Ordering::Acquire)
}

fn run(interval: Duration) {
    let mut has_warned = false;
    let mut took = Duration::ZERO;
    loop {
        // The content of a file is as old as the begin of its writing. For it never to be older
        // than the interval, the next write begins earlier by the time that the last one took, and
        // by a quarter for a machine that wakes threads late. A pause of at least that time leaves
        // the process room for its own work.
        thread::sleep((interval - interval / 4).saturating_sub(took * 2).max(took));
        let Some(_held) = checkpoints().writing.try_lock() else {
            return;
        };
        let began = Instant::now();
        if let Some(problem) = rewrite().or(write_metrics())
            && !has_warned
        {
            has_warned = true;
            fd::stderr(problem.as_bytes());
        }
        took = began.elapsed();
    }
}

/// Rewrites the files once. Returns a line for the user if one cannot be written.
fn rewrite() -> Option<String> {
    let (settings, profile) = open_windows::environment_profile(LOCK_LIMIT)?;
    let has_written = &checkpoints().has_written;
    // As at exit, an empty report is only written to replace an older one, or if it says why.
    let has_content = write_outputs::has_content(&profile) || settings.is_partial();
    if !has_content && !has_written.load(Ordering::Acquire) {
        return None;
    }
    let text = write_outputs::json(&profile);
    let mut problem = None;
    for path in paths(&settings) {
        match atomic_file::write(&path, &text) {
            Ok(()) => has_written.store(true, Ordering::Release),
            Err(error) => {
                let path = write_outputs::shown(&path);
                problem = Some(format!(
                    "gpuprof: cannot write the checkpoint {path} ({error})\n"
                ));
            }
        }
    }
    problem
}

#[cfg(feature = "metrics")]
use super::metrics::has_files as has_metrics;

#[cfg(not(feature = "metrics"))]
fn has_metrics() -> bool {
    false
}

/// Rewrites the files of metrics. Returns a line for the user if one cannot be written.
fn write_metrics() -> Option<String> {
    #[cfg(feature = "metrics")]
    return super::metrics::rewrite_files(LOCK_LIMIT);
    #[cfg(not(feature = "metrics"))]
    None
}

/// The JSON files that are rewritten.
fn paths(settings: &Settings) -> impl Iterator<Item = PathBuf> {
    let path = |output: &Output| match output {
        Output::Json(path) => Some(write_outputs::fill_placeholders(path)),
        _ => None,
    };
    let paths = settings.outputs.iter().filter_map(path);
    paths.filter(|path| atomic_file::is_replaced(path))
}
