//! Promise: with `GPUPROF_CHECKPOINT`, a process that is killed leaves a complete JSON file that is
//! at most one interval old.

mod program;

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use gpuprof::Profile;
use support::function;
use support::program::{Ended, Folder, Program, read_profile};
use support::suite::Module;
use support::tests;

use self::program::{AGE, REPORT};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    a_kill_at_any_moment_leaves_a_whole_file_of_the_last_interval,
    the_report_at_exit_replaces_the_checkpoint,
    a_reset_is_seen,
    a_checkpoint_has_the_time_so_far_of_what_runs,
    the_first_ones_come_early,
    a_session_leaves_the_environments_window_alone,
    queued_gpu_work_is_counted_and_not_waited_for,
    a_relative_path_is_resolved_in_the_initial_working_directory,
    without_a_file_to_rewrite_one_line_says_so,
    what_cannot_be_written_is_said_once,
    where_no_span_ran_there_is_no_file,
];

/// The number of processes that are killed.
const TRIES: u64 = 8;
const AT_ONCE: u64 = 4;

const INTERVAL: Duration = Duration::from_millis(400);
/// Accepted delay of the thread that writes checkpoints, on a machine that runs other tests too.
const GRACE: Duration = Duration::from_millis(600);
/// Run time that exceeds interval and delay, so that a checkpoint that is not renewed is detected.
const LONGEST_RUN: Duration = Duration::from_millis(3_000);

fn a_kill_at_any_moment_leaves_a_whole_file_of_the_last_interval() {
    let next = AtomicU64::new(0);
    let some = || {
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        taken
            .take_while(|at| *at < TRIES)
            .map(|_| killed())
            .collect()
    };
    let ages: Vec<Duration> = thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(some)).collect();
        let each = threads.into_iter().map(|thread| thread.join());
        each.flat_map(|ages: thread::Result<Vec<Duration>>| ages.expect("no failure"))
            .collect()
    });
    assert_eq!(ages.len() as u64, TRIES);
    let oldest = ages.iter().max();
    assert!(oldest <= Some(&(INTERVAL + GRACE)), "{oldest:?}");
}

/// Runs the program, kills it at a random moment and reads its file. Returns the age of the file
/// when the process was killed; that of the process if there is no file yet.
fn killed() -> Duration {
    let folder = Folder::create();
    let (path, age) = (folder.path("report.json"), folder.path("age"));
    let program = Program::new("ticking")
        .env("GPUPROF_CHECKPOINT", INTERVAL.as_secs_f64().to_string())
        .env("GPUPROF_REPORT", format!("json={}", path.display()))
        .env(AGE, &age);
    let running = program.start().until_ready();
    thread::sleep(random_up_to(LONGEST_RUN));
    running.signal(libc::SIGKILL);
    let ended = running.end();
    assert_eq!(ended.stderr, "");
    let age = fs::read(&age).expect("the program made it");
    // Empty if the process was killed before its first write.
    let age = age.try_into().map_or(0, u64::from_le_bytes);
    let written = if path.exists() {
        wall_ns(&path, &ended)
    } else {
        0
    };
    Duration::from_nanos(age.saturating_sub(written))
}

fn wall_ns(path: &std::path::Path, ended: &Ended) -> u64 {
    let profile = read_profile(path, ended);
    assert_eq!(profile.schema, "gpuprof.profile/1");
    assert!(function(&profile, "tick").calls > 0);
    profile.wall_ns
}

fn random_up_to(longest: Duration) -> Duration {
    // std's only source of randomness.
    let random = RandomState::new().build_hasher().finish();
    longest.mul_f64(random as f64 / u64::MAX as f64)
}

/// Runs `scenario` with a checkpoint every 50 ms and returns the profile in its file at the end.
fn run(scenario: &str) -> (Ended, Profile) {
    run_with("50ms", scenario)
}

fn run_with(interval: &str, scenario: &str) -> (Ended, Profile) {
    let folder = Folder::create();
    let path = folder.path("report.json");
    let ended = Program::new(scenario)
        .env("GPUPROF_CHECKPOINT", interval)
        .env("GPUPROF_REPORT", format!("table,json={}", path.display()))
        .env(REPORT, &path)
        .run();
    let profile = read_profile(&path, &ended);
    assert_eq!(ended.remarks(), [""; 0]);
    assert_eq!(folder.files(), ["report.json"]);
    (ended, profile)
}

