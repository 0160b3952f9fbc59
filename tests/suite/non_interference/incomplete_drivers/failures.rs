//! The tests of `incomplete_drivers.rs` in which functions fail: each error is reported with the
//! function that failed first, and with no other.

use gpuprof::profile::Diagnostics;
use support::program::Ended;
use support::tests;

use super::program::FAIL;
use super::{CALLED, all_timed, line_about, rounds_with};

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    out_of_memory,
    invalid_value,
    invalid_handle,
    illegal_address,
    failures_without_names_have_numbers,
    the_driver_shuts_down_in_the_middle,
];

fn out_of_memory() {
    fails(2, "CUDA_ERROR_OUT_OF_MEMORY");
}

fn invalid_value() {
    fails(1, "CUDA_ERROR_INVALID_VALUE");
}

fn invalid_handle() {
    fails(400, "CUDA_ERROR_INVALID_HANDLE");
}

/// This error is sticky: on a real GPU every later call in the context returns it. gpuprof stops
/// using that context.
fn illegal_address() {
    fails(700, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/// Fails each function at its first, second and a later call, once and from then on.
fn fails(code: u32, name: &str) {
    for symbol in CALLED {
        for (nth, times) in [(1, 1), (2, 1), (7, 1), (1, u64::MAX), (4, u64::MAX)] {
            let (ended, profile) = rounds_with(FAIL, &format!("{symbol}:{nth}:{times}:{code}"));
            let order = format!("{symbol}:{nth}:{times}");
            if called(&ended, symbol) >= nth {
                // Only the requested failure is reported, and no error that follows from it.
                assert_eq!(
                    errors(&profile.diagnostics),
                    [(symbol, code, name)],
                    "{order}"
                );
                assert!(
                    line_about(&ended, "CUDA errors").contains(symbol),
                    "{order}: {}",
                    ended.stderr
                );
            } else {
                assert!(
                    all_timed(&profile) && profile.diagnostics.errors.is_empty(),
                    "{order}: {profile:#?}"
                )
            }
        }
    }
}

/// The call count of `symbol` that the program printed, in its line `called SYMBOL COUNT`.
fn called(ended: &Ended, symbol: &str) -> u64 {
    let mut lines = ended.stderr.lines();
    let count = lines.find_map(|line| {
        line.strip_prefix("called ")?
            .strip_prefix(symbol)?
            .trim()
            .parse()
            .ok()
    });
    count.unwrap_or_else(|| panic!("{ended:#?}"))
}

fn errors(diagnostics: &Diagnostics) -> Vec<(&str, u32, &str)> {
    diagnostics
        .errors
        .iter()
        .map(|error| (&*error.call, error.code, &*error.name))
        .collect()
}

fn failures_without_names_have_numbers() {
    let (ended, profile) = rounds_with(
        FAIL,
        &format!("cuEventRecord:3:1:400,cuGetErrorName:1:{}:1", u64::MAX),
    );
    let errors = errors(&profile.diagnostics);
    assert!(
        errors.contains(&("cuEventRecord", 400, "CUresult 400")),
        "{errors:?}"
    );
    assert!(
        errors.contains(&("cuGetErrorName", 1, "CUresult 1")),
        "{errors:?}"
    );
    assert!(ended.stderr.contains("CUresult 400"), "{}", ended.stderr);
}

/// A driver that answers CUDA_ERROR_DEINITIALIZED (4) from the `nth` call on ends GPU timing.
/// gpuprof reports no error.
fn the_driver_shuts_down_in_the_middle() {
    for symbol in CALLED {
        for nth in [1, 2, 7] {
            let (ended, profile) = rounds_with(FAIL, &format!("{symbol}:{nth}:{}:4", u64::MAX));
            assert_eq!(
                errors(&profile.diagnostics),
                [],
                "{symbol}:{nth}: {}",
                ended.stderr
            );
        }
    }
}
