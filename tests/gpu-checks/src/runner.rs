//! A whole run: every check in a process of its own, the examples, and the files that say what came
//! of it.
//!
//! Why processes: a hang or a crash costs one row, and each check finds a driver that nobody has
//! used. Must never import: cudarc. Whoever starts the checks must not need a driver that works.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};

use crate::arguments::Run;
use crate::check::{Check, Row, Verdict, World};
use crate::outcome::{Machine, Outcome, Part};
use crate::{checks, examples, process, table};

/// How long the driver may take to say what it has.
const MACHINE_LIMIT: Duration = Duration::from_secs(60);

/// Does what was asked for, prints the table and writes the files.
///
/// # Errors
/// A text for the user: no device, a name that no check has, a file that cannot be written.
pub(crate) fn run(asked: &Run) -> Result<Outcome, String> {
    let names: Vec<_> = checks::all().map(|check| check.name).collect();
    for name in asked.only.iter().chain(&asked.skip) {
        if !names.contains(&name.as_str()) && name != examples::NAME {
            let known = names.join(", ");
            return Err(format!(
                "there is no check `{name}`; there are {known}, {}",
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
        short: asked.world.short,
        machine: machine(&asked.world)?,
        parts: Vec::new(),
    };
    print!("{}", table::head(&outcome));
    for check in checks::all().filter(|check| wanted(check.name)) {
        eprintln!("{} …", check.name);
        outcome.parts.push(part(check, &asked.world));
    }
    let mut tables = None;
    if wanted(examples::NAME) {
        eprintln!("{} …", examples::NAME);
        let (part, printed) = examples::run(&examples_folder()?, asked.world.simulated);
        outcome.parts.push(part);
        tables = Some(printed);
    }
    println!("\n{}\n{}", table::table(&outcome), table::closing(&outcome));
    if let Some(folder) = &asked.out {
        write(folder, &outcome, tables.as_deref())?;
    }
    Ok(outcome)
}

/// This program again, with the variables of the caller that could change something taken away.
pub(crate) fn itself(arguments: &[&str], world: &World) -> Result<Command, String> {
    let path = env::current_exe().map_err(|error| format!("where am I: {error}"))?;
    let mut command = Command::new(path);
    process::neutral(&mut command);
    command.args(arguments);
    for (given, flag) in [(world.simulated, "--simulated"), (world.short, "--short")] {
        if given {
            command.arg(flag);
        }
    }
    Ok(command)
}

fn machine(world: &World) -> Result<Machine, String> {
    let ended = process::run(itself(&["machine"], world)?, MACHINE_LIMIT)
        .map_err(|error| format!("cannot run myself: {error}"))?;
    match ended.trouble() {
        Some(trouble) => Err(format!(
            "no check can run here ({trouble}):\n{}",
            ended.tail()
        )),
        None => serde_json::from_str(&ended.stdout)
            .map_err(|error| format!("machine: {error} in `{}`", ended.stdout)),
    }
}

/// One check in its process.
fn part(check: &Check, world: &World) -> Part {
    let began = Instant::now();
    let rows = itself(&["check", check.name], world)
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

/// The rows that a check printed, and one more where it did not end well.
fn rows(ended: &process::Ended) -> Vec<Row> {
    let last = ended.stdout.lines().last().unwrap_or_default();
    let answer = serde_json::from_str::<Result<Vec<Row>, String>>(last);
    if let Some(trouble) = ended.trouble() {
        let mut rows = answer.ok().and_then(Result::ok).unwrap_or_default();
        rows.push(failed(&format!("{trouble}\n{}", ended.tail())));
        return rows;
    }
    match answer {
        Ok(Ok(rows)) if rows.is_empty() => vec![failed("it found nothing")],
        Ok(Ok(rows)) => rows,
        Ok(Err(error)) => vec![failed(&format!("cannot be made: {error}"))],
        Err(error) => vec![failed(&format!("no rows: {error}\n{}", ended.tail()))],
    }
}

fn failed(how: &str) -> Row {
    Row::held("the check itself", how, "ends well, with rows", false)
}

/// Beside this program, as in the pack; in a folder of their own, as cargo builds them.
fn examples_folder() -> Result<PathBuf, String> {
    let path = env::current_exe().map_err(|error| format!("where am I: {error}"))?;
    let here = path.parent().unwrap_or(Path::new("."));
    let own = here.join("examples");
    Ok(if own.is_dir() { own } else { here.into() })
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
    /// Whether everything is as it is wanted.
    pub(crate) fn is_good(&self) -> bool {
        self.count(Verdict::Bad) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> process::Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        process::run(command, Duration::from_secs(30)).expect("there is a shell")
    }

    const ROWS: &str = r#"{"Ok":[{"what":"a","measured":"1","wanted":"1","verdict":"good"}]}"#;

    #[test]
    fn the_last_line_of_a_check_is_its_rows() {
        let rows = rows(&ended(&format!("echo something else; echo '{ROWS}'")));
        assert_eq!((rows.len(), rows[0].verdict), (1, Verdict::Good));
    }

    #[test]
    fn a_check_that_ends_badly_is_one_bad_row_with_what_it_said() {
        for (script, said) in [
            (
                format!("echo '{ROWS}'; echo why >&2; exit 4"),
                "exit status: 4\nwhy",
            ),
            ("echo '{\"Err\":\"no kernel\"}'".into(), "no kernel"),
            ("echo '{\"Ok\":[]}'".into(), "nothing"),
            ("echo rubbish".into(), "no rows"),
        ] {
            let rows = rows(&ended(&script));
            let bad: Vec<_> = rows
                .iter()
                .filter(|row| row.verdict == Verdict::Bad)
                .collect();
            assert!(bad.len() == 1 && bad[0].measured.contains(said), "{rows:?}");
        }
    }
}
