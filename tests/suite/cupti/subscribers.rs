//! Promise: where libcupti has calls of a subscriber, gpuprof measures beside other profilers, each
//! exactly; elsewhere, or if they are refused, it uses the calls of the process and none of them.

mod program;

use gpuprof::Profile;
use support::cupti_from_environment::{CUPTI_CONFIGURATION, SUBSCRIBER_CALLS};
use support::cupti_world::all_kernels;
use support::program::{Ended, Program};
use support::suite::Module;
use support::tests;

use self::program::LAUNCHES;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    both_sets_of_calls_give_the_same_profile,
    a_profiler_that_came_first_and_gpuprof_record_everything,
    a_profiler_that_comes_later_and_leaves_disturbs_nothing,
    a_profiler_that_hides_the_nodes_of_graphs_is_noted,
    a_refused_subscription_uses_the_calls_of_the_process,
    a_missing_call_uses_those_of_the_process,
    a_version_before_13_3_uses_the_calls_of_the_process,
    a_profiler_that_does_not_share_is_named,
];

/// `CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL`.
const CONCURRENT_KERNEL: u32 = 10;
/// The callback id of `cuLaunchKernel`.
const LAUNCH: u32 = 307;

/// The calls that a libcupti has twice.
const PROCESS_CALLS: [&str; 8] = [
    "cuptiSubscribe",
    "cuptiActivityRegisterCallbacks",
    "cuptiActivitySetAttribute",
    "cuptiActivityEnable",
    "cuptiActivityDisable",
    "cuptiActivityGetNextRecord",
    "cuptiActivityGetNumDroppedRecords",
    "cuptiGetTimestamp",
];

fn program(scenario: &str, configuration: &str) -> Program {
    Program::new(scenario)
        .env("GPUPROF_CUPTI", "full")
        .env("GPUPROF_MEMORY", "on")
        .env(CUPTI_CONFIGURATION, configuration)
}

fn subscriber_calls() -> impl Iterator<Item = String> {
    let alone = ["cuptiActivityGetAttribute"];
    let calls = PROCESS_CALLS.into_iter().chain(alone);
    calls.map(|call| format!("{call}_v2"))
}

/// The functions of which libcupti has two that the program called before its end.
fn called(ended: &Ended) -> Vec<&str> {
    let lines = ended.stderr.lines();
    let names = lines.filter_map(|line| line.strip_prefix("called ")?.split(' ').next());
    let is_of_a_set = |name: &&str| PROCESS_CALLS.contains(&name.trim_end_matches("_v2"));
    names.filter(is_of_a_set).collect()
}

#[track_caller]
fn assert_by_subscriber_calls(ended: &Ended) {
    let called = called(ended);
    assert!(
        called.contains(&"cuptiActivityGetNextRecord_v2"),
        "{called:?}"
    );
    let is_old = |name: &&str| !name.ends_with("_v2");
    assert_eq!(called.iter().copied().find(is_old), None, "{called:?}");
}

/// `subscribed` is how the program subscribes then.
#[track_caller]
fn assert_by_process_calls(ended: &Ended, subscribed: &str) {
    let called = called(ended);
    assert!(called.contains(&"cuptiActivityGetNextRecord"), "{called:?}");
    assert!(called.contains(&subscribed), "{called:?}");
    let is_new = |name: &&str| name.ends_with("_v2") && *name != "cuptiSubscribe_v2";
    assert_eq!(called.iter().copied().find(is_new), None, "{called:?}");
}

/// Nothing is missing, and nothing is said.
#[track_caller]
fn assert_whole(profile: &Profile) {
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    let cupti = profile.cupti.as_ref().expect("it runs");
    let lost = [
        cupti.dropped_records,
        cupti.invalid_records,
        cupti.unfinished,
        cupti.late_records,
        cupti.records_without_call,
    ];
    assert_eq!(lost, [0; 5]);
}

#[track_caller]
fn stdout(ended: &Ended) -> &str {
    std::str::from_utf8(&ended.stdout).expect("text")
}

