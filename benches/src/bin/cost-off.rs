//! The benchmark's second program, with gpuprof switched off.

fn main() -> std::process::ExitCode {
    gpuprof_benches::main()
}
