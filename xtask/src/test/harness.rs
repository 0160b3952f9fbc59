//! Runs `cargo test`, passes its lines through, and counts what each test binary did.
//!
//! Why count: cargo is content with a binary that ran nothing, and a test that quietly did not run is
//! the one that would have failed. Must never import: needs, ptx.

use std::io::{self, BufRead, BufReader, Write};
use std::process::Command;

/// What the runs of one test binary, or of one package's documentation, added up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Binary {
    /// The executable's name without its hash; `doc NAME` for documentation.
    pub(super) name: String,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
}

/// Runs a `cargo test` command; gives its binaries and whether cargo was content.
///
/// # Errors
/// A text for the user: the command cannot be started or its output not be read.
pub(super) fn run(mut command: Command) -> Result<(Vec<Binary>, bool), String> {
    let failed = |error: io::Error| format!("cannot run cargo test: {error}");
    // One pipe for both, as cargo names the binary on one and the binary reports on the other.
    let (reader, writer) = io::pipe().map_err(failed)?;
    command
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // The command holds our ends of the pipe, and the last line comes when all are closed.
    drop(command);
    let mut counter = Counter::default();
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        io::stdout().write_all(&line).map_err(failed)?;
        counter.feed(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait().map_err(failed)?;
    Ok((counter.binaries, status.success()))
}

/// Reads the lines of `cargo test`.
#[derive(Debug, Default)]
struct Counter {
    current: String,
    binaries: Vec<Binary>,
}

impl Counter {
    fn feed(&mut self, line: &str) {
        let line = line.trim();
        if let Some(name) = started(line) {
            self.current = name;
            self.binaries.push(Binary {
                name: self.current.clone(),
                ..Binary::default()
            });
        } else if let Some([passed, failed, ignored]) = result(line) {
            // Documentation can report in two parts, so the counts add up.
            if let Some(binary) = self.binaries.last_mut() {
                binary.passed += passed;
                binary.failed += failed;
                binary.ignored += ignored;
            }
        }
    }
}

/// The binary that cargo announces: `Running tests/ui.rs (target/debug/deps/ui-0123456789abcdef)` or
/// `Doc-tests gpuprof`.
fn started(line: &str) -> Option<String> {
    if let Some(package) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc {package}"));
    }
    let (_, path) = line
        .strip_prefix("Running ")?
        .strip_suffix(')')?
        .rsplit_once('(')?;
    let (name, _hash) = path.rsplit('/').next()?.rsplit_once('-')?;
    Some(name.replace('-', "_"))
}

/// Passed, failed and ignored of `test result: ok. 7 passed; 0 failed; 0 ignored; …`.
fn result(line: &str) -> Option<[u64; 3]> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| {
        let part = counts
            .split(';')
            .find_map(|part| part.trim().strip_suffix(word))?;
        part.trim().parse().ok()
    };
    Some([count("passed")?, count("failed")?, count("ignored")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> Vec<Binary> {
        let mut counter = Counter::default();
        text.lines().for_each(|line| counter.feed(line));
        counter.binaries
    }

    fn binary(name: &str, passed: u64, failed: u64, ignored: u64) -> Binary {
        Binary {
            name: name.into(),
            passed,
            failed,
            ignored,
        }
    }

    #[test]
    fn the_lines_of_cargo_test_are_understood() {
        let text = "\
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.67s
     Running unittests src/lib.rs (target/debug/deps/nvtx_recorder-8872bee5d0fdc038)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/call-count.rs (/a folder (2)/debug/deps/call_count-12de92b486c7db31)
test nested ... FAILED
test result: FAILED. 7 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.05s

   Doc-tests gpuprof
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
";
        let expected = [
            binary("nvtx_recorder", 0, 0, 0),
            binary("call_count", 7, 1, 2),
            binary("doc gpuprof", 4, 0, 1),
        ];
        assert_eq!(count(text), expected);
    }

    #[test]
    fn a_binary_that_died_is_known_without_counts() {
        let text = "     Running tests/exit.rs (target/debug/deps/exit-00)\nrunning 3 tests\nerror: test failed";
        assert_eq!(count(text), [binary("exit", 0, 0, 0)]);
    }
}
