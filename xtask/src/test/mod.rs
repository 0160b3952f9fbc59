//! `cargo xtask test`: everything the project promises, run in one command.
//!
//! Why not `cargo test`: features unify within one build, so the switched-off build and the other
//! feature sets each need their own; the PTX and the oldest toolchain are no cargo tests at all; and
//! nothing may be skipped unseen. Must never import: demo, sim.

mod harness;
mod msrv;
mod parts;

use std::env;
use std::time::Instant;

use crate::needs::{self, Need};
use crate::nsys;
use crate::outside;
use crate::ptx;
use crate::workspace::{self, Workspace};
use msrv::Verdict;

/// What the run came to.
#[derive(Default)]
struct Outcome {
    passed: u64,
    failed: u64,
    /// What is wrong besides failed tests: a check that failed, a test that did not run.
    problems: Vec<String>,
    /// What could not be tested on this machine.
    untested: Vec<String>,
}

/// Runs all tests; the last line is `N passed, N failed`.
///
/// # Errors
/// A text for the user: something missing that may not be installed, a failed test or check, or a
/// test that did not run. Where `CI` is set, an untested toolchain promise too.
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
        everything(&workspace, &mut outcome)
    });
    step("the switched-off build, with every example", || {
        outcome.tests(&["-p", "switched-off", "--all-targets"], true);
    });
    step("the facade without NVTX", || {
        outcome.tests(
            &[
                "-p",
                "gpuprof",
                "-p",
                "gpuprof-examples",
                "--no-default-features",
                "--features",
                "gpuprof/enable",
            ],
            false,
        );
    });
    step(
        "a program outside the workspace, in every feature set",
        || {
            outcome.check(
                "every feature set",
                outside::features::check(&workspace.target),
            );
        },
    );
    step("Nsight Systems against gpuprof's own report", || {
        nsight_systems(&workspace, &mut outcome)
    });
    step("the PTX of kernels/ against its source", || {
        outcome.check("the PTX", ptx::run(&["--check".into()]))
    });
    step("the oldest toolchain", || {
        oldest_toolchain(&workspace, &running, &mut outcome)
    });
    outcome.tell()
}

/// Runs one part under a heading and says how long it took.
fn step(title: &str, run: impl FnOnce()) {
    println!("\n== {title}");
    let start = Instant::now();
    run();
    println!("== {title}: {:.1} s", start.elapsed().as_secs_f64());
}

/// Every test of every package but `switched-off`, whose features would unify with the others'.
fn everything(workspace: &Workspace, outcome: &mut Outcome) {
    let seen = outcome.tests(&["--workspace", "--exclude", "switched-off"], false);
    let expected: Vec<_> = workspace
        .tests
        .iter()
        .filter(|test| test.package != "switched-off")
        .cloned()
        .collect();
    outcome
        .problems
        .extend(parts::missing(&parts::PARTS, &expected, &seen));
}

/// What NVIDIA's own tool sees; where it cannot be had that is told, and in CI it is a failure.
fn nsight_systems(workspace: &Workspace, outcome: &mut Outcome) {
    match nsys::check(workspace) {
        Ok(nsys::Checked::Programs(programs)) => {
            for (what, result) in programs {
                match result {
                    Ok(seen) => println!("{what}: {seen}"),
                    Err(error) => outcome.problems.push(format!("{what}: {error}")),
                }
            }
        }
        Ok(nsys::Checked::Untested(why)) => outcome.untested.push(why),
        Err(error) => outcome.problems.push(format!("Nsight Systems: {error}")),
    }
}

fn oldest_toolchain(workspace: &Workspace, running: &str, outcome: &mut Outcome) {
    let promised = &workspace.rust_version;
    match msrv::check(workspace, running) {
        Ok(Verdict::ByTheTests) => {
            println!("all of the above ran with it: rustc {running} is a {promised}")
        }
        Ok(Verdict::ByToolchain(toolchain)) => println!("the workspace checks with {toolchain}"),
        Ok(Verdict::Untested(why)) => outcome
            .untested
            .push(format!("rust-version {promised}: {why}")),
        Err(error) => outcome
            .problems
            .push(format!("rust-version {promised}: {error}")),
    }
}

impl Outcome {
    /// Runs `cargo test` and adds what it did; with `some`, at least one test must have run.
    fn tests(&mut self, arguments: &[&str], some: bool) -> Vec<harness::Binary> {
        let mut command = workspace::cargo(["test", "--no-fail-fast"]);
        command.args(arguments);
        workspace::neutral(&mut command);
        let shown = workspace::shown(&command);
        let (seen, content) = match harness::run(command) {
            Ok(result) => result,
            Err(error) => {
                self.problems.push(error);
                return Vec::new();
            }
        };
        let passed: u64 = seen.iter().map(|binary| binary.passed).sum();
        let failed: u64 = seen.iter().map(|binary| binary.failed).sum();
        self.passed += passed;
        self.failed += failed;
        self.problems.extend(parts::ignored(&seen));
        if !content && failed == 0 {
            self.problems
                .push(format!("`{shown}` failed besides its tests"));
        }
        if some && passed + failed == 0 {
            self.problems.push(format!("`{shown}` ran no test"));
        }
        seen
    }

    /// Adds a check that is no test.
    fn check(&mut self, what: &str, result: Result<(), String>) {
        match result {
            Ok(()) => println!("{what}: as it should be"),
            Err(error) => self.problems.push(format!("{what}: {error}")),
        }
    }

    /// Prints what is wrong and the closing line. A check that failed counts as one failure there.
    fn tell(mut self) -> Result<(), String> {
        println!();
        for line in &self.untested {
            println!("NOT TESTED ON THIS MACHINE: {line}");
        }
        if env::var_os("CI").is_some() {
            self.problems.append(&mut self.untested);
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
