//! The fault matrix: which cases are run, as tests and as a table.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use support::program::Program;
use support::tests;

use super::case::{Case, ERRORS, Error, Seen, TO_AND_FRO, TRIED, Undisturbed, function};
use super::stand_ins::{self, LAST_RESORT};

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    the_program_calls_and_captures_and_fails_as_it_should,
    every_function_failing_once_leaves_the_program_as_it_is,
    every_error_of_a_record_leaves_the_program_as_it_is,
    every_function_failing_for_good_leaves_the_program_as_it_is,
];

/// Runs the cases, as many in parallel as there are processors. Returns the outcomes in the order
/// of the cases.
fn run_all(cases: &[Case], undisturbed: &Undisturbed) -> Vec<Seen> {
    let next = AtomicUsize::new(0);
    let seen: Mutex<Vec<(usize, Seen)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, case)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(at).map(|case| (at, case))
                } {
                    let outcome = case.run(undisturbed);
                    seen.lock().expect("no panic").push((at, outcome));
                }
            });
        }
    });
    let mut seen = seen.into_inner().expect("no panic");
    seen.sort_unstable_by_key(|(at, _)| *at);
    seen.into_iter().map(|(_, seen)| seen).collect()
}

fn cases(symbol: &'static str, undisturbed: &Undisturbed, times: u64, error: Error) -> Vec<Case> {
    let calls = undisturbed.calls_to_fail(symbol).into_iter();
    calls
        .map(|nth| Case {
            symbol,
            nth,
            times,
            error,
        })
        .collect()
}

/// Runs the cases and fails with a list of all wrong outcomes.
fn all_ok(cases: &[Case], undisturbed: &Undisturbed) {
    let seen = run_all(cases, undisturbed);
    let wrong: Vec<String> = cases
        .iter()
        .zip(&seen)
        .filter_map(|(case, seen)| match seen {
            Seen::Wrong(what) => Some(format!("{}: {what}", case.order())),
            _ => None,
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let first_calls = cases.iter().zip(&seen).filter(|(case, _)| case.nth == 1);
    for (case, seen) in first_calls {
        assert!(matches!(seen, Seen::Ok), "{} was never called", case.symbol);
    }
}

fn the_program_calls_and_captures_and_fails_as_it_should() {
    let undisturbed = Undisturbed::new();
    let told = String::from_utf8_lossy(&undisturbed.ended.stdout);
    for wanted in [
        "CUDA_ERROR_INVALID_IMAGE",
        "CUDA_ERROR_STREAM_CAPTURE",
        "CUDA_ERROR_INVALID_HANDLE",
        "Ok(false) Ok(false) Ok(false)",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let (_, profile) = Program::new("faults").profiled();
    for name in ["add", "twice"] {
        assert!(
            function(&profile, name).expect("listed").captured_calls > 0,
            "{name}"
        );
    }
    assert_eq!(profile.devices.len(), 2);
}

fn every_function_failing_once_leaves_the_program_as_it_is() {
    let undisturbed = Undisturbed::new();
    let cases: Vec<Case> = stand_ins::called()
        .flat_map(|symbol| cases(symbol, &undisturbed, 1, ERRORS[0]))
        .filter(|case| case.nth == 1)
        .collect();
    all_ok(&cases, &undisturbed);
}

fn every_error_of_a_record_leaves_the_program_as_it_is() {
    let undisturbed = Undisturbed::new();
    let cases: Vec<Case> = ERRORS
        .iter()
        .flat_map(|error| cases("cuEventRecord", &undisturbed, 1, *error))
        .filter(|case| case.nth <= 2)
        .collect();
    all_ok(&cases, &undisturbed);
}

fn every_function_failing_for_good_leaves_the_program_as_it_is() {
    let undisturbed = Undisturbed::new();
    let case = |symbol| Case {
        symbol,
        nth: 1,
        times: u64::MAX,
        error: ERRORS[1],
    };
    let cases: Vec<Case> = stand_ins::called().map(case).collect();
    all_ok(&cases, &undisturbed);
}

/// Runs every case and prints the table.
pub(super) fn print() -> ExitCode {
    let undisturbed = Undisturbed::new();
    let symbols: Vec<&str> = stand_ins::called().collect();
    let cases: Vec<Case> = symbols
        .iter()
        .flat_map(|symbol| {
            let undisturbed = &undisturbed;
            let once = ERRORS
                .iter()
                .flat_map(move |error| cases(symbol, undisturbed, 1, *error));
            let for_good = ERRORS
                .iter()
                .flat_map(move |error| cases(symbol, undisturbed, u64::MAX, *error));
            once.chain(for_good).collect::<Vec<_>>()
        })
        .collect();
    let seen = run_all(&cases, &undisturbed);
    let rows = symbols.iter().zip(seen.chunks(seen.len() / symbols.len()));
    println!(
        "| of gpuprof's own calls | {} |",
        ERRORS.map(|(_, _, shown)| shown).join(" | ")
    );
    println!("|---|{}", "---|".repeat(ERRORS.len()));
    for (symbol, seen) in rows {
        let (once, for_good) = seen.split_at(seen.len() / 2);
        let cells = once
            .chunks(TRIED)
            .zip(for_good.chunks(TRIED))
            .map(|(once, for_good)| cell(once, for_good));
        println!("| `{symbol}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let wrong: Vec<String> = cases
        .iter()
        .zip(&seen)
        .filter_map(|(case, seen)| match seen {
            Seen::Wrong(what) => Some(format!("{}: {what}", case.order())),
            _ => None,
        })
        .collect();
    let ran = seen
        .iter()
        .filter(|seen| !matches!(seen, Seen::NotReached))
        .count();
    println!(
        "\n{ran} runs with a failing call, {} wrong (simulated device)",
        wrong.len()
    );
    println!("left out: `{TO_AND_FRO}` that works once and never again, which nobody can undo;");
    println!(
        "`{LAST_RESORT}`, called only after `cuCtxPopCurrent_v2` has failed twice in a row: if it \
         fails too, nobody can"
    );
    println!("give the thread its context back");
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The number of a cell's runs with the right outcome.
fn cell(once: &[Seen], for_good: &[Seen]) -> String {
    let all = || once.iter().chain(for_good);
    let count = |wanted: fn(&Seen) -> bool| all().filter(|seen| wanted(seen)).count();
    let (ok, wrong) = (
        count(|seen| matches!(seen, Seen::Ok)),
        count(|seen| matches!(seen, Seen::Wrong(_))),
    );
    match (ok, wrong) {
        (0, 0) => "not called".to_owned(),
        (ok, 0) => format!("ok, {ok} of {ok}"),
        (ok, wrong) => format!("**wrong, {wrong} of {}**", ok + wrong),
    }
}
