//! The program that the tests of `files.rs` run, by scenario.

use std::process::ExitCode;
use std::sync::Arc;
use std::{env, fs};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::Gpu;

/// The metrics' path, for a program that waits for its checkpoint.
pub(super) const FILE: &str = "GPUPROF_TEST_FILE";

#[gpu_profile(cpu)]
fn tick() {}

#[gpu_profile]
fn step(gpu: &Gpu, stream: &Arc<CudaStream>) {
    gpu.kernel_on(stream, 1_000);
}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        "gpu" => {
            let sim = simcuda::install().expect("the simulated driver is built");
            let gpu = Gpu::new(sim, 0);
            (0..5).for_each(|_| step(&gpu, &gpu.stream));
        }
        "killed" => {
            (0..4).for_each(|_| tick());
            await_calls(4);
            std::process::abort();
        }
        "windows" => {
            (0..2).for_each(|_| tick());
            gpuprof::reset();
            (0..3).for_each(|_| tick());
            let session = gpuprof::Session::builder().start();
            let session = session.expect("no other is open");
            (0..4).for_each(|_| tick());
            let _ = session.finish();
        }
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// Waits until a checkpoint has this many calls.
fn await_calls(calls: u32) {
    let path = env::var_os(FILE).expect("the test gives it");
    let line = format!("}} {calls}\n");
    support::until(|| {
        fs::read_to_string(&path)
            .is_ok_and(|text| text.contains("gpuprof_function_calls_total") && text.contains(&line))
    });
}
