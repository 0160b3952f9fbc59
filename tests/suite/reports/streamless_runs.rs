//! Promise: a program that runs on the CPU is given no advice about streams, also if the CUDA
//! driver is linked in; one that runs on a GPU is told how its functions get a stream.

use std::process::ExitCode;

use gpuprof::gpu_profile;
use support::Gpu;
use support::program::{Folder, Program, read_profile};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        without_cuda_there_are_cpu_times_alone,
        on_a_gpu_the_advice_names_a_stream_for_all,
    ]],
)
.with_program(program);

#[gpu_profile]
fn forward() {}

#[gpu_profile]
fn backward() {}

fn program(scenario: &str) -> ExitCode {
    match scenario {
        "no driver" => {}
        "driver" => drop(simcuda::install().expect("the simulated driver is built")),
        "gpu" => {
            let sim = simcuda::install().expect("the simulated driver is built");
            // Its context has ended when the report is made.
            drop(Gpu::new(sim, 0));
        }
        _ => panic!("no scenario {scenario}"),
    }
    forward();
    backward();
    ExitCode::SUCCESS
}

/// Standard error, and whether the profile says that CUDA was not used.
fn report(scenario: &str) -> (String, bool) {
    let folder = Folder::create();
    let path = folder.path("report.json");
    let outputs = format!("table,json={}", path.display());
    let program = Program::new(scenario).env("GPUPROF_REPORT", outputs);
    let ended = program.env("GPUPROF_FILTER", "streamless_runs").run();
    assert!(ended.status.success(), "{ended:#?}");
    let profile = read_profile(&path, &ended);
    assert_eq!(profile.diagnostics.calls, 2);
    (ended.stderr, profile.diagnostics.no_cuda)
}

fn without_cuda_there_are_cpu_times_alone() {
    for scenario in ["no driver", "driver"] {
        let (stderr, no_cuda) = report(scenario);
        assert!(no_cuda, "{scenario}");
        assert!(!stderr.contains("stream:"), "{scenario}: {stderr}");
        assert!(
            stderr.contains("CUDA was not used: CPU times only"),
            "{stderr}"
        );
    }
}

fn on_a_gpu_the_advice_names_a_stream_for_all() {
    let (stderr, no_cuda) = report("gpu");
    assert!(!no_cuda);
    assert!(stderr.contains("no stream:"), "{stderr}");
    assert!(stderr.contains("with_stream(&stream"), "{stderr}");
    assert!(!stderr.contains("CUDA was not used"), "{stderr}");
}
