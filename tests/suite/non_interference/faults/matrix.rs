//! The fault matrix: which cases are run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use support::program::Program;
use support::tests;

use super::case::{Case, ERRORS, Error, Seen, Undisturbed, function};
use super::stand_ins;

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    the_program_calls_and_captures_and_fails_as_it_should,
    every_function_failing_once_leaves_the_program_as_it_is,
    every_error_of_a_record_leaves_the_program_as_it_is,
    every_function_failing_for_good_leaves_the_program_as_it_is,
    random_cases_leave_the_program_as_it_is,
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

/// Any function, call and error, once and from then on. `GPUPROF_TEST_SEED=N` draws other cases,
/// `GPUPROF_TEST_CASES=N` so many of them.
fn random_cases_leave_the_program_as_it_is() {
    let from_environment = |name| std::env::var(name).ok()?.parse().ok();
    let seed = from_environment("GPUPROF_TEST_SEED").unwrap_or(1);
    let count = from_environment("GPUPROF_TEST_CASES").unwrap_or(24);
    let undisturbed = Undisturbed::new();
    let mut all = Vec::new();
    for symbol in stand_ins::called() {
        for error in ERRORS {
            all.extend(cases(symbol, &undisturbed, 1, error));
            all.extend(cases(symbol, &undisturbed, u64::MAX, error));
        }
    }
    fastrand::Rng::with_seed(seed).shuffle(&mut all);
    all.truncate(count as usize);
    all_ok(&all, &undisturbed);
}
