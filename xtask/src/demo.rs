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
    let Some(package) = examples.get(example) else {
        let names: Vec<&str> = examples.keys().map(String::as_str).collect();
        return Err(format!(
            "there is no example `{example}`; there are {}",
            names.join(", ")
        ));
    };
    needs::ensure(&[Need::CCompiler])?;
    // This package alone, as cargo would add the features that other members ask for; without NVTX,
    // which the table does not show and which needs libclang. A source test counts the packages.
    workspace::succeed(&mut workspace::cargo([
        "run",
        "--release",
        "--package",
        package,
        "--no-default-features",
        "--example",
        example,
    ]))
}
