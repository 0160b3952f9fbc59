//! The main function of a benchmark target: chooses benchmarks, runs them and prints a table.

mod baseline;
mod choose;
mod folder;
mod options;
mod report;
mod run;

use std::process::ExitCode;

use clap::Parser;

use self::options::HarnessOptions;

/// Runs the program's benchmarks as its arguments say. The one line of a benchmark target's `main`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     gpuprof_bench::main()
/// }
/// ```
///
/// The status is 1 if a benchmark failed, and 2 if an argument cannot be used. `--help` lists the
/// arguments.
#[must_use]
pub fn main() -> ExitCode {
    let options = HarnessOptions::parse();
    match run::run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("gpuprof bench: {error}");
            ExitCode::from(2)
        }
    }
}
