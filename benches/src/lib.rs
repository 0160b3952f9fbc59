//! The benchmark of gpuprof's cost, behind `cargo xtask bench`.
//!
//! It is a program without a harness, because settings such as `GPUPROF=off` and the disabled build
//! apply to a whole process, while rows must be measured in turn so that a slow phase of the
//! machine affects all of them. So the program starts itself once per setting and queries those
//! workers round by round.
//!
//! It is a library only because `cost` and `cost-off` share their source.

mod callgrind;
mod driver_calls;
mod host_memory;
mod instructions;
#[cfg(feature = "enable")]
mod kernel_report;
mod loop_under_test;
mod machine;
mod other_profilers;
mod outcome;
mod overhead;
mod promises;
#[cfg(feature = "enable")]
mod report_time;
mod row_runner;
mod rows_with_launches;
mod rows_without_cuda;
mod run;
mod table;
mod table_rows;
mod tracing_layers;
mod verdict;
mod worker;
mod worker_client;

use std::process::ExitCode;

const HELP: &str = "\
cost [--short] [--json FILE] [--off PROGRAM] [--width COLUMNS]
    measure everything and print one table; --short runs one round, whose times mean nothing;
    PROGRAM is cost-off, built with gpuprof switched off; the default is beside this program
cost count [--off PROGRAM] [--width COLUMNS]
    instructions per call, counted by valgrind, and driver calls
cost loop ROW CALLS
    only call one row CALLS times, for valgrind, perf or a stop watch
cost worker
    answer requests on standard input; used internally";

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["worker"] => worker::serve().map(|()| true),
        ["loop", row, calls] => worker::run_loop(row, calls).map(|()| true),
        ["count", rest @ ..] => run::Options::read(rest)
            .and_then(|options| instructions::run(&options))
            .map(|()| true),
        ["--help" | "-h" | "help"] => {
            println!("{HELP}");
            Ok(true)
        }
        rest => run::Options::read(rest).and_then(|options| run::run(&options)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("cost: {message}");
            ExitCode::FAILURE
        }
    }
}
