//! The tests of `exit.rs` under hard conditions: standard error is closed, broken or full, the
//! driver is gone, or another program is started.

use std::time::Duration;

use support::program::{Ended, Folder, Program, read_profile};
use support::tests;
use support::{function, gpu};

use super::played;
use super::program::STDOUT;

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    with_standard_error_closed,
    with_nobody_to_read_standard_error,
    with_standard_error_full_for_a_while,
    with_the_driver_torn_down,
    with_the_driver_torn_down_in_the_middle,
    from_a_panic_hook,
    a_child_by_fork_and_exec_reports_for_itself,
];

/// Runs `scenario` by `run` with the JSON in a file, and without gpuprof, and checks that the ends
/// are the same.
fn same_end(scenario: &str, run: fn(Program) -> Ended) -> Ended {
    let folder = Folder::create();
    let path = folder.path("report.json");
    let report = format!("table,json={}", path.display());
    let with = run(Program::new(scenario).env("GPUPROF_REPORT", report));
    let without = run(Program::new(scenario).env("GPUPROF", "off"));
    assert_eq!(with.status, without.status, "{with:#?}");
    assert_eq!((&*with.stdout, &*without.stdout), (STDOUT, STDOUT));
    let profile = read_profile(&path, &with);
    assert_eq!(function(&profile, "work").calls, 1);
    assert_eq!(folder.files(), ["report.json"]);
    with
}

fn with_standard_error_closed() {
    let ended = same_end("closed", Program::run);
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), ""));
}

fn with_nobody_to_read_standard_error() {
    let ended = same_end("broken", Program::run_without_reader);
    assert_eq!(ended.status.code(), Some(6));
}

fn with_standard_error_full_for_a_while() {
    let late = |program: Program| program.run_read_late(Duration::from_millis(300));
    let ended = same_end("full", late);
    assert_eq!((ended.status.code(), ended.reports()), (Some(0), 1));
    // The table is complete: its last line was written.
    assert!(
        ended.stderr.contains("gpuprof's overhead"),
        "{}",
        ended.stderr
    );
}

fn with_the_driver_torn_down() {
    let (ended, profile) = played("torn down");
    assert_eq!(ended.status.code(), Some(3));
    assert_eq!(gpu(&profile, "step").timed_calls, 1);
    assert!(
        profile.diagnostics.errors.is_empty(),
        "{:#?}",
        profile.diagnostics
    );
}

fn with_the_driver_torn_down_in_the_middle() {
    let (ended, profile) = played("torn down in the middle");
    assert_eq!(ended.status.code(), Some(3));
    let step = function(&profile, "step");
    assert_eq!((step.calls, step.untimed_calls), (1, 1), "{step:#?}");
    assert!(
        profile.diagnostics.errors.is_empty(),
        "{:#?}",
        profile.diagnostics
    );
    // The driver has shut down, so no time can arrive and the exit does not wait.
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
}

fn from_a_panic_hook() {
    let (ended, profile) = played("hook");
    assert_eq!(ended.status.code(), Some(8));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn a_child_by_fork_and_exec_reports_for_itself() {
    let folder = Folder::create();
    let report = format!("table,json={}", folder.path("{pid}.json").display());
    let with = Program::new("fork and exec")
        .env("GPUPROF_REPORT", report)
        .run();
    let without = Program::new("fork and exec").env("GPUPROF", "off").run();
    assert_eq!(
        (with.status, &with.stdout),
        (without.status, &without.stdout)
    );
    assert_eq!((with.reports(), folder.files().len()), (2, 2), "{with:#?}");
    let calls: Vec<u64> = (folder.files().iter())
        .map(|file| read_profile(&folder.path(file), &with).diagnostics.calls)
        .collect();
    assert!(calls == [1, 2] || calls == [2, 1], "{calls:?}");
}
