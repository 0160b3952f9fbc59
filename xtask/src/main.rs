//! `cargo xtask`: the commands of this repository.
//!
//! They are no shell scripts, because they must work on a machine with only Rust and a C compiler.
//! Installing what a build needs is one of their tasks.

mod arm;
mod bench;
mod c_program;
mod check;
mod chips;
mod demo;
mod dist;
mod fleets;
mod fuzz;
mod gpu_pack;
mod html_page_tests;
mod install;
mod metrics;
mod needs;
mod nsys;
mod outside;
mod pprof;
mod ptx;
mod ranks;
mod sanitize;
mod scripts;
mod sim;
mod test;
mod traces;
mod wheel;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  demo [EXAMPLE]        run an example (02_convolution) and end with its table; needs no GPU
  check                 format, clippy, source rules and the quickest tests, in under 3 minutes
  test                  run every test of the repository; a test that did not run is a failure
  bench [--short]       measure what gpuprof costs; --instructions counts under valgrind
  build-cost [--release] [FEATURE]
                        measure what gpuprof adds to a cold build of a cudarc program
  sanitize [loom | thread]
                        check what threads share by loom and ThreadSanitizer (needs a nightly)
  fuzz [SECONDS]        read hostile profiles, each test for so long (150)
  sim -- PROGRAM [ARG]  run a cudarc program on the simulated device
  nsys                  unpack Nsight Systems into the target folder (600 MB; Debian, x86_64)
  nsys test             run every example under it and compare its reports with gpuprof's
  nsys profile PROGRAM  record the NVTX ranges of a program into PROGRAM.nsys-rep and sum them up
  install [--prefix FOLDER]
                        install the command gpuprof, with what measures any CUDA program
  dist                  make an archive of both for machines without Rust, with a glibc from 2.28
  install test          install into the target folder, and measure a C program there
  setup                 get what demo and test need from outside, and nothing else
  gpu-pack              build target/gpu-pack: every check, for a machine without Rust
  arm                   check the workspace for aarch64, and run suites under qemu (Debian)
  packages              package what is published, and build and run a program with it
  pages                 test the HTML page in Chromium, without a window
  pages screenshots FOLDER
                        take pictures of it at two widths, light and dark
  metrics               have promtool read a program's metrics file and the alerts
  pprof                 have go tool pprof read the profiles written for it, and compare sums
  ptx [--check]         rebuild kernels/ptx from kernels/cuda, or only compare them
  chips                 check which hardware counters each chip has room for, and which of its
                        instructions are of double precision (x86_64)
  fleets                export 1,000 generated ranks and query them in DuckDB, and compare
  fleets spark          query them in Spark, on several workers of this machine, and compare
  ranks                 run a job of four ranks under mpirun, and merge its reports
  traces                open sample time lines in Perfetto, HTA and speedscope, and compare

demo, test, arm, packages, pages, traces, metrics, pprof, fleets, ranks, bench, gpu-pack and setup
install what is missing if they may (Debian and Ubuntu, as root or with passwordless sudo) and say
so first; otherwise they say exactly what to run.";

fn main() -> ExitCode {
    if outside::build_cost::is_rustc_wrapper() {
        return outside::build_cost::rustc();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let outcome = match command {
        "arm" => arm::run(rest),
        "check" => check::run(rest),
        "chips" => chips::run(rest),
        "demo" => demo::run(rest),
        "dist" => dist::run(rest),
        "fleets" => fleets::run(rest),
        "fuzz" => fuzz::run(rest),
        "test" => test::run(rest),
        "nsys" => nsys::run(rest),
        "bench" => bench::run(rest),
        "build-cost" => outside::build_cost::run(rest),
        "sanitize" => sanitize::run(rest),
        "sim" => sim::run(rest),
        "traces" => traces::run(rest),
        "setup" => setup(rest),
        "gpu-pack" => gpu_pack::run(rest),
        "install" => install::run(rest),
        "metrics" => metrics::run(rest),
        "packages" => outside::feature_warnings::run(rest),
        "pages" => html_page_tests::run(rest),
        "pprof" => pprof::run(rest),
        "ptx" => ptx::run(rest),
        "ranks" => ranks::run(rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no command `{other}`\n\n{HELP}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Gets everything that any command needs, for those who call cargo themselves afterwards.
fn setup(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask setup".into());
    }
    needs::ensure(&needs::Need::ALL)?;
    println!("there is everything that demo and test need");
    Ok(())
}
