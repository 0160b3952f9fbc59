//! Promise: with `GPUPROF_SIGNALS=on`, SIGINT and SIGTERM write the report first and then end the
//! process as without gpuprof. Other handlers of these signals (tokio, ctrlc, signal-hook, the
//! program itself) notice no difference.

mod program;

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use libc::{SIGINT, SIGTERM};
use support::function;
use support::program::{Ended, Folder, Program, read_profile};
use support::suite::Module;
use support::tests;

use self::program::{GRACEFUL, GRACEFUL_STATUS};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    both_signals_print_the_report_first,
    a_function_that_a_signal_interrupts_is_reported_as_running,
    without_the_setting_a_signal_ends_the_process_at_once,
    queued_gpu_work_is_waited_for,
    a_second_signal_ends_at_once,
    an_exit_while_the_report_is_written_waits_for_it,
    an_ignored_signal_stays_ignored,
    handlers_of_others_are_left_alone,
    ctrlc_that_requires_the_default_action_gets_an_error,
    a_program_that_waits_for_the_signal_gets_it,
    a_forked_child_ends_by_the_signal,
];

/// Runs `scenario` with gpuprof on signals and without gpuprof, sends `signals`, and checks that
/// both runs have the same exit status and stdout.
fn signalled(scenario: &str, signals: &[i32]) -> Ended {
    let folder = Folder::create();
    let path = folder.path("report.json");
    let run = |program: Program| {
        let running = program.start().until_ready();
        signals.iter().for_each(|signal| running.signal(*signal));
        running.end()
    };
    let program = Program::new(scenario).env("GPUPROF_SIGNALS", "on");
    let with = run(program.env("GPUPROF_REPORT", format!("table,json={}", path.display())));
    let without = run(Program::new(scenario).env("GPUPROF", "off"));
    assert_eq!(with.status, without.status, "{scenario}: {with:#?}");
    assert_eq!(with.stdout, without.stdout, "{scenario}");
    assert_eq!((with.reports(), with.remarks()), (1, vec![]), "{with:#?}");
    let profile = read_profile(&path, &with);
    // Once before the signal, and again if the program survives the signal and exits by itself.
    let calls = if with.status.signal().is_some() { 1 } else { 2 };
    assert_eq!(function(&profile, "work").calls, calls, "{scenario}");
    assert_eq!(folder.files(), ["report.json"]);
    with
}

fn both_signals_print_the_report_first() {
    for signal in [SIGINT, SIGTERM] {
        let ended = signalled("none", &[signal]);
        assert_eq!(ended.status.signal(), Some(signal));
    }
}

fn a_function_that_a_signal_interrupts_is_reported_as_running() {
    let ended = signalled("serving", &[SIGINT]);
    let stderr = &ended.stderr;
    assert!(stderr.contains("still running at exit:"), "{stderr}");
    assert!(stderr.contains("serving for "), "{stderr}");
}

fn without_the_setting_a_signal_ends_the_process_at_once() {
    let run = |variable: &str, value: &str| {
        let program = Program::new("queued").env(variable, value);
        let running = program.start().until_ready();
        running.signal(SIGINT);
        running.end()
    };
    let with = run("GPUPROF_SIGNALS", "off");
    let without = run("GPUPROF", "off");
    assert_eq!((with.status.signal(), &*with.stderr), (Some(SIGINT), ""));
    assert_eq!(with.status, without.status);
}

fn queued_gpu_work_is_waited_for() {
    let ended = signalled("queued", &[SIGTERM]);
    assert_eq!(ended.status.signal(), Some(SIGTERM));
    assert!(
        ended.stderr.contains("GPU-timed all 1 function calls"),
        "{}",
        ended.stderr
    );
}

fn a_second_signal_ends_at_once() {
    for second in [SIGINT, SIGTERM] {
        let run = |variable: &str, value: &str| {
            let program = Program::new("queued for a minute").env("GPUPROF_EXIT_WAIT", "60s");
            let running = program.env(variable, value).start().until_ready();
            running.signal(SIGINT);
            // The program must receive the first signal before the second: pending signals have no
            // order.
            std::thread::sleep(Duration::from_millis(100));
            running
        };
        let running = run("GPUPROF_SIGNALS", "on");
        running.signal(second);
        let with = running.end();
        assert_eq!((with.status.signal(), &*with.stderr), (Some(second), ""));
        assert!(with.took < Duration::from_secs(50), "{:?}", with.took);
    }
}

fn an_exit_while_the_report_is_written_waits_for_it() {
    let (ended, profile) = Program::new("exit meanwhile")
        .env("GPUPROF_SIGNALS", "on")
        .profiled();
    let (status, signal) = (ended.status.code(), ended.status.signal());
    assert!(
        status == Some(3) || signal == Some(SIGTERM),
        "{:?}",
        ended.status
    );
    assert_eq!(ended.reports(), 1);
    assert_eq!(
        profile.diagnostics.timed_calls, 1,
        "{:#?}",
        profile.diagnostics
    );
}

fn an_ignored_signal_stays_ignored() {
    // As by nohup.
    let ended = signalled("ignored", &[SIGINT, SIGTERM]);
    assert_eq!(ended.status.signal(), Some(SIGTERM));
}

fn handlers_of_others_are_left_alone() {
    for scenario in [
        "own",
        "tokio",
        "tokio first",
        "ctrlc",
        "ctrlc first",
        "signal-hook",
        "signal-hook first",
    ] {
        gracefully(scenario, SIGINT);
    }
}

fn gracefully(scenario: &str, signal: i32) {
    let ended = signalled(scenario, &[signal]);
    let graceful = (Some(i32::from(GRACEFUL_STATUS)), GRACEFUL.as_bytes());
    assert_eq!(
        (ended.status.code(), &*ended.stdout),
        graceful,
        "{scenario}: {ended:#?}"
    );
}

/// A limit that docs/settings.md states: a program that requires SIG_DFL finds a handler already
/// installed.
fn ctrlc_that_requires_the_default_action_gets_an_error() {
    let ended = Program::new("ctrlc insists")
        .env("GPUPROF_SIGNALS", "on")
        .run();
    assert_eq!(
        ended.status.code(),
        Some(i32::from(GRACEFUL_STATUS)),
        "{ended:#?}"
    );
}

fn a_program_that_waits_for_the_signal_gets_it() {
    gracefully("sigwait", SIGTERM);
}

fn a_forked_child_ends_by_the_signal() {
    gracefully("forked", 0);
}
