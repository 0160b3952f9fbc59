//! The command `gpuprof`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpuprof_cli::main(std::env::args_os())
}
