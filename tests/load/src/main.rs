//! gpuprof under load, on the simulated device: each scenario prints its result as one row of a
//! table.
//!
//! `load` runs all scenarios at full size, each in a process of its own, because memory and
//! counters belong to a process. `load SCENARIO` runs one, `load --short` runs shorter versions.
//! The exit status is 1 if one fails.

mod memory;
mod scenario;
mod scenarios;

use std::env;
use std::process::{Command, ExitCode, Stdio};

use scenario::{HEADER, SHORT, Scenario, Size};
use scenarios::SCENARIOS;

fn main() -> ExitCode {
    let (options, names): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|argument| argument == SHORT);
    let size = if options.is_empty() {
        Size::Full
    } else {
        Size::Short
    };
    if names.is_empty() {
        println!("{HEADER}");
        // Runs all scenarios, also after a failure.
        let passed = SCENARIOS
            .iter()
            .filter(|scenario| run_in_process(scenario, size))
            .count();
        return ExitCode::from(u8::from(passed < SCENARIOS.len()));
    }
    let named = |name: &String| SCENARIOS.iter().find(|scenario| scenario.name == name);
    let Some(wanted) = names.iter().map(named).collect::<Option<Vec<_>>>() else {
        let known: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        eprintln!(
            "usage: load [{SHORT}] [SCENARIO]\nscenarios: {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    };
    memory::retain_freed_memory().expect("glibc");
    let passed = wanted
        .iter()
        .filter(|scenario| scenario.execute(size))
        .count();
    ExitCode::from(u8::from(passed < wanted.len()))
}

/// Runs a scenario in its own process, with gpuprof's default settings.
fn run_in_process(scenario: &Scenario, size: Size) -> bool {
    let mut command = Command::new(env::current_exe().expect("a program has a path"));
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("GPUPROF") && !shown.starts_with("GPUPROF_SIM") {
            command.env_remove(&name);
        }
    }
    if size == Size::Short {
        command.arg(SHORT);
    }
    let status = command.arg(scenario.name).stdin(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
