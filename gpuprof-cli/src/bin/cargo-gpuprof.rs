//! The command `cargo gpuprof`, which is `gpuprof`: cargo passes its own name for it as the first
//! argument.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|name| name == "gpuprof") {
        arguments.remove(1);
    }
    gpuprof_cli::main(arguments)
}
