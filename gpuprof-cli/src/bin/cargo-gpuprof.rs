//! The command `cargo gpuprof`: starts the `gpuprof` beside it, so that only one of the two
//! programs is large.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1).peekable();
    // cargo passes its own name for this command first.
    let _ = arguments.next_if(|argument| argument == "gpuprof");
    let beside = env::current_exe().map(|path| path.with_file_name("gpuprof"));
    let gpuprof = beside.ok().filter(|path| path.is_file());
    let gpuprof = gpuprof.unwrap_or_else(|| PathBuf::from("gpuprof"));
    let error = Command::new(&gpuprof).args(arguments).exec();
    eprintln!(
        "cargo-gpuprof: cannot run {}: {error}; run cargo install gpuprof-cli",
        gpuprof.display()
    );
    ExitCode::from(2)
}
