//! Promise: every record is read, whatever the version and order of CUPTI's buffers; the program,
//! its end and its captures are the same as without CUPTI.

mod program;

use std::time::Duration;

use gpuprof::Profile;
use gpuprof::profile::CuptiCompleteness;
use support::cupti_from_environment::CUPTI_CONFIGURATION;
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;

use self::program::COUNT;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    each_launch_leaves_the_same_records,
    whatever_version_wrote_them,
    in_many_small_buffers_and_in_any_order,
    without_a_filter_for_calls_gpuprofs_own_stay_out,
    no_more_than_64_mib_of_buffers_and_the_rest_is_counted,
    a_reset_counts_from_zero,
    a_call_that_fails_later_is_told_once,
    what_never_ends_keeps_neither_the_end_nor_the_rest,
    the_end_comes_as_without_where_no_window_is_open,
    after_the_last_read_cupti_is_left_alone,
    a_forked_child_has_none,
    the_time_line_at_exit_has_each_launch_and_its_kernel,
];

fn program(scenario: &str, count: u64, orders: &str) -> Program {
    let program = Program::new(scenario).env("GPUPROF_CUPTI", "on");
    program
        .env(COUNT, count.to_string())
        .env(CUPTI_CONFIGURATION, orders)
}

/// Runs the scenario with and without CUPTI, and checks that the program sees no difference.
#[track_caller]
fn run(scenario: &str, count: u64, orders: &str) -> (Ended, Profile) {
    let (with, profile) = program(scenario, count, orders).profiled();
    assert!(with.status.success(), "{with:#?}");
    let without = Program::new(scenario)
        .env(COUNT, count.to_string())
        .env("GPUPROF", "off")
        .run();
    assert_eq!(
        (&with.status, &with.stdout),
        (&without.status, &without.stdout),
        "{with:#?}"
    );
    assert_eq!((with.reports(), with.remarks()), (1, vec![]), "{with:#?}");
    (with, profile)
}

#[track_caller]
fn counted(count: u64, orders: &str) -> CuptiCompleteness {
    let (_, profile) = run("launches", count, orders);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    profile.cupti.expect("it runs")
}

/// The number of records of a launch: the kernel, the call, and an external id if CUPTI writes one.
#[track_caller]
fn of_one_launch() -> u64 {
    counted(2, "").records - counted(1, "").records
}

/// Calls besides the launches: a synchronization, and at the end an unloaded module.
const OF_THE_REST: u64 = 2;

fn each_launch_leaves_the_same_records() {
    let each = of_one_launch();
    assert!(each >= 2, "{each}");
    let ten = counted(10, "");
    assert_eq!(
        (ten.records, ten.dropped_records, ten.invalid_records),
        (10 * each + OF_THE_REST, 0, 0)
    );
    assert_eq!(ten.version, 130_001);
}

fn whatever_version_wrote_them() {
    let (old, new) = (counted(10, "cuda 12.0"), counted(10, ""));
    assert_eq!(
        (old.version, old.records, old.invalid_records),
        (18, new.records, 0)
    );
}

fn in_many_small_buffers_and_in_any_order() {
    // So few launches that unfinished kernels do not occupy all buffers.
    let expected = counted(3, "").records;
    for orders in ["split 1", "split 2;reversed;cuda 12.0"] {
        let counted = counted(3, orders);
        assert_eq!(
            (counted.records, counted.dropped_records),
            (expected, 0),
            "{orders}"
        );
    }
}

fn without_a_filter_for_calls_gpuprofs_own_stay_out() {
    let hide = "hide cuptiActivityEnableDriverApi;hide cuptiActivityEnableRuntimeApi";
    // Outside every span, where calls have no external id of gpuprof's: its record would be written
    // for a filtered call too.
    for orders in [
        "",
        hide,
        "hide cuptiActivityEnableDriverApi",
        "cuda 12.0;hide cuptiActivityEnableRuntimeApi",
    ] {
        let (_, profile) = run("outside", 10, orders);
        let records = profile.cupti.expect("it runs").records;
        assert_eq!(records, 2 * 10 + OF_THE_REST, "{orders}");
    }
    // Without the filter, the program's own event calls are recorded: they are the functions that a
    // span calls.
    let (_, profile) = run("launches", 10, hide);
    let filtered = counted(10, "").records;
    assert!(profile.cupti.expect("it runs").records >= filtered);
}

