//! Runs every check in its own process, then the examples, and writes the result files.
//!
//! Separate processes limit a hang or a crash to one row and give each check a fresh driver. This
//! process never calls the driver, so that it works even if the driver hangs.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};

use serde::de::DeserializeOwned;

use crate::arguments::Run;
use crate::check::{Check, Row, RunMode, Verdict};
use crate::outcome::{Machine, Outcome, Part};
use crate::{checks, examples, process, table};

/// Time limit for the query of the driver.
const MACHINE_LIMIT: Duration = Duration::from_secs(60);

/// Runs the selected checks, prints the table and writes the files.
///
/// # Errors
/// A message for the user: no device, an unknown check name, or a file that cannot be written.
pub(crate) fn run(asked: &Run) -> Result<Outcome, String> {
    let names: Vec<_> = checks::all().map(|check| check.name).collect();
    for name in asked.only.iter().chain(&asked.skip) {
        if !names.contains(&name.as_str()) && name != examples::NAME {
            let known = names.join(", ");
            return Err(format!(
                "unknown check `{name}`; available: {known}, {}",
                examples::NAME
            ));
        }
    }
    let wanted = |name: &str| {
        (asked.only.is_empty() || asked.only.iter().any(|only| only == name))
            && !asked.skip.iter().any(|skip| skip == name)
    };
    let mut outcome = Outcome {
        gpuprof: env!("CARGO_PKG_VERSION").into(),
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command: env::args().collect::<Vec<_>>().join(" "),
        short: asked.run_mode.short,
        machine: machine(&asked.run_mode)?,
        parts: Vec::new(),
    };
    print!("{}", table::head(&outcome));
    for check in checks::all().filter(|check| wanted(check.name)) {
        eprintln!("{} …", check.name);
        outcome.parts.push(part(check, &asked.run_mode));
    }
    let mut tables = None;
    if wanted(examples::NAME) {
        eprintln!("{} …", examples::NAME);
        let (part, printed) = examples::run(&examples::folder()?, asked.run_mode.simulated);
        outcome.parts.push(part);
        tables = Some(printed);
    }
    println!("\n{}\n{}", table::table(&outcome), table::closing(&outcome));
    if let Some(folder) = &asked.out {
        write(folder, &outcome, tables.as_deref())?;
    }
    Ok(outcome)
}

/// A command that runs this program again, without the caller's variables that could change a
/// measurement.
pub(crate) fn own_command(arguments: &[&str], run_mode: &RunMode) -> Result<Command, String> {
    let path =
        env::current_exe().map_err(|error| format!("cannot find this program's path: {error}"))?;
    let mut command = Command::new(path);
    process::clear_settings(&mut command);
    command.args(arguments);
    for (given, flag) in [
        (run_mode.simulated, "--simulated"),
        (run_mode.short, "--short"),
    ] {
        if given {
            command.arg(flag);
        }
    }
    Ok(command)
}

/// What a test program [prints](process::print) with these settings, without a report.
///
/// # Errors
/// How the program failed, by its name.
pub(crate) fn answer<T: DeserializeOwned>(
    program: &str,
    run_mode: &RunMode,
    limit: Duration,
    settings: &[(&str, &str)],
) -> Result<T, String> {
    let mut command = own_command(&["program", program], run_mode)?;
    command.envs(settings.iter().copied());
    command.env("GPUPROF_REPORT", "none");
    let ended = process::finished(command, limit);
    let answer = ended.and_then(|ended| ended.answer());
    answer.map_err(|error| format!("{program}: {error}"))
}

fn machine(run_mode: &RunMode) -> Result<Machine, String> {
    let ended = process::run(own_command(&["machine"], run_mode)?, MACHINE_LIMIT)
        .map_err(|error| format!("cannot run this program again: {error}"))?;
    match ended.failure() {
        Some(trouble) => Err(format!(
            "no check can run here ({trouble}):\n{}",
            ended.tail()
        )),
        None => serde_json::from_str(&ended.stdout)
            .map_err(|error| format!("machine: {error} in `{}`", ended.stdout)),
    }
}

/// Runs one check in its process.
fn part(check: &Check, run_mode: &RunMode) -> Part {
    let began = Instant::now();
    let rows = own_command(&["check", check.name], run_mode)
        .and_then(|command| {
            process::run(command, check.limit).map_err(|error| format!("cannot run: {error}"))
        })
        .map_or_else(|error| vec![failed(&error)], |ended| rows(&ended));
    Part {
        name: check.name.into(),
        promise: check.promise.into(),
        seconds: began.elapsed().as_secs_f64(),
        rows,
    }
}

/// The rows that a check printed, and a failed row if the process failed.
fn rows(ended: &process::Finished) -> Vec<Row> {
    let last = ended.stdout.lines().last().unwrap_or_default();
    let answer = serde_json::from_str::<Result<Vec<Row>, String>>(last);
    if let Some(trouble) = ended.failure() {
        let mut rows = answer.ok().and_then(Result::ok).unwrap_or_default();
        rows.push(failed(&format!("{trouble}\n{}", ended.tail())));
        return rows;
    }
    match answer {
        Ok(Ok(rows)) if rows.is_empty() => vec![failed("it returned no rows")],
        Ok(Ok(rows)) => rows,
        Ok(Err(error)) => vec![failed(&format!("cannot run: {error}"))],
        Err(error) => vec![failed(&format!("no rows: {error}\n{}", ended.tail()))],
    }
}

fn failed(how: &str) -> Row {
    Row::judged(
        "the check itself",
        how,
        "exits with status 0 and rows",
        false,
    )
}

fn write(folder: &Path, outcome: &Outcome, examples: Option<&str>) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let json = serde_json::to_string_pretty(outcome).map_err(|error| failed(&error))?;
    let files = [
        ("gpu-pack.json", Some(json)),
        ("gpu-pack.md", Some(table::markdown(outcome))),
        ("examples.txt", examples.map(String::from)),
    ];
    for (name, text) in files {
        let Some(text) = text else { continue };
        fs::write(folder.join(name), text).map_err(|error| failed(&error))?;
    }
    println!("written to {}", folder.display());
    Ok(())
}

impl Outcome {
    /// True if no row failed.
    pub(crate) fn has_passed(&self) -> bool {
        self.count(Verdict::Fail) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> process::Finished {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        process::run(command, Duration::from_secs(30)).expect("there is a shell")
    }

    const ROWS: &str = r#"{"Ok":[{"what":"a","measured":"1","wanted":"1","verdict":"pass"}]}"#;

    #[test]
    fn the_last_line_of_a_check_is_its_rows() {
        let rows = rows(&ended(&format!("echo something else; echo '{ROWS}'")));
        assert_eq!((rows.len(), rows[0].verdict), (1, Verdict::Pass));
    }

    #[test]
    fn a_check_that_ends_badly_is_one_bad_row_with_what_it_said() {
        for (script, said) in [
            (
                format!("echo '{ROWS}'; echo why >&2; exit 4"),
                "exit status: 4\nwhy",
            ),
            ("echo '{\"Err\":\"no kernel\"}'".into(), "no kernel"),
            ("echo '{\"Ok\":[]}'".into(), "no rows"),
            ("echo rubbish".into(), "no rows"),
        ] {
            let rows = rows(&ended(&script));
            let bad: Vec<_> = rows
                .iter()
                .filter(|row| row.verdict == Verdict::Fail)
                .collect();
            assert!(bad.len() == 1 && bad[0].measured.contains(said), "{rows:?}");
        }
    }
}
