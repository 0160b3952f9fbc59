//! `cargo xtask fuzz`: hostile profiles at length. `cargo xtask test` runs some hundred of them.

use crate::workspace;

const USAGE: &str = "usage: cargo xtask fuzz [SECONDS]";
/// Ten minutes for all four tests.
const SECONDS: u64 = 150;

/// Runs each test of hostile files for so many seconds.
///
/// # Errors
/// A text for the user: a wrong argument, or a failed test.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().map_err(|_| USAGE)?,
        _ => return Err(USAGE.into()),
    };
    let mut command = workspace::cargo(["test", "--package", "gpuprof-report", "--test", "fuzz"]);
    // One after the other, so that each has its time.
    command.args(["--", "--test-threads=1", "--nocapture"]);
    command.env("GPUPROF_FUZZ_SECONDS", seconds.to_string());
    workspace::succeed(&mut command)
}
