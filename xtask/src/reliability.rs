//! `cargo xtask reliability`: runs the reliability tests and writes the tables of
//! `docs/measurements/reliability.md`.
//!
//! A test only says that a promise holds; the tables show what happens. They are printed by the
//! tests' own code, so every row was observed by a test.

use std::fs;
use std::process::Command;

use crate::needs::{self, Need};
use crate::workspace;

const USAGE: &str = "usage: cargo xtask reliability [SECTION]";

/// The page with the tables.
const PAGE: &str = "docs/measurements/reliability.md";

/// The argument with which a test program prints its rows instead of `ok`.
const MATRIX: &str = "--matrix";
/// The number of processes that the checkpoint test kills.
const TRIES: (&str, &str) = ("GPUPROF_TEST_TRIES", "100");

/// A table of the page, between `<!-- NAME -->` and `<!-- /NAME -->`.
struct Section {
    name: &'static str,
    source: Source,
}

/// The source of a table.
enum Source {
    /// Rows that tests of the facade print, in this order, under these columns.
    Rows {
        head: &'static str,
        tests: &'static [&'static str],
    },
    /// The output of this cargo command from its first table row on.
    Whole(&'static [&'static str]),
}

const SECTIONS: [Section; 3] = [
    Section {
        name: "exit",
        source: Source::Rows {
            head: "| way to end | status | as without gpuprof | report | standard output | took |\n\
                   |---|---|---|---|---|---|",
            tests: &["process"],
        },
    },
    Section {
        name: "fault",
        source: Source::Whole(&[
            "test",
            "--quiet",
            "--package",
            "gpuprof",
            "--test",
            "non_interference",
            "--",
            "--matrix",
            "faults",
        ]),
    },
    Section {
        name: "load",
        source: Source::Whole(&["run", "--quiet", "--release", "--package", "load"]),
    },
];

/// Runs the tests of each section, or of one, prints their tables and writes them into the page.
///
/// # Errors
/// A text for the user: a section that does not exist, something missing that may not be
/// installed, or a test that failed. The page is then unchanged.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let wanted = |section: &&Section| match arguments {
        [] => true,
        [name] => section.name == name,
        _ => false,
    };
    let wanted: Vec<&Section> = SECTIONS.iter().filter(wanted).collect();
    if wanted.is_empty() {
        let names = SECTIONS.map(|section| section.name).join(", ");
        return Err(format!("{USAGE}\nsections: {names}"));
    }
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    let path = workspace::root().join(PAGE);
    let mut page = fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    let date = output(Command::new("date").args(["-u", "+%F"]))?;
    for section in wanted {
        let table = section.table(date.trim())?;
        println!("{table}");
        page = replaced(&page, section.name, &table)?;
    }
    fs::write(&path, page).map_err(|error| format!("{PAGE}: {error}"))
}

impl Section {
    fn table(&self, date: &str) -> Result<String, String> {
        let table = match &self.source {
            Source::Rows { head, tests } => {
                let rows = tests.iter().map(|test| rows(test));
                let rows = rows.collect::<Result<Vec<_>, _>>()?.concat();
                format!("{head}\n{rows}")
            }
            Source::Whole(arguments) => whole(arguments)?,
        };
        Ok(format!(
            "On the simulated device, {date}, by `cargo xtask reliability {}`:\n\n{table}",
            self.name
        ))
    }
}

/// The rows that a test file of the facade prints.
fn rows(test: &str) -> Result<String, String> {
    let mut command =
        workspace::cargo(["test", "--package", "gpuprof", "--test", test, "--", MATRIX]);
    workspace::neutral(&mut command);
    command.env(TRIES.0, TRIES.1);
    let seen = output(&mut command)?;
    let rows: Vec<String> = seen
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| format!("{line}\n"))
        .collect();
    if rows.is_empty() {
        Err(format!("tests/{test}.rs printed no row"))
    } else {
        Ok(rows.concat())
    }
}

/// The output of a command from its first table row on.
fn whole(arguments: &[&str]) -> Result<String, String> {
    let mut command = workspace::cargo(arguments.iter().copied());
    workspace::neutral(&mut command);
    let seen = output(&mut command)?;
    let begin = seen.find("| ");
    let table = begin.and_then(|begin| seen.get(begin..));
    let table = table.ok_or(format!("`cargo {}` printed no row", arguments.join(" ")))?;
    Ok(format!("{}\n", table.trim_end()))
}

/// The page with `table` between the markers of the section `name`.
fn replaced(page: &str, name: &str, table: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or(format!("{PAGE} lacks the markers of {name}"))?;
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

/// The standard output of a command; its standard error is passed on.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = workspace::shown(command);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if !output.status.success() {
        // The output says why.
        let seen = String::from_utf8_lossy(&output.stdout);
        return Err(format!("{seen}`{shown}` failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("`{shown}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_the_one_before_and_nothing_else() {
        let page = "a\n<!-- exit -->\nold\n<!-- /exit -->\nb\n<!-- load -->\n<!-- /load -->\n";
        let wanted = "a\n<!-- exit -->\nnew\n<!-- /exit -->\nb\n<!-- load -->\n<!-- /load -->\n";
        assert_eq!(replaced(page, "exit", "new\n").as_deref(), Ok(wanted));
        assert!(replaced(page, "fault", "new\n").is_err());
    }

    #[test]
    fn the_page_has_the_markers_of_every_section_and_the_tests_exist() {
        let page = fs::read_to_string(workspace::root().join(PAGE)).expect("the page");
        let tests = workspace::Workspace::load().expect("cargo metadata").tests;
        for section in SECTIONS {
            assert!(
                replaced(&page, section.name, "").is_ok(),
                "{}",
                section.name
            );
            let Source::Rows { tests: names, .. } = section.source else {
                continue;
            };
            for name in names {
                assert!(
                    tests
                        .iter()
                        .any(|test| test.package == "gpuprof" && test.name == *name)
                );
            }
        }
    }

    #[test]
    fn an_unknown_section_is_named_with_the_known_ones() {
        let error = run(&["exist".into()]).expect_err("no such section");
        assert!(error.contains("exit"), "{error}");
    }
}
