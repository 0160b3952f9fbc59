//! Instructions and driver calls per call, which are nearly the same on every run.
//!
//! valgrind counts the instructions of the warm loop alone, and two runs of different length are
//! subtracted. Rows with launches run on the simulated device, whose own instructions are left out.
//! Use it to compare two states of this code, not as the cost of a span: valgrind presents a
//! processor without an invariant counter, so gpuprof uses the system's clock, which takes about
//! sixty instructions more per read than the TSC.

use std::path::Path;
use std::process::Command;

use crate::callgrind::Instructions;
use crate::run::Options;
use crate::table::{Column, Table};
use crate::table_rows::{CASES, CUPTI_LAUNCH, Case, Program};
use crate::worker_client::{Programs, Worker, numbers};

/// Calls of the shorter and of the longer run.
const CALLS: [u64; 2] = [20_000, 120_000];
/// The same for launches, which take longer.
const LAUNCHES: [u64; 2] = [2_000, 12_000];

/// The cases of gpuprof, and what they are compared with. Launches of many threads are the same.
fn counted(case: &&Case) -> bool {
    let is_peer = ["hotpath", "fastrace"].contains(&case.name);
    !is_peer && !case.name.starts_with("tracing") && !case.name.ends_with("-shared")
}

/// Counts and prints the table.
///
/// # Errors
/// valgrind is not installed, or a program under it fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let programs = Programs::find(options.off.as_deref())?;
    let mut rows = Vec::new();
    for case in CASES.iter().chain([&CUPTI_LAUNCH]).filter(counted) {
        if case.setting.program == Program::Off && programs.off.is_none() {
            continue;
        }
        let calls = if case.gpu { LAUNCHES } else { CALLS };
        let [short, long] = calls.map(|calls| count_instructions(&programs, case, calls));
        let per_call = long?.saturating_sub(short?) as f64 / (calls[1] - calls[0]) as f64;
        let driver_calls = if case.gpu {
            count_driver_calls(&programs, case)?.map(|count| format!("{count:.2}"))
        } else {
            ["–", "–"].map(str::to_owned)
        };
        let mut row = vec![case.label.to_owned(), format!("{per_call:.1}")];
        row.extend(driver_calls);
        rows.push(row);
    }
    let heads = [
        "per call",
        "instructions",
        "driver calls",
        "by gpuprof's threads",
    ];
    let column = |head: &str| Column {
        head: head.to_owned(),
        spare: false,
    };
    let table = Table {
        columns: heads.map(column).into(),
        rows,
    };
    for line in table.lines(options.width()) {
        println!("{line}");
    }
    println!(
        "on the program's thread, without the simulated driver's own; under valgrind, where clocks \
         are the system's: compare states of the code, not rows with rows"
    );
    Ok(())
}

/// A command of a case on the simulated device, if it launches.
fn command(programs: &Programs, case: &Case) -> Result<Command, String> {
    let mut command = programs.command(&case.setting)?;
    if case.gpu {
        command.env("GPUPROF_SIM", "1");
    }
    Ok(command)
}

fn count_instructions(programs: &Programs, case: &Case, calls: u64) -> Result<u64, String> {
    let inner = command(programs, case)?;
    let file = std::env::temp_dir().join(format!("gpuprof-callgrind-{}", std::process::id()));
    // The first thread's.
    let counts = file.with_extension("out-01");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .args(["--compress-strings=no", "--compress-pos=no"])
        .arg(format!(
            "--callgrind-out-file={}",
            file.with_extension("out").display()
        ))
        .arg("--toggle-collect=*worker::warmed_loop*")
        .arg(inner.get_program())
        .args(["loop", case.row, &calls.to_string()]);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}; install the package valgrind"))?;
    let read = std::fs::read_to_string(&counts);
    remove_beside(&file);
    let found = read.ok().and_then(|text| Instructions::parse(&text));
    match found {
        Some(found) if output.status.success() => Ok(found.without_simulators()),
        _ => Err(format!(
            "valgrind: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

/// Removes the files of all threads. They are in the temporary folder; a failure is harmless.
fn remove_beside(file: &Path) {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return;
    };
    let name = name.to_string_lossy();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&*name) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Driver calls per call of the row: on the program's thread, and on others.
fn count_driver_calls(programs: &Programs, case: &Case) -> Result<[f64; 2], String> {
    let mut worker = Worker::from_command(command(programs, case)?, case.setting.program)?;
    numbers(&worker.ask(&format!("driver-calls {} {}", case.row, LAUNCHES[1]))?)
}
