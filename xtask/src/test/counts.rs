//! Runs `cargo test`, passes its output through, and counts the tests of each binary.
//!
//! cargo accepts a binary that ran no test, and ignored tests. libtest's JSON output is not stable,
//! so the human-readable lines are parsed.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::Command;

use crate::workspace::TestTarget;

/// What the binaries of one `cargo test` ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// One line for each binary with ignored tests.
    pub(super) ignored: Vec<String>,
    /// What failed tests have printed, line by line, from the name of the test on.
    pub(super) failures: Vec<String>,
    /// Whether the next line is of a failed test.
    in_failure: bool,
    /// By the executable's name without its hash: how many such binaries ran a test. Packages may
    /// have binaries of one name.
    ran: BTreeMap<String, usize>,
    /// The binary that cargo announced last, until it has reported tests.
    current: Option<String>,
}

/// Runs a `cargo test` command; returns its counts and whether cargo succeeded.
///
/// # Errors
/// A text for the user: the command cannot be started, or its output cannot be read.
pub(super) fn run(mut command: Command) -> Result<(Counts, bool), String> {
    let failed = |error: io::Error| format!("cannot run cargo test: {error}");
    // One pipe for both: cargo names the binary on one, and the binary reports on the other.
    let (reader, writer) = io::pipe().map_err(failed)?;
    command
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // The command holds this process's ends of the pipe; the last line comes when all are closed.
    drop(command);
    let mut counts = Counts::default();
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        io::stdout().write_all(&line).map_err(failed)?;
        counts.add(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait().map_err(failed)?;
    Ok((counts, status.success()))
}

impl Counts {
    /// One line for each name of which fewer binaries ran a test than there are.
    pub(super) fn missing(&self, expected: &[TestTarget]) -> Vec<String> {
        let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for target in expected {
            wanted
                .entry(&target.name)
                .or_default()
                .push(&target.package);
        }
        let ran = |name: &str| self.ran.get(name).copied().unwrap_or(0);
        let missing = wanted
            .iter()
            .filter(|(name, packages)| ran(name) < packages.len());
        missing
            .map(|(name, packages)| format!("{}: {name} ran no test", packages.join(" or ")))
            .collect()
    }

    fn add(&mut self, line: &str) {
        self.add_failure(line.trim_end());
        let line = line.trim();
        if let Some(name) = announced(line) {
            self.current = Some(name);
        } else if let Some([passed, failed, ignored]) = result(line) {
            self.passed += passed;
            self.failed += failed;
            let name = self.current.clone().unwrap_or_default();
            if ignored > 0 {
                self.ignored
                    .push(format!("{name}: {ignored} tests ignored"));
            }
            if passed + failed > 0 && self.current.take().is_some() {
                *self.ran.entry(name).or_default() += 1;
            }
        }
    }
}

impl Counts {
    /// The names of the failed tests.
    pub(super) fn failed_tests(&self) -> Vec<String> {
        let headings = self
            .failures
            .iter()
            .filter_map(|line| line.split_once(": ---- "));
        let names = headings.filter_map(|(_, heading)| heading.strip_suffix(" ----"));
        names
            .map(|name| name.strip_suffix(" stdout").unwrap_or(name).to_owned())
            .collect()
    }

    /// Keeps the line if it is between the name of a failed test, `---- NAME stdout ----`, and the
    /// list of all of them.
    fn add_failure(&mut self, line: &str) {
        if line.starts_with("---- ") {
            let binary = self.current.as_deref().unwrap_or_default();
            self.failures.push(format!("{binary}: {line}"));
            self.in_failure = true;
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.in_failure = false;
        } else if self.in_failure {
            self.failures.push(line.to_owned());
        }
    }
}

/// The binary in `Running tests/ui.rs (target/debug/deps/ui-0123456789abcdef)`, or the package in
/// `Doc-tests gpuprof`.
fn announced(line: &str) -> Option<String> {
    if let Some(package) = line.strip_prefix("Doc-tests ") {
        return Some(format!("documentation of {package}"));
    }
    let running = line.strip_prefix("Running ")?.strip_suffix(')')?;
    let (_, path) = running.rsplit_once('(')?;
    let (name, _hash) = path.rsplit('/').next()?.rsplit_once('-')?;
    Some(name.replace('-', "_"))
}

/// Passed, failed and ignored of `test result: ok. 7 passed; 0 failed; 0 ignored; …`.
fn result(line: &str) -> Option<[u64; 3]> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| {
        let mut parts = counts.split(';').map(str::trim);
        parts.find_map(|part| part.strip_suffix(word)?.trim().parse().ok())
    };
    Some([count("passed")?, count("failed")?, count("ignored")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.67s
     Running unittests src/lib.rs (target/debug/deps/nvtx_recorder-8872bee5d0fdc038)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/call-count.rs (/a folder (2)/debug/deps/call_count-12de92b486c7db31)
test nested ... FAILED

failures:

---- nested stdout ----

thread 'nested' panicked at tests/call-count.rs:7:9:
three calls


failures:
    nested

test result: FAILED. 7 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.05s

     Running tests/exit.rs (target/debug/deps/exit-00)
running 3 tests
error: test failed
   Doc-tests gpuprof
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

    fn counted() -> Counts {
        let mut counts = Counts::default();
        OUTPUT.lines().for_each(|line| counts.add(line));
        counts
    }

    fn targets(names: &[(&str, &str)]) -> Vec<TestTarget> {
        let target = |(package, name): &(&str, &str)| TestTarget {
            package: (*package).into(),
            name: (*name).into(),
        };
        names.iter().map(target).collect()
    }

    #[test]
    fn passed_failed_and_ignored_tests_are_counted() {
        let counts = counted();
        assert_eq!((counts.passed, counts.failed), (11, 1));
        assert_eq!(counts.ignored, ["call_count: 2 tests ignored"]);
    }

    #[test]
    fn what_failed_tests_have_printed_is_kept() {
        let counts = counted();
        let printed = [
            "call_count: ---- nested stdout ----",
            "",
            "thread 'nested' panicked at tests/call-count.rs:7:9:",
            "three calls",
            "",
            "",
        ];
        assert_eq!(counts.failures, printed);
        assert_eq!(counts.failed_tests(), ["nested"]);
    }

    #[test]
    fn a_binary_that_died_or_ran_nothing_is_missing() {
        let expected = targets(&[
            ("gpuprof", "call_count"),
            ("gpuprof", "exit"),
            ("a", "gone"),
        ]);
        let missing = ["gpuprof: exit ran no test", "a: gone ran no test"];
        assert_eq!(counted().missing(&expected), missing);
    }

    #[test]
    fn each_of_two_binaries_of_one_name_must_run() {
        let expected = targets(&[("gpuprof", "call_count"), ("other", "call_count")]);
        assert_eq!(
            counted().missing(&expected),
            ["gpuprof or other: call_count ran no test"]
        );
    }
}
