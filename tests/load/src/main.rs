//! gpuprof under load, on the simulated device: each scene prints what it saw as one row of a
//! table.
//!
//! `load` runs all scenes at full size, each in a process of its own, as memory and counters are
//! the process's; `load SCENE` runs one, `load --short` less of each. It exits with 1 if one does
//! not hold. With `GPUPROF_TEST_MATRIX` set it prints the rows without the head, for a page that
//! has its own.

mod memory;
mod scenario;
mod scenarios;

use std::env;
use std::process::{Command, ExitCode, Stdio};

use scenario::{Form, HEAD, Scene};
use scenarios::SCENES;

const SHORT: &str = "--short";

fn main() -> ExitCode {
    let (options, names): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|one| one == SHORT);
    let form = match options.is_empty() {
        true => Form::Full,
        false => Form::Short,
    };
    if names.is_empty() {
        if env::var_os("GPUPROF_TEST_MATRIX").is_none() {
            println!("{HEAD}");
        }
        // All of them, also after one that does not hold.
        let held = SCENES.iter().filter(|scene| alone(scene, form)).count();
        return ExitCode::from(u8::from(held < SCENES.len()));
    }
    let named = |name: &String| SCENES.iter().find(|scene| scene.name == name);
    let Some(wanted) = names.iter().map(named).collect::<Option<Vec<_>>>() else {
        let known: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
        eprintln!(
            "usage: load [{SHORT}] [SCENE]\nscenes: {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    };
    memory::keep_freed().expect("glibc");
    let held = wanted.iter().filter(|scene| scene.play(form)).count();
    ExitCode::from(u8::from(held < wanted.len()))
}

/// Plays a scene in a process of its own, with gpuprof's settings at their defaults.
fn alone(scene: &Scene, form: Form) -> bool {
    let mut command = Command::new(env::current_exe().expect("a program has a path"));
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("GPUPROF") && !shown.starts_with("GPUPROF_SIM") {
            command.env_remove(&name);
        }
    }
    if form == Form::Short {
        command.arg(SHORT);
    }
    let status = command.arg(scene.name).stdin(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
