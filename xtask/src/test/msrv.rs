//! Tests the workspace's promise `rust-version` with a toolchain of that version.
//!
//! CI's own toolchain is not enough: the promise is about the oldest one, and people who run the
//! tests usually have a newer one.

use std::process::Command;

use crate::workspace::{self, Workspace};

/// How the promise was tested, or why it was not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The workspace was checked with this toolchain of rustup's.
    ByToolchain(String),
    /// It could not be tested here.
    Untested(String),
}

/// Tests the promise.
///
/// # Errors
/// A text for the user: the workspace does not build with that version.
pub(super) fn check(workspace: &Workspace) -> Result<Verdict, String> {
    let promised = &workspace.rust_version;
    let toolchain = full_version(promised);
    let Ok(list) = Command::new("rustup").args(["toolchain", "list"]).output() else {
        return Ok(Verdict::Untested(
            "there is no rustup to bring that version".into(),
        ));
    };
    if !String::from_utf8_lossy(&list.stdout)
        .lines()
        .any(|line| has_version(line, &toolchain))
    {
        println!(
            "installing the toolchain {toolchain} with rustup: \
             it is the oldest that gpuprof promises to build with"
        );
        let mut install = Command::new("rustup");
        install.args([
            "toolchain",
            "install",
            &toolchain,
            "--profile",
            "minimal",
            "--no-self-update",
        ]);
        if let Err(error) = workspace::succeed(&mut install) {
            return Ok(Verdict::Untested(error));
        }
    }
    let mut command = Command::new("rustup");
    command.args([
        "run",
        &toolchain,
        "cargo",
        "check",
        "--workspace",
        "--all-targets",
        "--locked",
        // A profiler that they compare with needs a newer Rust.
        "--exclude",
        "gpuprof-benches",
    ]);
    // A separate target folder: the injected and simulated libraries have the same name for every
    // toolchain.
    command
        .current_dir(workspace::root())
        .env("CARGO_TARGET_DIR", workspace.target.join("msrv"));
    workspace::succeed(&mut command)?;
    Ok(Verdict::ByToolchain(toolchain))
}

/// The version of the rustc that cargo uses, such as `1.95.0`.
///
/// # Errors
/// A text for the user: rustc cannot be run.
pub(super) fn running() -> Result<String, String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program)
        .arg("--version")
        .current_dir(workspace::root())
        .output()
        .map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1).map(String::from);
    version.ok_or_else(|| "rustc does not tell its version".into())
}

/// rustup's name of a release: `1.95` is `1.95.0`.
fn full_version(version: &str) -> String {
    let missing = 3_usize.saturating_sub(version.split('.').count());
    format!("{version}{}", ".0".repeat(missing))
}

/// Whether a line of `rustup toolchain list`, such as `1.95.0-x86_64-unknown-linux-gnu`, is that
/// version.
fn has_version(line: &str, version: &str) -> bool {
    line.strip_prefix(version)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustup_is_asked_for_a_full_version() {
        assert_eq!(full_version("1.95"), "1.95.0");
        assert_eq!(full_version("1.95.1"), "1.95.1");
    }

    #[test]
    fn toolchains_are_told_apart() {
        assert!(has_version("1.95.0-x86_64-unknown-linux-gnu", "1.95.0"));
        assert!(has_version("1.95.0", "1.95.0"));
        assert!(!has_version("1.95.01-x86_64-unknown-linux-gnu", "1.95.0"));
        assert!(!has_version(
            "stable-x86_64-unknown-linux-gnu (active, default)",
            "1.95.0"
        ));
    }
}
