//! `cargo xtask sanitize`: checks data that threads share: in every order with loom, and in real
//! runs with ThreadSanitizer.
//!
//! It is not part of `test`: ThreadSanitizer needs a nightly toolchain with the source of the
//! standard library, which it rebuilds.

use std::process::Command;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask sanitize [loom | thread]";

/// The only instrumented target; build scripts and macros, which run during the build, are not
/// instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Test binaries of the facade that would show nothing here: NVTX is C code and not instrumented.
const LEFT_OUT: &str = "nvtx";

/// Test files that are skipped.
const SKIPPED: [&str; 3] = [
    // It runs examples, which would have to be built too.
    "examples::",
    // It runs a million spans of the same code as `sampling::fixed_rate`.
    "confidence_intervals::",
    // A signal handler runs only inside functions that the sanitizer intercepts, and the thread of
    // these programs is parked in a system call that it does not intercept.
    "signals::",
];

/// The program's sanitizer runtime also serves the simulated driver, which is loaded at run time.
const RUSTFLAGS: &str = "-Zsanitizer=thread -Clink-arg=-Wl,--export-dynamic-symbol=__tsan_* \
                         --cfg gpuprof_test_hooks";

/// Runs both tools, or the one that is named.
///
/// # Errors
/// A text for the user: a wrong argument, no nightly toolchain, a failed test, or a report of
/// ThreadSanitizer's.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => loom().and_then(|()| thread()),
        ["loom"] => loom(),
        ["thread"] => thread(),
        _ => Err(USAGE.into()),
    }
}

/// The loom tests of the runtime, each in every order.
fn loom() -> Result<(), String> {
    println!("\n== every order of what threads share, by loom");
    let mut command = workspace::cargo(["test", "--release", "--package", "gpuprof-runtime"]);
    command.args(["--lib", "loom_tests"]);
    command.env("RUSTFLAGS", "--cfg loom");
    workspace::succeed(&mut command)
}

/// The simulated suite under ThreadSanitizer, standard library and simulated driver included.
fn thread() -> Result<(), String> {
    println!("\n== the simulated suite under ThreadSanitizer");
    install_source_of_std()?;
    let workspace = Workspace::load()?;
    let mut command = Command::new("rustup");
    command.current_dir(workspace::root());
    command.args(["run", "nightly", "cargo", "test"]);
    command.args(["-Zbuild-std", "--no-fail-fast"]);
    command.args(["--target", TARGET]);
    // simcuda is named so that its library is built, which the tests load.
    command.args(["--package", "gpuprof", "--package", "simcuda"]);
    let tests = workspace.tests.iter();
    let tests = tests.filter(|test| test.package == "gpuprof");
    for test in tests.filter(|test| test.name != LEFT_OUT) {
        command.args(["--test", &test.name]);
    }
    command.arg("--");
    for file in SKIPPED {
        command.args(["--skip", file]);
    }
    workspace::neutral(&mut command);
    // These variables name the cargo that runs xtask, which is another toolchain.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command.env("RUSTFLAGS", RUSTFLAGS);
    // A report fails the test; a child that was forked while threads ran may continue.
    command.env("TSAN_OPTIONS", "die_after_fork=0");
    workspace::succeed(&mut command)
}

fn install_source_of_std() -> Result<(), String> {
    let mut command = Command::new("rustup");
    command.args(["component", "add", "rust-src", "--toolchain", "nightly"]);
    workspace::succeed(&mut command).map_err(|error| {
        format!(
            "{error}\nThreadSanitizer needs a nightly toolchain: rustup toolchain install nightly"
        )
    })
}
