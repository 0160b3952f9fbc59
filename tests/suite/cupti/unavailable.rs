//! Promise: if CUPTI is unavailable, one line says why and what to do, and everything else is the
//! same as without CUPTI.

mod program;

use std::path::Path;

use gpuprof::Profile;
use libloading::os::unix::Library;
use support::cupti_from_environment::CUPTI_CONFIGURATION;
use support::program::{Ended, Program};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    not_asked_for_it_is_not_looked_for,
    asked_for_it_runs,
    no_libcupti_is_one_line_with_where_to_get_it,
    a_chosen_library_is_the_only_one_tried,
    another_profiler_has_it,
    the_user_may_not_profile,
    no_driver_that_fits,
    one_older_than_cuda_12_0,
    whatever_function_is_missing,
    whatever_call_fails_is_undone,
    a_session_may_ask_for_it,
    a_session_is_told_too,
];

fn program(orders: &str) -> Program {
    Program::new("rounds")
        .env("GPUPROF_CUPTI", "on")
        .env(CUPTI_CONFIGURATION, orders)
}

/// The number of calls of a CUPTI function that the program printed.
fn calls(ended: &Ended, symbol: &str) -> u64 {
    let line = |line: &str| {
        line.strip_prefix("called ")?
            .split_once(' ')
            .filter(|l| l.0 == symbol)?
            .1
            .parse()
            .ok()
    };
    ended.stderr.lines().find_map(line).unwrap_or(0)
}

/// Runs `program` with and without CUPTI; the only difference must be one line, which is returned.
#[track_caller]
fn refused(program: Program) -> (Ended, String) {
    let (with, profile) = program.profiled();
    let (without, plain) = Program::new("rounds").profiled();
    assert_eq!(
        (&with.status, &with.stdout),
        (&without.status, &without.stdout)
    );
    assert_eq!(profile.functions, plain.functions);
    // The header has GPU spans, and nothing advises what is on.
    assert_eq!(profile.gpu_busy, plain.gpu_busy);
    let header = |ended: &Ended| {
        let mut lines = ended.stderr.lines();
        lines
            .find(|line| line.contains("· wall "))
            .map(str::to_owned)
    };
    assert_eq!(header(&with), header(&without));
    assert!(header(&with).is_some_and(|line| line.contains("GPU spans ")));
    let advice = "GPUPROF_CUPTI=on";
    assert!(without.stderr.contains(advice) && !with.stderr.contains(advice));
    assert_eq!(profile.cupti, None);
    assert_eq!(with.remarks(), [""; 0]);
    assert_eq!(with.stderr.matches("note:").count(), 1, "{}", with.stderr);
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("{:?}", profile.diagnostics.notes);
    };
    assert!(
        !note.contains('\n') && note.starts_with("kernels are not recorded"),
        "{note}"
    );
    assert_eq!(plain.diagnostics.notes, [""; 0]);
    (with, note.clone())
}

#[track_caller]
fn assert_says(note: &str, parts: &[&str]) {
    for part in parts {
        assert!(note.contains(part), "{part:?} is missing: {note}");
    }
}

fn not_asked_for_it_is_not_looked_for() {
    for program in [
        Program::new("rounds"),
        Program::new("rounds").env("GPUPROF_CUPTI", "off"),
    ] {
        let (ended, profile) = program.profiled();
        assert!(!ended.stderr.contains("called cupti"), "{}", ended.stderr);
        assert_eq!((profile.cupti, profile.diagnostics.notes), (None, vec![]));
    }
}

fn running(profile: &Profile) -> (u32, &str) {
    let cupti = profile.cupti.as_ref().expect("it runs");
    (cupti.version, &cupti.library)
}

fn asked_for_it_runs() {
    let (ended, profile) = program("").profiled();
    assert_eq!(running(&profile), (130_001, "libcupti.so.13"));
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    assert_eq!(
        (
            calls(&ended, "cuptiSubscribe_v2"),
            calls(&ended, "cuptiUnsubscribe")
        ),
        (1, 0)
    );
}

fn no_libcupti_is_one_line_with_where_to_get_it() {
    let is_installed = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"]
        .iter()
        .any(|name| {
            // SAFETY: NVIDIA's library, made for being loaded at any time.
            unsafe { Library::new(*name) }.is_ok()
        });
    // On a machine with a toolkit a libcupti is always found.
    if is_installed || Path::new("/usr/local/cuda").exists() {
        return;
    }
    let program = Program::new("without libcupti").env("GPUPROF_CUPTI", "on");
    let (_, note) = refused(
        program
            .env("CUDA_HOME", "/nowhere")
            .env("CUDA_PATH", "/nowhere"),
    );
    assert_says(
        &note,
        &[
            "libcupti is not found",
            "extras/CUPTI/lib64",
            "pip install nvidia-cuda-cupti",
            "GPUPROF_CUPTI_LIBRARY",
        ],
    );
}

