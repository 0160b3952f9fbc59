//! Instructions per call, counted by valgrind, which are the same on every run.
//!
//! Only the warm loop is counted, and two runs of different length are subtracted. Use it to
//! compare two states of this code, not as the cost of a span: valgrind presents a processor
//! without an invariant counter, so gpuprof uses the system's clock, which takes about sixty
//! instructions more per read than the TSC.

use std::process::Command;

use crate::run::Options;
use crate::table::{Column, Table};
use crate::table_rows::{CASES, Case, Program};
use crate::worker_client::Programs;

/// Calls of the shorter and of the longer run.
const CALLS: [u64; 2] = [20_000, 120_000];

/// The cases without a background thread, whose instructions would be counted too.
fn counted(case: &&Case) -> bool {
    !case.gpu && !["hotpath", "fastrace", "tracing"].contains(&case.name)
}

/// Counts the instructions and prints the table.
///
/// # Errors
/// valgrind is not installed, or a program under it fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let programs = Programs::find(options.off.as_deref())?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(counted) {
        if case.setting.program == Program::Off && programs.off.is_none() {
            continue;
        }
        let [short, long] =
            [CALLS[0], CALLS[1]].map(|calls| count_instructions(&programs, case, calls));
        let per_call = long?.saturating_sub(short?) as f64 / (CALLS[1] - CALLS[0]) as f64;
        rows.push(vec![case.label.to_owned(), format!("{per_call:.1}")]);
    }
    let column = |head: &str| Column {
        head: head.to_owned(),
        spare: false,
    };
    let table = Table {
        columns: vec![column(""), column("instructions per call")],
        rows,
    };
    for line in table.lines(options.width()) {
        println!("{line}");
    }
    println!(
        "under valgrind, where clocks are the system's: \
         compare states of the code, not rows with rows"
    );
    Ok(())
}

fn count_instructions(programs: &Programs, case: &Case, calls: u64) -> Result<u64, String> {
    let inner = programs.command(&case.setting)?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
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
    let said = String::from_utf8_lossy(&output.stderr);
    parse_collected(&said).ok_or_else(|| format!("valgrind: {}", said.trim_end()))
}

/// The count in `==42== Collected : 573909`.
fn parse_collected(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    line?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        assert_eq!(
            parse_collected("==1== \n==1== Collected : 573909\n==1==\n"),
            Some(573_909)
        );
        assert_eq!(parse_collected("valgrind: no such program"), None);
    }
}
