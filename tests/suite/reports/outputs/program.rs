//! The program that the tests of `outputs.rs` run.

use std::process::ExitCode;

use gpuprof::gpu_profile;

pub(super) const STDOUT: &str = "done\n";

#[gpu_profile(cpu)]
fn outer() {
    (0..3).for_each(inner);
}

#[gpu_profile(cpu)]
fn inner(_: u32) {}

pub(super) fn run(_: &str) -> ExitCode {
    outer();
    print!("{STDOUT}");
    ExitCode::SUCCESS
}