fn both_sets_of_calls_give_the_same_profile() {
    let (by_process, old) = program("everything", "").profiled();
    let (by_subscriber, new) = program("everything", SUBSCRIBER_CALLS).profiled();
    assert_by_process_calls(&by_process, "cuptiSubscribe_v2");
    assert_by_subscriber_calls(&by_subscriber);
    for profile in [&old, &new] {
        assert_whole(profile);
        // Those that are launched, and three of the graph.
        assert_eq!(
            all_kernels(profile),
            (LAUNCHES as u64 + 3, LAUNCHES as u64 * 10_000 + 3_000)
        );
        let copies: u64 = profile.copies.iter().map(|copies| copies.times.calls).sum();
        assert_eq!(copies, 2 + 8);
        let memory = profile.memory.as_ref().expect("it was recorded");
        let allocations: u64 = memory.uses.iter().map(|of| of.totals.allocations).sum();
        assert_eq!(allocations, 2);
    }
    assert_eq!(new.functions, old.functions);
    assert_eq!(new.kernels, old.kernels);
    assert_eq!(new.copies, old.copies);
    assert_eq!(new.api, old.api);
    assert_eq!(new.memory, old.memory);
    assert_eq!(new.gpu_busy, old.gpu_busy);
    let records = |profile: &Profile| profile.cupti.as_ref().map(|cupti| cupti.records);
    assert_eq!(records(&new), records(&old));
}

fn a_profiler_that_came_first_and_gpuprof_record_everything() {
    let (ended, profile) = program("first", SUBSCRIBER_CALLS).profiled();
    assert_eq!(stdout(&ended), format!("{LAUNCHES} {LAUNCHES}\n"));
    assert_by_subscriber_calls(&ended);
    assert_whole(&profile);
    assert_eq!(all_kernels(&profile), (LAUNCHES as u64, 30_000));
}

fn a_profiler_that_comes_later_and_leaves_disturbs_nothing() {
    let (ended, profile) = program("for a while", SUBSCRIBER_CALLS).profiled();
    assert_eq!(stdout(&ended), format!("{LAUNCHES} {LAUNCHES}\n"));
    assert_whole(&profile);
    assert_eq!(all_kernels(&profile), (3 * LAUNCHES as u64, 90_000));
}

fn a_profiler_that_hides_the_nodes_of_graphs_is_noted() {
    let (_, profile) = program("hidden nodes", SUBSCRIBER_CALLS).profiled();
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("one note: {:?}", profile.diagnostics.notes);
    };
    assert!(
        note.contains("another profiler") && note.contains("graphs"),
        "{note}"
    );
    assert_eq!(all_kernels(&profile), (LAUNCHES as u64, 30_000));
}

fn a_refused_subscription_uses_the_calls_of_the_process() {
    let (_, expected) = program("everything", "").profiled();
    // As invalid, incompatible, not supported, in other hands, unknown.
    for code in [1, 14, 27, 39, 999] {
        let refused = format!("{SUBSCRIBER_CALLS};fail cuptiSubscribe_v2 1 1 {code}");
        let (ended, profile) = program("everything", &refused).profiled();
        assert_by_process_calls(&ended, "cuptiSubscribe");
        assert_whole(&profile);
        assert_eq!(profile.functions, expected.functions, "{code}");
    }
}

fn a_missing_call_uses_those_of_the_process() {
    let (_, expected) = program("everything", "").profiled();
    for call in subscriber_calls() {
        let hidden = format!("{SUBSCRIBER_CALLS};hide {call}");
        let (ended, profile) = program("everything", &hidden).profiled();
        assert_by_process_calls(&ended, "cuptiSubscribe");
        assert_whole(&profile);
        assert_eq!(profile.functions, expected.functions, "{call}");
    }
}

fn a_version_before_13_3_uses_the_calls_of_the_process() {
    let (ended, profile) = program("everything", "number 130200").profiled();
    assert_by_process_calls(&ended, "cuptiSubscribe_v2");
    // Such a library is not asked whether it shares.
    assert!(
        ended.stderr.contains("called cuptiSubscribe_v2 1\n"),
        "{}",
        ended.stderr
    );
    assert_whole(&profile);
}

fn a_profiler_that_does_not_share_is_named() {
    let (ended, profile) = program("alone first", SUBSCRIBER_CALLS).profiled();
    // It records as without gpuprof.
    assert_eq!(stdout(&ended), format!("{LAUNCHES} {LAUNCHES}\n"));
    assert_eq!(profile.cupti, None);
    let notes = profile.diagnostics.notes.join("\n");
    let parts = ["\"CUPTI for another\" has subscribed: ", "another profiler"];
    assert!(parts.iter().all(|part| notes.contains(part)), "{notes}");
}