fn the_report_at_exit_replaces_the_checkpoint() {
    let (ended, profile) = run("returning");
    assert_eq!((ended.status.code(), ended.reports()), (Some(0), 1));
    assert_eq!(profile.diagnostics.calls, 11);
}

fn a_reset_is_seen() {
    let (ended, profile) = run("reset");
    // No call was made after the reset, so there is no table, and the file must not contain the
    // calls before it.
    assert_eq!((ended.reports(), profile.diagnostics.calls), (0, 0));
}

fn a_checkpoint_has_the_time_so_far_of_what_runs() {
    let (ended, profile) = run("serving");
    assert_eq!((ended.reports(), profile.at_exit), (0, false));
    let serving = function(&profile, "serving");
    assert_eq!((serving.calls, serving.open_calls), (0, 1));
    // Two checkpoints of 50 ms, less the machine's delays.
    assert!(serving.open_ns > 10_000_000, "{serving:#?}");
    assert_eq!(function(&profile, "tick").calls, 1);
}

fn the_first_ones_come_early() {
    // The second one comes too, long before the interval ends.
    let (ended, profile) = run_with("3600", "serving");
    assert_eq!((ended.reports(), profile.at_exit), (0, false));
    assert_eq!(function(&profile, "tick").calls, 1);
}

fn a_session_leaves_the_environments_window_alone() {
    let (ended, profile) = run("in a session");
    assert_eq!((ended.status.code(), ended.reports()), (None, 0));
    assert_eq!(profile.diagnostics.calls, 3);
}

fn queued_gpu_work_is_counted_and_not_waited_for() {
    let (ended, profile) = run("queued");
    assert_eq!(function(&profile, "step").untimed.unfinished, 1);
    assert!(ended.took < Duration::from_secs(50), "{:?}", ended.took);
}

fn a_relative_path_is_resolved_in_the_initial_working_directory() {
    let folder = Folder::create();
    let ended = Program::new("elsewhere")
        .folder(&folder)
        .env("GPUPROF_CHECKPOINT", "0.05")
        .env("GPUPROF_REPORT", "json=report.json")
        .env(REPORT, folder.path("report.json"))
        .run();
    let profile = read_profile(&folder.path("report.json"), &ended);
    assert_eq!(profile.diagnostics.calls, 1);
}

fn without_a_file_to_rewrite_one_line_says_so() {
    for (report, documents) in [("table", 0), ("json=/dev/stdout", 1)] {
        let ended = Program::new("waiting")
            .env("GPUPROF_CHECKPOINT", "0.05")
            .env("GPUPROF_REPORT", report)
            .run();
        assert_eq!(
            ended.remarks(),
            [
                "gpuprof: GPUPROF_CHECKPOINT has no effect: GPUPROF_REPORT has no json=PATH to \
                 rewrite"
            ]
        );
        let stdout = String::from_utf8(ended.stdout).expect("UTF-8");
        assert_eq!(stdout.matches("\"schema\"").count(), documents);
    }
}

fn what_cannot_be_written_is_said_once() {
    let ended = Program::new("waiting")
        .env("GPUPROF_CHECKPOINT", "0.05")
        .env("GPUPROF_REPORT", "table,json=/dev/null/report.json")
        .run();
    let remarks = ended.remarks();
    assert_eq!((ended.reports(), remarks.len()), (1, 2), "{}", ended.stderr);
    assert!(
        remarks[0].starts_with("gpuprof: cannot write the checkpoint \"/dev/null/report.json\"")
    );
    let (_, path) = remarks[1].split_once("the report is in ").expect("a path");
    fs::remove_file(path.trim_matches('"')).expect("a file");
}

fn where_no_span_ran_there_is_no_file() {
    let folder = Folder::create();
    let report = format!("json={}", folder.path("report.json").display());
    let ended = Program::new("no span")
        .env("GPUPROF_CHECKPOINT", "0.05")
        .env("GPUPROF_REPORT", report)
        .run();
    assert_eq!((&*ended.stderr, folder.files()), ("", vec![]));
}
