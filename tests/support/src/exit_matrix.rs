//! The exit matrix: one row for each way in which a process ends, for `cargo xtask reliability`.
//!
//! A test notes its rows while it runs; its process prints them if [`want`] asked for them.

use std::env;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gpuprof::Profile;

use crate::program::Ended;

/// Set where the rows are wanted.
const WANTED: &str = "GPUPROF_TEST_MATRIX";

static ROWS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether the rows are wanted.
pub fn is_wanted() -> bool {
    env::var_os(WANTED).is_some()
}

/// Asks the process of a test for its rows.
pub(crate) fn want(command: &mut Command) -> &mut Command {
    command.env(WANTED, "1")
}

/// Prints the rows of this process, as lines of a Markdown table, if they are wanted.
pub(crate) fn print() {
    if is_wanted() {
        rows().iter().for_each(|row| println!("{row}"));
    }
}

fn rows() -> std::sync::MutexGuard<'static, Vec<String>> {
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes one way to end: how a run ended, how the same run ended without gpuprof, and what was
/// reported.
pub fn note(way: &str, with: &Ended, without: &Ended, report: &str) {
    let same = |same| if same { "same" } else { "differs" };
    let stdout = same(with.stdout == without.stdout);
    let status = same(with.status == without.status);
    row(way, with.status, status, report, stdout, with.took);
}

/// Notes one way to end that cannot be held against the same run without gpuprof.
pub fn note_alone(way: &str, ended: &Ended, report: &str) {
    row(way, ended.status, "–", report, "–", ended.took);
}

fn row(way: &str, status: ExitStatus, same: &str, report: &str, stdout: &str, took: Duration) {
    let took = took.as_secs_f64();
    let row = format!("| {way} | {status} | {same} | {report} | {stdout} | {took:.2} s |");
    rows().push(row);
}

/// What a profile holds: everything, or how much is counted as missing.
pub fn content(profile: &Profile) -> String {
    let diagnostics = &profile.diagnostics;
    let calls = if diagnostics.calls == 1 {
        "call"
    } else {
        "calls"
    };
    let mut content = format!("complete: {} {calls}", diagnostics.calls);
    if diagnostics.calls_with_stream > 0 {
        content += &format!(
            ", {} of {} GPU-timed",
            diagnostics.timed_calls, diagnostics.calls_with_stream
        );
    }
    for (count, what) in [
        (diagnostics.untimed.unfinished, "unfinished on the GPU"),
        (diagnostics.untimed.unavailable, "after the driver's end"),
        (diagnostics.dropped, "in no row"),
    ] {
        if count > 0 {
            content += &format!(", {count} counted as {what}");
        }
    }
    content
}
