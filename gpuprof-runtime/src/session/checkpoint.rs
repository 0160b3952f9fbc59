//! `GPUPROF_CHECKPOINT`: rewrites the JSON files of `GPUPROF_REPORT` at an interval, for a process
//! that will not reach its end: `kill -9`, `abort`, the out-of-memory killer.
//!
//! A checkpoint holds what has finished by then; it does not wait for the GPU. The first one comes
//! soon after the first records, and the pauses between the next ones grow up to the interval: a
//! short process has one too.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::waits::LOCK_LIMIT;
use super::{open_windows, write_outputs};
use crate::collector::collector;
use crate::collector::process_state::Checkpoints;
use crate::os::{self, atomic_file};
use crate::settings::{Mode, Output, Settings};

/// The pause before the first checkpoint, and between looks for something to write. CUPTI's reader
/// has records 100 ms after they finish at the latest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

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
        collector().diagnostics.warning(
            "GPUPROF_CHECKPOINT has no effect: GPUPROF_REPORT has no json=PATH to rewrite",
        );
        return;
    }
    if let Err(error) = os::thread_signals::spawn("gpuprof-checkpoint", move || run(interval)) {
        let line = format!("GPUPROF_CHECKPOINT has no effect: could not start a thread: {error}");
        collector().diagnostics.warning(&line);
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
    let mut early = FIRST_PAUSE;
    let mut took = Duration::ZERO;
    loop {
        thread::sleep(pause(interval, early, took));
        let Some(_held) = checkpoints().writing.try_lock() else {
            return;
        };
        let began = Instant::now();
        let rewritten = rewrite();
        let metrics_problem = write_metrics();
        if !matches!(rewritten, Rewritten::Nothing) || has_metrics() {
            early = early.saturating_mul(3) / 2;
        }
        let problem = match rewritten {
            Rewritten::Failed(problem) => Some(problem),
            Rewritten::Nothing | Rewritten::All => metrics_problem,
        };
        if let Some(problem) = problem
            && !has_warned
        {
            has_warned = true;
            collector().diagnostics.error(&problem);
        }
        took = began.elapsed();
    }
}

/// The pause before the next checkpoint: `early`, unless the interval asks for a shorter one.
///
/// The content of a file is as old as the begin of its writing. For it never to be older than the
/// interval, the next write begins earlier by the time that the last one took, and by a quarter for
/// a machine that wakes threads late. A pause of at least that time leaves the process room for its
/// own work.
fn pause(interval: Duration, early: Duration, took: Duration) -> Duration {
    let longest = (interval - interval / 4).saturating_sub(took * 2);
    longest.min(early).max(took)
}

/// What became of the files.
enum Rewritten {
    /// There is nothing to write yet.
    Nothing,
    All,
    /// A line for the user says which file cannot be written.
    Failed(String),
}

/// Rewrites the files once.
fn rewrite() -> Rewritten {
    let Some((settings, profile)) = open_windows::environment_profile(LOCK_LIMIT) else {
        return Rewritten::Nothing;
    };
    let has_written = &checkpoints().has_written;
    // As at exit, an empty report is only written to replace an older one, or if it says why.
    let has_content = write_outputs::has_content(&profile) || settings.is_partial();
    if !has_content && !has_written.load(Ordering::Acquire) {
        return Rewritten::Nothing;
    }
    let text = write_outputs::json(&profile);
    let mut rewritten = Rewritten::All;
    for path in paths(&settings) {
        match atomic_file::write(&path, &text) {
            Ok(()) => has_written.store(true, Ordering::Release),
            Err(error) => {
                let path = write_outputs::shown(&path);
                rewritten =
                    Rewritten::Failed(format!("cannot write the checkpoint {path} ({error})"));
            }
        }
    }
    rewritten
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_interval_and_leave_room() {
        let ms = Duration::from_millis;
        let second = Duration::from_secs(1);
        for (early, took, expected) in [
            (FIRST_PAUSE, Duration::ZERO, FIRST_PAUSE),
            (ms(400), ms(10), ms(400)),
            (ms(2_000), Duration::ZERO, ms(750)),
            (ms(2_000), ms(100), ms(550)),
            (Duration::MAX, ms(900), ms(900)),
            (FIRST_PAUSE, ms(200), ms(200)),
        ] {
            assert_eq!(pause(second, early, took), expected, "{early:?}, {took:?}");
        }
        assert_eq!(pause(ms(40), FIRST_PAUSE, Duration::ZERO), ms(30));
    }
}
