//! Promise: however a process ends, the report is written once, to standard error only, and the
//! exit status is the program's own.

mod hard_conditions;
mod program;

use std::time::Duration;

use gpuprof::Profile;
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;
use support::{function, gpu};

use self::program::STDOUT;

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[TESTS, hard_conditions::TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    after_main_returns,
    after_a_panic_in_main,
    after_exit_from_main,
    after_exit_from_another_thread,
    after_exit_from_inside_a_span,
    after_a_panic_in_another_thread,
    while_other_threads_are_inside_spans,
    while_another_thread_holds_standard_error,
    spans_in_destructors_of_thread_locals_are_counted,
    queued_gpu_work_is_waited_for,
    the_wait_for_queued_gpu_work_is_bounded,
    while_another_thread_makes_a_profile,
    asking_for_the_report_changes_nothing,
    a_forked_child_reports_nothing,
    a_forked_child_waits_for_no_thread_that_was_not_forked,
    what_ends_at_once_loses_the_report_and_nothing_else,
    a_process_without_a_span_prints_nothing,
    a_terminal_gets_colours_and_its_width,
    no_color_is_honoured,
];

/// Runs `scenario` with gpuprof and without, and checks that the program can see no difference.
fn played(scenario: &str) -> (Ended, Profile) {
    let (with, profile) = Program::new(scenario).profiled();
    let without = Program::new(scenario).env("GPUPROF", "off").run();
    assert_eq!(with.status, without.status, "{with:#?}");
    assert_eq!(without.stdout, STDOUT);
    assert_eq!(with.stdout, STDOUT);
    assert_eq!(
        (with.reports(), without.reports()),
        (1, 0),
        "{}",
        with.stderr
    );
    assert_eq!(with.remarks(), [""; 0]);
    assert!(
        !with.stderr.contains('\x1b'),
        "escape codes in a pipe: {}",
        with.stderr
    );
    (with, profile)
}

fn after_main_returns() {
    let (ended, profile) = played("return");
    assert_eq!(ended.status.code(), Some(5));
    assert_eq!(function(&profile, "step").calls, 3);
    assert_eq!(gpu(&profile, "step").timed_calls, 3);
    assert_eq!(function(&profile, "work").calls, 1);
    assert!(
        ended.stderr.contains("simulated device"),
        "{}",
        ended.stderr
    );
}

