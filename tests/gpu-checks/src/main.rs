//! `gpu-checks`: checks gpuprof's promises on the CUDA driver of this machine.
//!
//! The GPU pack runs it on a machine with a GPU and no Rust toolchain. CI runs it on the simulated
//! device, to verify the pack before it is copied to a GPU machine.

mod arguments;
mod check;
mod checks;
mod device;
mod examples;
mod hand_timed;
mod machine;
mod outcome;
mod process;
mod runner;
mod session;
mod statistics;
mod table;

use std::process::ExitCode;

use arguments::Command;
use check::RunMode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments::parse(&arguments).and_then(perform) {
        Ok(status) => status,
        Err(message) => {
            eprintln!("gpu-checks: {message}");
            ExitCode::from(2)
        }
    }
}

fn perform(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Help => println!("{}", arguments::HELP),
        Command::List => {
            for check in checks::all() {
                println!("{:12} {}", check.name, check.promise);
            }
        }
        Command::Machine(run_mode) => {
            device::open(&run_mode)?;
            return process::print(&machine::this(&run_mode)?);
        }
        Command::Check(name, run_mode) => {
            return process::print(&run_check(&name, &run_mode));
        }
        Command::Program(name, run_mode) => {
            let mut scenes = checks::test_programs();
            let (_, program) = scenes
                .find(|(known, _)| *known == name)
                .ok_or_else(|| format!("unknown test program `{name}`"))?;
            return program(&run_mode);
        }
        Command::Run(asked) => {
            let good = runner::run(&asked)?.has_passed();
            return Ok(if good {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the check `name` in this process.
fn run_check(name: &str, run_mode: &RunMode) -> Result<Vec<check::Row>, String> {
    let mut checks = checks::all();
    let check = checks
        .find(|check| check.name == name)
        .ok_or_else(|| format!("unknown check `{name}`"))?;
    device::open(run_mode)?;
    (check.run)(run_mode)
}
