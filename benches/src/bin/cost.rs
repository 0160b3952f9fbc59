//! The benchmark, with gpuprof switched on.

fn main() -> std::process::ExitCode {
    gpuprof_benches::main()
}
