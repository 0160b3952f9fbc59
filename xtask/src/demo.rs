//! `cargo xtask demo`: from a fresh clone to the table in one command.
//!
//! It is the first command that a newcomer runs.

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

/// The example that runs without an argument.
const DEFAULT: &str = "02_convolution";

/// Runs an example in release mode; its own output and its table go straight to the terminal.
///
/// # Errors
/// A text for the user: a wrong argument, something missing that may not be installed, or the
/// example's failure.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let example = match arguments {
        [] => DEFAULT,
        [example] => example,
        _ => return Err("usage: cargo xtask demo [EXAMPLE]".into()),
    };
    let examples = Workspace::load()?.examples;
    if !examples.iter().any(|known| known == example) {
        return Err(format!(
            "there is no example `{example}`; there are {}",
            examples.join(", ")
        ));
    }
    needs::ensure(&[Need::CCompiler])?;
    // Without NVTX, which the table does not show and which needs libclang and 22 packages.
    workspace::succeed(&mut workspace::cargo([
        "run",
        "--release",
        "--no-default-features",
        "--example",
        example,
    ]))
}
