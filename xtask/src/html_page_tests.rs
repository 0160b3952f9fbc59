//! `cargo xtask pages`: the HTML page in a real Chromium without a window.
//!
//! Playwright's core drives it from Node.js, whose test runner it is: there is no Rust client that
//! waits for elements as well, and a WebDriver would be one more program to install.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask pages [screenshots FOLDER]";

/// Writes the pages of recorded, hostile and large profiles, and tests them in Chromium; the last
/// line is `N passed, N failed`. With `screenshots` it takes pictures at two widths and in both
/// colour schemes instead, for a person to look at.
///
/// # Errors
/// A text for the user: a wrong argument, something missing that may not be installed, a page that
/// cannot be made, or a failed test.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let pictures = match words[..] {
        [] => None,
        ["screenshots", folder] => Some(std::path::absolute(folder).map_err(|e| e.to_string())?),
        _ => return Err(USAGE.into()),
    };
    needs::ensure(&[Need::Chromium, Need::Node, Need::CCompiler, Need::Libclang])?;
    let pages = write_pages()?;
    workspace::succeed(in_tests("npm").args(["ci", "--no-audit", "--no-fund"]))?;
    match pictures {
        None => test(&pages),
        Some(folder) => {
            let mut command = in_tests("node");
            command.arg("screenshots.js").arg(&pages).arg(&folder);
            workspace::succeed(&mut command)
        }
    }
}

/// Makes the pages in the target folder.
fn write_pages() -> Result<PathBuf, String> {
    let pages = Workspace::load()?.target.join("pages");
    let mut command = workspace::cargo([
        "run",
        "--quiet",
        "--package",
        "gpuprof-report",
        "--example",
        "pages",
        "--features",
        "html,analysis",
        "--",
    ]);
    workspace::neutral(&mut command);
    workspace::succeed(command.arg(&pages))?;
    write_page_of_program(&pages)?;
    Ok(pages)
}

/// Has a program write its own page, on the simulated device.
fn write_page_of_program(pages: &Path) -> Result<(), String> {
    let mut command = workspace::cargo(["run", "--quiet", "--package", "gpuprof-examples"]);
    command.args(["--features", "gpuprof/html"]);
    command.args(["--example", "01_quickstart"]);
    workspace::neutral(&mut command);
    let output = format!("html={}", pages.join("program.html").display());
    command
        .env("GPUPROF_SIM", "1")
        .env("GPUPROF_REPORT", output);
    workspace::succeed(command.stdout(Stdio::null()))
}

/// A program in the folder of the tests.
fn in_tests(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(workspace::root().join("gpuprof-report/tests/html"))
        .env("CHROMIUM", needs::chromium().unwrap_or_default());
    command
}

/// Runs the tests with their output passed through, and counts them.
fn test(pages: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot run node: {error}");
    let mut child = in_tests("node")
        .args(["--test", "--test-reporter=tap", "pages.test.js"])
        .env("PAGES", pages)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut counts = NodeTestCounts::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(failed)?;
            writeln!(io::stdout(), "{line}").map_err(failed)?;
            counts.add(&line);
        }
    }
    let status = child.wait().map_err(failed)?;
    counts.close(status.success())
}

/// The counts at the end of the output of Node's test runner.
#[derive(Debug, Default, PartialEq, Eq)]
struct NodeTestCounts {
    passed: u64,
    /// Failed, cancelled, skipped or to be done: whatever did not pass.
    failed: u64,
}

impl NodeTestCounts {
    fn add(&mut self, line: &str) {
        let Some((word, count)) = line
            .strip_prefix("# ")
            .and_then(|rest| rest.split_once(' '))
        else {
            return;
        };
        let Ok(count) = count.trim().parse::<u64>() else {
            return;
        };
        match word {
            "pass" => self.passed += count,
            "fail" | "cancelled" | "skipped" | "todo" => self.failed += count,
            _ => {}
        }
    }

    /// Prints the closing line.
    fn close(self, succeeded: bool) -> Result<(), String> {
        let ran = self.passed + self.failed > 0;
        let unseen = u64::from((!succeeded && self.failed == 0) || !ran);
        let failed = self.failed + unseen;
        println!("{} passed, {failed} failed", self.passed);
        match (failed, ran) {
            (0, _) => Ok(()),
            (_, true) => Err("the page does not do all that was promised".into()),
            (_, false) => Err("node ran no test of the page".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(output: &str) -> NodeTestCounts {
        let mut counts = NodeTestCounts::default();
        output.lines().for_each(|line| counts.add(line));
        counts
    }

    #[test]
    fn only_what_passed_counts_as_passed() {
        let output = "ok 1 - a\n# Subtest: 3 pass 4\n# tests 9\n# suites 0\n# pass 5\n# fail 1\n\
                      # cancelled 1\n# skipped 1\n# todo 1\n# duration_ms 12.3\n";
        let expected = NodeTestCounts {
            passed: 5,
            failed: 4,
        };
        assert_eq!(counted(output), expected);
    }

    #[test]
    fn a_run_without_a_test_or_without_success_fails() {
        let passed = || counted("# pass 3\n# fail 0");
        assert_eq!(passed().close(true), Ok(()));
        assert!(passed().close(false).is_err());
        assert!(counted("# pass 0\n# fail 0").close(true).is_err());
        assert!(counted("# pass 3\n# skipped 1").close(true).is_err());
    }

    #[test]
    fn arguments_are_those_of_the_usage() {
        for wrong in [
            &["screenshots"][..],
            &["--fast"],
            &["screenshots", "a", "b"],
        ] {
            let words: Vec<String> = wrong.iter().map(|word| (*word).into()).collect();
            assert_eq!(run(&words), Err(USAGE.into()), "{wrong:?}");
        }
    }
}
