//! The command `gpuprof`: shows saved profiles, runs programs under gpuprof, and says what a machine
//! lacks. `docs/command.md` describes it.
//!
//! Exit codes: 0 for success, 1 for a negative answer, 2 for bad input or wrong arguments; `run`
//! passes that of the program.

mod commands;
mod filter;
mod input;
mod input_files;
mod output;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::Exit;

/// Profiles of Rust CUDA programs: shows them, makes them, and says what a machine lacks.
///
/// Profiles are JSON files that a program with gpuprof writes at exit if GPUPROF_REPORT=json=PATH is
/// set.
#[derive(Debug, Parser)]
#[command(name = "gpuprof", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(commands::show::Arguments),
    Merge(commands::merge::Arguments),
}

/// Runs the command with the arguments of the process, of which the first is the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no failure: nobody reads on.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::BadInput.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    match arguments.command {
        Command::Show(arguments) => commands::show::run(&arguments).into(),
        Command::Merge(arguments) => commands::merge::run(&arguments).into(),
    }
}
