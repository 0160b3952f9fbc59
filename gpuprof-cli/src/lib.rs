//! The command `gpuprof`: shows saved profiles, runs programs under gpuprof, and says what a
//! machine lacks. `docs/command.md` describes it.
//!
//! Exit codes: 0 for success, 1 for a negative answer, 2 for bad input or wrong arguments; `run`
//! passes that of the program.

#![deny(unsafe_code)]

mod child;
mod commands;
mod filter;
#[cfg(feature = "parquet")]
mod fleet;
mod input;
mod input_files;
mod live;
mod machine;
mod ordered_reads;
mod output;
mod written_profiles;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use output::Exit;

/// Profiles of Rust CUDA programs: shows them, makes them, and says what a machine lacks.
///
/// Profiles are JSON files that a program with gpuprof writes at exit if GPUPROF_REPORT=json=PATH
/// is set.
#[derive(Debug, Parser)]
#[command(name = "gpuprof", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(commands::show::ShowArguments),
    Diff(commands::diff::DiffArguments),
    Merge(commands::merge::MergeArguments),
    Export(commands::export::ExportArguments),
    Run(commands::run::RunArguments),
    Snapshot(commands::snapshot::SnapshotArguments),
    Top(commands::top::TopArguments),
    Trace(commands::trace::TraceArguments),
    #[cfg(feature = "mcp")]
    Mcp(commands::mcp::McpArguments),
    Doctor(commands::doctor::DoctorArguments),
    Completions(commands::describe::CompletionArguments),
    Man(commands::describe::ManArguments),
}

/// Runs the command with the arguments of the process, of which the first is the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match CommandLine::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no failure: its reader has enough.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::BadInput.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let exit = match arguments.command {
        Command::Show(arguments) => commands::show::run(&arguments),
        Command::Diff(arguments) => commands::diff::run(&arguments),
        Command::Merge(arguments) => commands::merge::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Snapshot(arguments) => commands::snapshot::run(&arguments),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => commands::mcp::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Completions(arguments) => {
            commands::describe::completions(&arguments, CommandLine::command())
        }
        Command::Man(arguments) => commands::describe::man(&arguments, CommandLine::command()),
    };
    exit.into()
}
