//! `cargo xtask check`: what is worth knowing before a commit, in less than three minutes once it
//! is built. `cargo xtask test` is the whole.

use std::time::Instant;

use crate::needs::{self, Need};
use crate::workspace;

/// What is run, each with cargo.
const STEPS: [&[&str]; 6] = [
    &["fmt", "--all", "--check"],
    &["test", "--quiet", "--package", "xtask"],
    &[
        "clippy",
        "--quiet",
        "--workspace",
        "--",
        "--deny",
        "warnings",
    ],
    &[
        "test",
        "--quiet",
        "--package",
        "gpuprof-macros",
        "--package",
        "gpuprof-report",
        "--all-features",
    ],
    // The programs of made-up durations alone take a minute.
    &[
        "test",
        "--quiet",
        "--package",
        "gpuprof-runtime",
        "--lib",
        "--",
        "--skip",
        "sampling_checks",
    ],
    &[
        "test",
        "--quiet",
        "--package",
        "gpuprof",
        "--test",
        "attribute",
        "--test",
        "numbers",
        "--test",
        "streams",
        "--test",
        "windows",
        "--test",
        "async_and_threads",
    ],
];

/// Runs the quick checks and stops at the first that fails.
///
/// # Errors
/// A text for the user: a wrong argument, something missing that may not be installed, or what
/// failed.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask check".into());
    }
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    let began = Instant::now();
    for step in STEPS {
        let mut command = workspace::cargo(step.iter().copied());
        workspace::neutral(&mut command);
        println!("== {}", workspace::shown(&command));
        workspace::succeed(&mut command)?;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("checked in {seconds:.0} s; `cargo xtask test` is the whole");
    Ok(())
}
