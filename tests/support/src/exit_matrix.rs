//! The exit matrix: one row for each way in which a process can end, for `cargo xtask reliability`.
//!
//! A test adds rows while it runs. Its process prints them if `request_rows` was called.

use std::env;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gpuprof::Profile;

use crate::program::Ended;

/// Set if the rows are to be printed.
const PRINT_ROWS: &str = "GPUPROF_TEST_MATRIX";

static ROWS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether the rows are to be printed.
pub fn is_requested() -> bool {
    env::var_os(PRINT_ROWS).is_some()
}

/// Makes the process of a test print its rows.
pub(crate) fn request_rows(command: &mut Command) -> &mut Command {
    command.env(PRINT_ROWS, "1")
}

/// Prints the rows of this process, as lines of a Markdown table, if they were requested.
pub(crate) fn print_rows() {
    if is_requested() {
        rows().iter().for_each(|row| println!("{row}"));
    }
}

fn rows() -> std::sync::MutexGuard<'static, Vec<String>> {
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds one way to end: a run, the same run without gpuprof, and what the report contains.
pub fn add_row(way: &str, with: &Ended, without: &Ended, report: &str) {
    let same = |same| if same { "same" } else { "differs" };
    let stdout = same(with.stdout == without.stdout);
    let status = same(with.status == without.status);
    push(way, with.status, status, report, stdout, with.took);
}

/// Adds one way to end that cannot be compared with a run without gpuprof.
pub fn add_row_without_comparison(way: &str, ended: &Ended, report: &str) {
    push(way, ended.status, "–", report, "–", ended.took);
}

fn push(way: &str, status: ExitStatus, same: &str, report: &str, stdout: &str, took: Duration) {
    let took = took.as_secs_f64();
    let row = format!("| {way} | {status} | {same} | {report} | {stdout} | {took:.2} s |");
    rows().push(row);
}

/// What a profile contains: everything, or how much is counted as missing.
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