fn a_chosen_library_is_the_only_one_tried() {
    let (ended, note) =
        refused(program("").env("GPUPROF_CUPTI_LIBRARY", "/nowhere/libcupti.so.13"));
    assert_says(
        &note,
        &[
            "GPUPROF_CUPTI_LIBRARY=/nowhere/libcupti.so.13",
            "No such file",
        ],
    );
    assert!(!ended.stderr.contains("called cupti"), "{}", ended.stderr);
    // The loaded libcupti, by its name.
    let (_, profile) = program("")
        .env("GPUPROF_CUPTI_LIBRARY", "libcupti.so.13")
        .profiled();
    assert_eq!(running(&profile), (130_001, "libcupti.so.13"));
}

fn another_profiler_has_it() {
    let (ended, note) = refused(program("fail cuptiSubscribe_v2 1 1 39"));
    assert_says(
        &note,
        &["another profiler", "nsys", "ncu", "cuptiSubscribe", "39"],
    );
    // No function was called that could disturb the other profiler.
    assert_eq!(
        calls(&ended, "cuptiActivityEnable") + calls(&ended, "cuptiActivityRegisterCallbacks"),
        0
    );
    assert_eq!(
        calls(&ended, "cuptiUnsubscribe") + calls(&ended, "cuptiActivityFlushAll"),
        0
    );
}

fn the_user_may_not_profile() {
    let (ended, note) = refused(program("fail cuptiActivityEnable 1 1 35"));
    assert_says(
        &note,
        &["may not profile", "administrator", "ERR_NVGPUCTRPERM", "35"],
    );
    assert_eq!(calls(&ended, "cuptiUnsubscribe"), 1);
}

fn no_driver_that_fits() {
    for code in [14, 15, 999] {
        let (_, note) = refused(program(&format!("fail cuptiSubscribe_v2 1 1 {code}")));
        assert_says(&note, &["NVIDIA driver", &format!("returned {code}")]);
    }
}

fn one_older_than_cuda_12_0() {
    let (ended, note) = refused(program("number 17"));
    assert_says(&note, &["version 17", "CUDA 12.0"]);
    assert_eq!(calls(&ended, "cuptiSubscribe_v2"), 0);
}

fn whatever_function_is_missing() {
    for symbol in [
        "cuptiGetVersion",
        "cuptiSubscribe",
        "cuptiUnsubscribe",
        "cuptiActivityRegisterCallbacks",
        "cuptiActivityEnable",
        "cuptiActivityDisable",
        "cuptiActivityFlushAll",
        "cuptiActivityGetNextRecord",
        "cuptiActivityGetNumDroppedRecords",
        "cuptiEnableCallback",
        "cuptiGetTimestamp",
        "cuptiGetCallbackName",
        "cuptiActivitySetAttribute",
        "cuptiGetGraphNodeId",
        "cuptiGetResultString",
    ] {
        let (ended, note) = refused(program(&format!("hide {symbol}")));
        assert_says(&note, &[symbol, "libcupti.so.13"]);
        assert!(!ended.stderr.contains("called cupti"), "{}", ended.stderr);
    }
}

fn whatever_call_fails_is_undone() {
    let (_, note) = refused(program("fail cuptiGetVersion 1 1 7"));
    assert_says(&note, &["cuptiGetVersion", "returned 7"]);
    let (ended, note) = refused(program("fail cuptiActivityRegisterCallbacks 1 1 7"));
    assert_says(&note, &["cuptiActivityRegisterCallbacks", "returned 7"]);
    assert_eq!(
        (
            calls(&ended, "cuptiUnsubscribe"),
            calls(&ended, "cuptiActivityDisable")
        ),
        (1, 0)
    );
    for kind in 1..=4 {
        let (ended, note) = refused(program(&format!("fail cuptiActivityEnable {kind} 1 27")));
        assert_says(&note, &["cuptiActivityEnable", "returned 27"]);
        assert_eq!(
            (
                calls(&ended, "cuptiUnsubscribe"),
                calls(&ended, "cuptiActivityDisable")
            ),
            (1, kind - 1)
        );
        assert_eq!(calls(&ended, "cuptiActivityFlushAll"), 0);
    }
    // Every cuptiEnableCallback fails, those for launches included, so CUPTI is not used.
    let (ended, note) = refused(program("fail cuptiEnableCallback 1 100000 7"));
    assert_says(&note, &["cuptiEnableCallback", "returned 7"]);
    assert_eq!(
        (
            calls(&ended, "cuptiUnsubscribe"),
            calls(&ended, "cuptiActivityEnable")
        ),
        (1, 0)
    );
}

fn a_session_may_ask_for_it() {
    let ended = Program::new("session").run();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        said.starts_with("Some(CuptiCompleteness { version: 130001,") && said.ends_with(" []\n"),
        "{said}"
    );
}

fn a_session_is_told_too() {
    let ended = Program::new("session")
        .env(CUPTI_CONFIGURATION, "fail cuptiSubscribe_v2 1 1 39")
        .run();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        said.starts_with("None [\"kernels are not recorded") && said.contains("nsys"),
        "{said}"
    );
}