fn after_a_panic_in_main() {
    let (ended, profile) = played("panic");
    assert_eq!(ended.status.code(), Some(101));
    assert!(ended.stderr.contains("as planned"));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn after_exit_from_main() {
    let (ended, profile) = played("exit");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(gpu(&profile, "step").timed_calls, 1);
}

fn after_exit_from_another_thread() {
    let (ended, profile) = played("exit elsewhere");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn after_exit_from_inside_a_span() {
    let (ended, profile) = played("exit inside");
    assert_eq!(ended.status.code(), Some(7));
    // The call that exits never ends, so only its nested call counts.
    assert_eq!(
        (
            function(&profile, "leaving").calls,
            function(&profile, "work").calls
        ),
        (0, 1)
    );
    still_runs(&ended, &profile, "leaving", 1);
}

/// Asserts that the report says of a function that `calls` of it are still running.
fn still_runs(ended: &Ended, profile: &Profile, name: &str, calls: u64) {
    assert!(profile.at_exit);
    let open = function(profile, name);
    assert_eq!(open.open_calls, calls, "{open:#?}");
    assert!(open.open_ns > 0, "{open:#?}");
    let line = |label: &str| {
        let mut lines = ended.stderr.lines();
        lines.find(|line| line.starts_with(label)).unwrap_or("")
    };
    let stderr = &ended.stderr;
    assert!(line("still running at exit:").contains(name), "{stderr}");
    assert!(!line("never called:").contains(name), "{stderr}");
}

fn after_a_panic_in_another_thread() {
    let (ended, profile) = played("panic elsewhere");
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn while_other_threads_are_inside_spans() {
    let (ended, profile) = played("inside");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(function(&profile, "waiting").calls, 0);
    still_runs(&ended, &profile, "waiting", 3);
    assert!(function(&profile, "work").calls > 0);
}

fn while_another_thread_holds_standard_error() {
    let (_, profile) = played("locked");
    assert_eq!(function(&profile, "work").calls, 1);
}

fn spans_in_destructors_of_thread_locals_are_counted() {
    let (_, profile) = played("destructors");
    assert_eq!(
        function(&profile, "work").calls + profile.diagnostics.dropped,
        3
    );
}

fn queued_gpu_work_is_waited_for() {
    let (_, profile) = played("queued");
    let step = gpu(&profile, "step");
    assert_eq!(step.timed_calls, 1);
    assert!(step.times.total_ns >= 300_000_000, "{step:#?}");
}

fn the_wait_for_queued_gpu_work_is_bounded() {
    let program = || Program::new("queued for a minute").env("GPUPROF_EXIT_WAIT", "100ms");
    let (ended, profile) = program().profiled();
    assert_eq!((ended.status.code(), &*ended.stdout), (Some(3), STDOUT));
    assert!(ended.took >= Duration::from_millis(100), "{:?}", ended.took);
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
    let step = function(&profile, "step");
    assert_eq!((step.calls, gpu(&profile, "step").timed_calls), (2, 1));
    assert_eq!((step.untimed_calls, step.untimed.unfinished), (1, 1));
    assert!(
        ended.stderr.contains("1 not finished on the GPU"),
        "{}",
        ended.stderr
    );
}

fn asking_for_the_report_changes_nothing() {
    let (_, profile) = played("asked");
    assert_eq!(function(&profile, "work").calls, 2);
}

fn a_forked_child_reports_nothing() {
    let (_, profile) = played("fork");
    assert_eq!(function(&profile, "work").calls, 1);
    let folder = Folder::create();
    let path = folder.path("{pid}.json");
    let ended = Program::new("fork")
        .env("GPUPROF_REPORT", format!("json={}", path.display()))
        .run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(
        folder.files().len(),
        1,
        "the parent's file alone: {:?}",
        folder.files()
    );
}

fn what_ends_at_once_loses_the_report_and_nothing_else() {
    for (scenario, code) in [("abort", None), ("exit at once", Some(4))] {
        let with = Program::new(scenario).run();
        let without = Program::new(scenario).env("GPUPROF", "off").run();
        assert_eq!(
            (with.status, &with.stdout, &with.stderr),
            (without.status, &without.stdout, &without.stderr)
        );
        assert_eq!((with.status.code(), with.reports()), (code, 0));
    }
}

fn a_process_without_a_span_prints_nothing() {
    let folder = Folder::create();
    let report = format!(
        "table,table:full,json={}",
        folder.path("report.json").display()
    );
    let ended = Program::new("no span").env("GPUPROF_REPORT", report).run();
    assert_eq!(
        (ended.status.code(), &*ended.stdout, &*ended.stderr),
        (Some(0), STDOUT, "")
    );
    assert_eq!(folder.files(), [""; 0]);
}

fn a_terminal_gets_colours_and_its_width() {
    let ended = Program::new("return").run_on_terminal(80);
    assert_eq!(
        (ended.status.code(), ended.reports()),
        (Some(5), 0),
        "the head is coloured"
    );
    assert!(ended.stderr.contains("\x1b["), "{}", ended.stderr);
    let plain = without_escapes(&ended.stderr);
    assert!(
        plain.contains("gpuprof ") && plain.contains("step"),
        "{plain}"
    );
    let widest = plain.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{plain}");
}

fn no_color_is_honoured() {
    let ended = Program::new("return")
        .env("NO_COLOR", "1")
        .run_on_terminal(200);
    assert_eq!(ended.reports(), 1);
    assert!(!ended.stderr.contains('\x1b'), "{}", ended.stderr);
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').expect("a colour code").1);
    std::iter::once(first).chain(rest).collect()
}

fn while_another_thread_makes_a_profile() {
    let (ended, profile) = Program::new("held for a second").profiled();
    assert_eq!(ended.status.code(), Some(7), "{ended:#?}");
    assert_eq!((ended.reports(), ended.remarks()), (1, vec![]));
    assert_eq!(function(&profile, "work").calls, 1);
    // If the other thread never releases the lock there is no report, and a line says so.
    let ended = Program::new("held for ever").run();
    assert_eq!(ended.status.code(), Some(7), "{ended:#?}");
    let line = "gpuprof: no report: another thread held a lock on the measurements for 5s";
    assert_eq!((ended.reports(), ended.remarks()), (0, vec![line]));
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
}

fn a_forked_child_waits_for_no_thread_that_was_not_forked() {
    let (ended, profile) = Program::new("fork while locked").profiled();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(function(&profile, "work").calls, 1);
    assert_eq!(function(&profile, "first_in_the_child").calls, 0);
}