fn no_more_than_64_mib_of_buffers_and_the_rest_is_counted() {
    // One record per buffer: 64 unfinished kernels occupy all buffers.
    let (_, profile) = run("queued", 100, "split 1");
    let cupti = profile.cupti.expect("it runs");
    assert!(cupti.dropped_records > 0 && cupti.records > 0, "{cupti:?}");
    assert_eq!(profile.diagnostics.calls, 100);
}

fn a_reset_counts_from_zero() {
    let (_, profile) = run("reset", 4, "");
    let cupti = profile.cupti.expect("it runs");
    assert_eq!(cupti.records, 4 * of_one_launch() + OF_THE_REST);
}

fn a_call_that_fails_later_is_told_once() {
    let (_, profile) = run("launches", 4, "fail cuptiActivityFlushAll 1 100000 999");
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("{:?}", profile.diagnostics.notes);
    };
    assert!(
        note.contains("cuptiActivityFlushAll") && note.contains("999"),
        "{note}"
    );
    // CUDA calls arrive by callbacks, without a flush; kernels do not.
    assert!(profile.kernels.is_empty() && !profile.api.is_empty());
    let calls = profile.cupti.expect("it runs").records;
    let (_, profile) = run("launches", 4, "fail cuptiActivityGetNextRecord 3 1 7");
    assert_eq!(
        profile.diagnostics.notes.len(),
        1,
        "{:?}",
        profile.diagnostics.notes
    );
    assert_eq!(profile.cupti.expect("it runs").records, calls + 2);
}

fn what_never_ends_keeps_neither_the_end_nor_the_rest() {
    let queued = program("queued", 4, "").env("GPUPROF_EXIT_WAIT", "100ms");
    let (ended, profile) = queued.profiled();
    assert!(
        ended.status.success() && ended.took < Duration::from_secs(20),
        "{ended:#?}"
    );
    let cupti = profile.cupti.expect("it runs");
    // All records except the kernels', which are returned without time stamps.
    let expected = 4 * (of_one_launch() - 1) + OF_THE_REST - 1;
    assert_eq!((cupti.records, cupti.invalid_records), (expected, 0));
}

fn the_end_comes_as_without_where_no_window_is_open() {
    let ended = Program::new("finished").run();
    assert!(ended.status.success(), "{ended:#?}");
    assert!(ended.stdout.starts_with(b"true\n"), "{ended:#?}");
}

fn after_the_last_read_cupti_is_left_alone() {
    let (ended, _) = run("after the end", 1, "");
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert!(stdout.ends_with("\n[]\n"), "{stdout}");
}

fn a_forked_child_has_none() {
    let (ended, _) = run("fork", 1, "");
    assert!(
        String::from_utf8_lossy(&ended.stdout).contains("child 0\n"),
        "{ended:#?}"
    );
}

fn the_time_line_at_exit_has_each_launch_and_its_kernel() {
    let folder = Folder::create();
    let path = folder.path("time-line.json");
    let report = format!("trace={}", path.display());
    let ended = program("launches", 10, "")
        .env("GPUPROF_REPORT", report)
        .run();
    assert!(ended.status.success(), "{ended:#?}");
    let text = std::fs::read_to_string(&path).expect("the file");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let of = |category: &str, name: &str| {
        let events = events.iter().filter(|event| event["cat"] == category);
        let events =
            events.filter(|event| event["name"].as_str().is_some_and(|is| is.contains(name)));
        events
            .map(|event| event["args"]["correlation"].as_u64())
            .collect::<Vec<_>>()
    };
    let kernels = of("kernel", "");
    assert_eq!(kernels.len(), 10);
    assert!(kernels.iter().all(Option::is_some));
    assert_eq!(of("cuda_driver", "LaunchKernel"), kernels);
}
