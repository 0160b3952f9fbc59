//! `cargo xtask test`: everything the project promises, run in one command.
//!
//! `cargo test --workspace` is not enough: the switched-off build and the other feature sets are
//! builds of their own, the PTX and the oldest toolchain are no cargo tests, and a test that is
//! skipped must be noticed.

mod counts;
mod msrv;

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Instant;

use crate::needs::{self, Need};
use crate::nsys;
use crate::outside;
use crate::ptx;
use crate::workspace::{self, Workspace};
use counts::Counts;
use msrv::Verdict;

/// The outcome of the run.
#[derive(Default)]
struct Outcome {
    passed: u64,
    failed: u64,
    /// What is wrong besides failed tests: a check that failed, a test that did not run.
    problems: Vec<String>,
    /// What could not be tested on this machine.
    untested: Vec<String>,
    /// What the failed tests have printed.
    failures: Vec<String>,
    /// Tests that failed beside the others and passed alone.
    passed_alone: Vec<String>,
}

/// Runs all tests; the last line is `N passed, N failed`.
///
/// # Errors
/// A text for the user: something missing that may not be installed, a failed test or
/// check, or a test that did not run. If `CI` is set, also an untested `rust-version`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask test".into());
    }
    needs::ensure(&Need::ALL)?;
    let workspace = Workspace::load()?;
    let running = msrv::running()?;
    println!(
        "rustc {running}; the oldest that gpuprof promises to build with: {}",
        workspace.rust_version
    );

    let mut outcome = Outcome::default();
    step("all tests with the default features", || {
        everything(&workspace, &mut outcome);
        make_room(&workspace);
    });
    step("the switched-off build, with every example", || {
        outcome.run(&|| {
            let mut command = tests(&["--manifest-path", workspace::SWITCHED_OFF, "--all-targets"]);
            command.env("CARGO_TARGET_DIR", &workspace.target);
            command
        });
    });
    step("the facade without NVTX", || {
        outcome.run(&|| {
            tests(&[
                "-p",
                "gpuprof",
                "-p",
                "gpuprof-examples",
                "-p",
                "gpuprof-examples-more",
                "--no-default-features",
                "--features",
                "gpuprof/enable",
            ])
        });
        make_room(&workspace);
        forget(&workspace, "tests");
    });
    step("the command with Parquet", || {
        outcome.run(&|| tests(&["-p", "gpuprof-cli", "--features", "parquet"]));
    });
    step(
        "a program with what is published, in every feature set",
        || {
            outcome.check(
                "every feature set",
                outside::feature_warnings::check(&workspace),
            );
        },
    );
    step("a program outside, in folders of other names", || {
        outcome.check(
            "lines of launches",
            outside::launch_lines::check(&workspace.target),
        );
        forget(&workspace, "outside/target");
    });
    step("the PTX of kernels/ against its source", || {
        outcome.check("the PTX", ptx::run(&["--check".into()]))
    });
    step("the oldest toolchain", || {
        oldest_toolchain(&workspace, &mut outcome);
        forget(&workspace, "msrv");
    });
    outcome.print()
}

/// Runs one part under a heading and says how long it took.
fn step(title: &str, run: impl FnOnce()) {
    println!("\n== {title}");
    let start = Instant::now();
    run();
    println!("== {title}: {:.1} s", start.elapsed().as_secs_f64());
}

/// Every test of every package.
fn everything(workspace: &Workspace, outcome: &mut Outcome) {
    let nsys = nsys::test_variable(workspace);
    if let Err(why) = &nsys {
        outcome.untested.push(format!("Nsight Systems: {why}"));
    }
    if !is_root() {
        let why = "only root can become another user: one whom GPUPROF_LIVE's socket refuses, and \
                   one who starts a set-user-id program";
        outcome.untested.push(format!("other users: {why}"));
    }
    let counts = outcome.run(&|| {
        let mut command = tests(&["--workspace"]);
        command.envs(nsys.as_ref().ok().cloned());
        command
    });
    outcome.problems.extend(counts.missing(&workspace.tests));
}

