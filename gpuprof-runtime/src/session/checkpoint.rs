//! `GPUPROF_CHECKPOINT`: the JSON files of `GPUPROF_REPORT`, rewritten every so often, for a process that will not reach its
//! end: `kill -9`, `abort`, the out-of-memory killer.
//!
//! What is finished at that moment, without waiting for the GPU. Must not import what measures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::control;
use super::outputs;
use crate::os::{self, atomic_file, fd};
use crate::settings::{Mode, Output, Settings};

/// How long each lock is waited for: these are held for microseconds, and the next time will come.
const PATIENCE: Duration = Duration::from_secs(1);

/// Held while files are rewritten, and by the end of the process: what was true before must not replace the last word.
static WRITING: Mutex<()> = Mutex::new(());
/// A file was rewritten: the end of the process must replace it, even by a report of nothing.
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Starts the thread, where the settings ask for it and there is something to rewrite.
pub(super) fn start(settings: &Settings) {
    let Some(interval) = settings.checkpoint else {
        return;
    };
    if settings.mode != Mode::On {
        return;
    }
    if paths(settings).next().is_none() {
        fd::stderr(
            b"gpuprof: GPUPROF_CHECKPOINT has no file to rewrite: it needs json=PATH in GPUPROF_REPORT\n",
        );
        return;
    }
    if os::thread::spawn("gpuprof-checkpoint", move || run(interval)).is_none() {
        fd::stderr(b"gpuprof: GPUPROF_CHECKPOINT has no effect: no thread is to be had\n");
    }
}

/// Waits, at most `limit`, until no file is being rewritten, and keeps it so for the rest of the process. Returns whether
/// any ever was.
pub(super) fn stop(limit: Duration) -> bool {
    if let Some(held) = WRITING.try_lock_for(limit) {
        std::mem::forget(held);
    }
    WRITTEN.load(Ordering::Acquire)
}

fn run(interval: Duration) {
    let mut told = false;
    let mut took = Duration::ZERO;
    loop {
        // What is in the file was true when its writing began. So that it is never older than the interval, the next is
        // begun as much earlier as the last one took, and a quarter for a machine on which threads are woken late; but not
        // so early that the process would do nothing else.
        thread::sleep((interval - interval / 4).saturating_sub(took * 2).max(took));
        let Some(_held) = WRITING.try_lock() else {
            return;
        };
        let began = Instant::now();
        if let Some(problem) = rewrite()
            && !told
        {
            told = true;
            fd::stderr(problem.as_bytes());
        }
        took = began.elapsed();
    }
}

/// Rewrites the files once. Returns a line for the user where one cannot be written.
fn rewrite() -> Option<String> {
    let (settings, profile) = control::of_environment(PATIENCE)?;
    // As at exit: where nothing was counted there is no report, unless an older one would stay.
    if !outputs::has_content(&profile) && !WRITTEN.load(Ordering::Acquire) {
        return None;
    }
    let text = outputs::json(&profile);
    let mut problem = None;
    for path in paths(&settings) {
        match atomic_file::write(&path, &text) {
            Ok(()) => WRITTEN.store(true, Ordering::Release),
            Err(error) => {
                let path = outputs::shown(&path);
                problem = Some(format!(
                    "gpuprof: cannot write the checkpoint {path} ({error})\n"
                ));
            }
        }
    }
    problem
}

/// The files that are rewritten.
fn paths(settings: &Settings) -> impl Iterator<Item = String> {
    let path = |output: &Output| match output {
        Output::Json(path) => Some(outputs::fill_in(path)),
        Output::Table | Output::Tree => None,
    };
    let paths = settings.outputs.iter().filter_map(path);
    paths.filter(|path| atomic_file::is_replaced(path))
}
