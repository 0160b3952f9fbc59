//! `cargo xtask bench`: what gpuprof costs, as one table.
//!
//! Why not `cargo bench`: the benchmark is two programs, one of them built without gpuprof, and
//! cargo would build only the first.

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const USAGE: &str =
    "usage: cargo xtask bench [--short] [--instructions] [--json FILE] [--width COLUMNS]";

/// The program that measures, with gpuprof on; and the one without.
const BUILDS: [&[&str]; 2] = [
    &["--bin", "cost"],
    &[
        "--no-default-features",
        "--features",
        "off",
        "--bin",
        "cost-off",
    ],
];

/// Builds both programs and runs the benchmark; with `--instructions` it counts instructions per
/// call under valgrind.
///
/// # Errors
/// A text for the user: a wrong argument, something missing that may not be installed, or the
/// benchmark's failure, which is broken memory promises and never times.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let program = program_arguments(arguments)?;
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    let target = Workspace::load()?.target.join("bench");
    for build in BUILDS {
        let mut command = workspace::cargo(["build", "--release", "--package", "gpuprof-benches"]);
        command.args(build).arg("--target-dir").arg(&target);
        workspace::succeed(workspace::without_test_hooks(&mut command))?;
    }
    let folder = target.join("release");
    // Not through cargo, which would set variables that programs under test may see. A relative
    // path given to `--json` is the caller's.
    let mut cost = std::process::Command::new(folder.join("cost"));
    cost.args(program).arg("--off").arg(folder.join("cost-off"));
    workspace::succeed(&mut cost)
}

/// What the program is called with: its own words, and `count` first for instructions.
fn program_arguments(arguments: &[String]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    let mut count = false;
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--instructions" => count = true,
            "--short" => words.push(word.clone()),
            "--json" | "--width" => {
                let value = rest.next().ok_or(USAGE)?;
                words.extend([word.clone(), value.clone()]);
            }
            _ => return Err(USAGE.into()),
        }
    }
    if count {
        words.insert(0, "count".into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_the_programs_own() {
        let given = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            program_arguments(&words)
        };
        assert_eq!(given(""), Ok(vec![]));
        assert_eq!(
            given("--width 80 --instructions"),
            Ok(["count", "--width", "80"].map(String::from).into())
        );
        for wrong in ["--json", "--fast", "short"] {
            assert_eq!(given(wrong), Err(USAGE.into()), "{wrong}");
        }
    }
}
