//! Runs the examples: each must exit with status 0 and print its table. All output is saved.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::check::Row;
use crate::outcome::Part;
use crate::process::{self, Finished};

/// The name that selects the examples, like the name of a check.
pub(crate) const NAME: &str = "examples";
/// Far more than any example takes.
const LIMIT: Duration = Duration::from_secs(120);

/// The folder of the examples: beside this program in the pack, in cargo's `examples` folder
/// otherwise.
///
/// # Errors
/// This program's own path is unknown.
pub(crate) fn folder() -> Result<PathBuf, String> {
    let path =
        env::current_exe().map_err(|error| format!("cannot find this program's path: {error}"))?;
    let here = path.parent().unwrap_or(Path::new("."));
    let own = here.join("examples");
    Ok(if own.is_dir() { own } else { here.into() })
}

/// The example of this name.
///
/// # Errors
/// It is not there: the reason of a row.
pub(crate) fn path(name: &str) -> Result<PathBuf, String> {
    let folder = folder()?;
    let path = folder.join(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{name} is not in {}", folder.display()))
    }
}

/// A command that runs an example, without the caller's variables that could change a measurement.
pub(crate) fn command(path: &Path, simulated: bool) -> Command {
    let mut command = Command::new(path);
    process::clear_settings(&mut command);
    if simulated {
        command.env("GPUPROF_SIM", "1");
    }
    command
}

/// Runs every example in `folder`. Returns the rows and all printed text.
pub(crate) fn run(folder: &Path, simulated: bool) -> (Part, String) {
    let began = Instant::now();
    let mut printed = String::new();
    let mut rows = Vec::new();
    for path in find(folder) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match process::run(command(&path, simulated), LIMIT) {
            Ok(ended) => {
                let title = format!("==== {name}: standard output, then standard error ====");
                printed.extend([&title, "\n", &ended.stdout, &ended.stderr, "\n"]);
                rows.push(row(&name, &ended, simulated));
            }
            Err(error) => rows.push(wrong(&name, format!("cannot be run: {error}"))),
        }
    }
    if rows.is_empty() {
        let missing = format!("no example is in {}", folder.display());
        rows.push(wrong("the numbered programs", missing));
    }
    let part = Part {
        name: NAME.into(),
        promise: "Each example verifies its result, exits with 0 and prints its table.".into(),
        seconds: began.elapsed().as_secs_f64(),
        rows,
    };
    (part, printed)
}

const WANTED: &str = "status 0 and a table";

fn wrong(name: &str, measured: String) -> Row {
    Row::judged(name, measured, WANTED, false)
}

fn row(name: &str, ended: &Finished, simulated: bool) -> Row {
    if let Some(trouble) = ended.failure() {
        return wrong(name, format!("{trouble}\n{}", ended.tail()));
    }
    let head = format!("gpuprof {name} · ");
    if !ended.stderr.lines().any(|line| line.starts_with(&head)) {
        return wrong(name, format!("status 0, no table\n{}", ended.tail()));
    }
    if !simulated && ended.stderr.contains("simulated device") {
        return wrong(name, "no GPU was found and one was simulated".into());
    }
    let measured = format!("status 0 and a table after {:.1?}", ended.elapsed);
    Row::judged(name, measured, WANTED, true)
}

/// Programs named with two digits and an underscore, sorted. cargo's copies have a hash after a
/// hyphen.
fn find(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let (digits, rest) = name.as_bytes().split_at(name.len().min(2));
        digits.iter().all(u8::is_ascii_digit)
            && rest.starts_with(b"_")
            && rest.iter().copied().all(is_word)
            && path.is_file()
    });
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::check::Verdict;

    fn folder(name: &str, programs: &[(&str, &str)]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gpu-checks-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for (program, script) in programs {
            let path = folder.join(program);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        folder
    }

    #[test]
    fn an_example_needs_its_status_and_its_table() {
        let folder = folder(
            "examples",
            &[
                ("01_good", "echo 'gpuprof 01_good · Some GPU' >&2"),
                ("02_fails", "echo wrong >&2; exit 1"),
                ("03_mute", "exit 0"),
                (
                    "04_simulated",
                    "echo 'gpuprof 04_simulated · simulated device' >&2",
                ),
                ("05_copy-0123", "exit 1"),
                ("cost", "exit 1"),
            ],
        );
        let (part, printed) = run(&folder, false);
        let verdicts: Vec<_> = part.rows.iter().map(|row| row.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Pass, Verdict::Fail, Verdict::Fail, Verdict::Fail],
            "{part:?}"
        );
        assert!(part.rows[1].measured.contains("exit status: 1\nwrong"));
        assert!(printed.contains("==== 01_good") && printed.contains("01_good · Some GPU"));
        let (part, _) = run(&folder, true);
        assert_eq!(part.rows[3].verdict, Verdict::Pass);
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn no_example_at_all_is_wrong() {
        let folder = folder("empty", &[]);
        let (part, _) = run(&folder, false);
        assert_eq!(part.rows[0].verdict, Verdict::Fail);
        fs::remove_dir_all(folder).expect("ours");
    }
}