/// In CI, whose disk is small, deletes the test programs that have run: 50 MB each, and the other
/// feature sets build their own.
fn make_room(workspace: &Workspace) {
    if !is_ci() {
        return;
    }
    let files = fs::read_dir(workspace.target.join("debug/deps"));
    for file in files.into_iter().flatten().flatten() {
        // Programs that are not tests have a second name outside of this folder.
        let is_test = file.path().extension().is_none()
            && file
                .metadata()
                .is_ok_and(|of| of.is_file() && of.nlink() == 1);
        if is_test {
            // One that stays takes room and nothing else.
            let _ = fs::remove_file(file.path());
        }
    }
}

/// In CI, deletes what was built for one check, in this folder of the target folder: half of all
/// that is built.
fn forget(workspace: &Workspace, folder: &str) {
    if is_ci() {
        let _ = fs::remove_dir_all(workspace.target.join(folder));
    }
}

fn is_ci() -> bool {
    env::var_os("CI").is_some()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// `cargo test` without what the user's environment could change.
fn tests(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo(["test", "--no-fail-fast"]);
    command.args(arguments);
    workspace::neutral(&mut command);
    // The workspace's own, for the packages that trybuild makes outside of it too.
    command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    command
}

fn oldest_toolchain(workspace: &Workspace, outcome: &mut Outcome) {
    let promised = &workspace.rust_version;
    match msrv::check(workspace) {
        Ok(Verdict::ByToolchain(toolchain)) => println!("the workspace checks with {toolchain}"),
        Ok(Verdict::Untested(why)) => outcome
            .untested
            .push(format!("rust-version {promised}: {why}")),
        Err(error) => outcome
            .problems
            .push(format!("rust-version {promised}: {error}")),
    }
}

/// Failed tests of one `cargo test` that are run once more: with more of them something is broken.
const MAX_ALONE: usize = 3;

impl Outcome {
    /// Runs a `cargo test` and adds its counts. At least one test must run.
    fn run(&mut self, command: &dyn Fn() -> Command) -> Counts {
        let shown = workspace::shown(&command());
        let (mut counts, content) = counts::run(command()).unwrap_or_else(|error| {
            self.problems.push(error);
            (Counts::default(), true)
        });
        self.failures.append(&mut counts.failures.clone());
        self.run_alone(&mut counts, command);
        self.passed += counts.passed;
        self.failed += counts.failed;
        self.problems.append(&mut counts.ignored);
        if !content && counts.failed == 0 {
            self.problems
                .push(format!("`{shown}` failed besides its tests"));
        }
        if counts.passed + counts.failed == 0 {
            self.problems.push(format!("`{shown}` ran no test"));
        }
        counts
    }

    /// Runs the failed tests once more, each alone: some measure or bound wall time, and a machine
    /// that does something else for a second fails them. They are told, whatever comes of it.
    fn run_alone(&mut self, counts: &mut Counts, command: &dyn Fn() -> Command) {
        let names = counts.failed_tests();
        if names.len() > MAX_ALONE || names.len() as u64 != counts.failed {
            return;
        }
        for name in names {
            println!("\n== once more, alone: {name}");
            let mut alone = command();
            alone.args(["--", "--exact", &name]);
            let alone = counts::run(alone);
            if alone.is_ok_and(|(alone, content)| content && alone.passed > 0) {
                counts.failed -= 1;
                counts.passed += 1;
                self.passed_alone.push(name);
            }
        }
    }

    /// Runs a check that is not a cargo test and adds its result.
    fn check(&mut self, what: &str, result: Result<(), String>) {
        match result {
            Ok(()) => println!("{what}: as it should be"),
            Err(error) => self.problems.push(format!("{what}: {error}")),
        }
    }

    /// Prints what is wrong and the closing line. A check that failed counts as one failure there.
    fn print(mut self) -> Result<(), String> {
        println!();
        for line in &self.untested {
            println!("NOT TESTED ON THIS MACHINE: {line}");
        }
        if is_ci() {
            self.problems.append(&mut self.untested);
        }
        for line in &self.failures {
            println!("{line}");
        }
        for name in &self.passed_alone {
            println!("FAILED BESIDE OTHERS, PASSED ALONE: {name}");
        }
        for problem in &self.problems {
            println!("FAILED: {problem}");
        }
        let failed = self.failed + self.problems.len() as u64;
        println!("{} passed, {failed} failed", self.passed);
        if failed == 0 {
            Ok(())
        } else {
            Err("not everything that was promised holds".into())
        }
    }
}
