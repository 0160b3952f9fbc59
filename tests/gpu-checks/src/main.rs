//! `gpu-checks`: what gpuprof promises, held against the driver that is there.
//!
//! The GPU pack runs it on a machine with a GPU and no Rust toolchain; CI runs it on the simulated
//! device, so that the pack is known to work before it is carried anywhere.

mod arguments;
mod check;
mod checks;
mod device;
mod examples;
mod machine;
mod outcome;
mod process;
mod runner;
mod table;

use std::process::ExitCode;

use arguments::Command;
use check::World;

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
        Command::Machine(world) => {
            device::open(&world)?;
            let text = serde_json::to_string(&machine::this(&world)?);
            println!("{}", text.map_err(|error| error.to_string())?);
        }
        Command::Check(name, world) => {
            let rows = serde_json::to_string(&make(&name, &world));
            println!("{}", rows.map_err(|error| error.to_string())?);
        }
        Command::Play(name, world) => {
            let mut scenes = checks::scenes();
            let (_, scene) = scenes
                .find(|(known, _)| *known == name)
                .ok_or_else(|| format!("there is no scene `{name}`"))?;
            return scene(&world);
        }
        Command::Run(asked) => {
            let good = runner::run(&asked)?.is_good();
            return Ok(if good {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the check called `name` in this process.
fn make(name: &str, world: &World) -> Result<Vec<check::Row>, String> {
    let mut checks = checks::all();
    let check = checks
        .find(|check| check.name == name)
        .ok_or_else(|| format!("there is no check `{name}`"))?;
    device::open(world)?;
    (check.run)(world)
}
