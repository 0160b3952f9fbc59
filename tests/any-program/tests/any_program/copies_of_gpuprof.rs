//! Promise: a process has one report, by the gpuprof that the program itself contains if it does.

use std::process::ExitCode;

use gpuprof::gpu_profile;
use simcupti::{Cupti, Instruction, StallModel};
use support::suite::Module;
use support::tests;
use support::{Gpu, function};

use crate::machine::{Machine, built, injected_library};
use crate::programs::kernels;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_program_with_gpuprof_is_measured_by_its_own,
        a_stripped_program_with_gpuprof_is_known_too,
        a_library_with_gpuprof_leaves_the_process_to_the_injected_one,
        modules_before_the_first_annotated_call_have_lines_if_injected,
    ]],
)
.with_program(program);

#[gpu_profile(stream = gpu.stream)]
fn annotated(gpu: &Gpu) {
    gpu.kernel(1_000);
}

fn program(scenario: &str) -> ExitCode {
    let sim = simcuda::install().expect("the simulated driver is built");
    if scenario == "stalls" {
        set_stalls(support::cupti_from_environment::install());
    }
    annotated(&Gpu::new(sim, 0));
    ExitCode::SUCCESS
}

/// A kernel of one instruction, of line 7, with 30 samples in each launch.
fn set_stalls(cupti: Cupti) {
    let nothing = Instruction {
        word: [0x7918, 0x000f_c000_0000_0000],
        line: Some(("saxpy.cu", 7)),
    };
    cupti.set_code(::kernels::SAXPY, &[nothing]);
    let waits = StallModel {
        offset: 0,
        reason: "wait",
        samples: 30,
        not_issued: false,
    };
    cupti.set_stalls(::kernels::SAXPY, &[waits]);
}

fn a_program_with_gpuprof_is_measured_by_its_own() {
    let program = support::program::Program::new("annotated");
    let (ended, profile) = program
        .env("CUDA_INJECTION64_PATH", injected_library())
        .profiled();
    assert_eq!(ended.reports(), 1, "{}", ended.stderr);
    assert_eq!(function(&profile, "annotated").calls, 1);
    // CUPTI stays off, as the program has not asked for it.
    assert!(profile.cupti.is_none() && profile.diagnostics.notes.is_empty());
}

fn a_stripped_program_with_gpuprof_is_known_too() {
    let machine = Machine::new();
    let stripped = machine.folder.path("stripped");
    let this = std::env::current_exe().expect("a path");
    let strip = std::process::Command::new("strip")
        .arg("-o")
        .args([&stripped, &this])
        .status();
    assert!(strip.expect("binutils").success());
    let ended = machine
        .run(&stripped)
        .env("GPUPROF_SIM_DRIVER", machine.folder.path("libcuda.so.1"))
        .scenario("annotated")
        .run();
    assert_eq!(
        (ended.status.code(), ended.reports()),
        (Some(0), 1),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("annotated"), "{}", ended.stderr);
}

fn a_library_with_gpuprof_leaves_the_process_to_the_injected_one() {
    let machine = Machine::new();
    let library = built("libannotated_library.so");
    let library = library.to_str().expect("UTF-8");
    let (ended, profile) = machine.program("library").arguments(&[library]).profiled();
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 1));
    let [line] = ended.remarks()[..] else {
        panic!("one line: {}", ended.stderr);
    };
    let begin = "gpuprof: off in a library that this program loads: gpuprof run";
    assert!(line.starts_with(begin), "{line}");
    assert!(profile.functions.is_empty());
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
    // Without the injected one the library measures its functions.
    let alone = machine.run_alone(&machine.folder.path("program"));
    let (_, profile) = alone.arguments(&["library", library]).profiled();
    let [annotated] = &profile.functions[..] else {
        panic!("one function: {:?}", profile.functions);
    };
    assert_eq!((&*annotated.name, annotated.calls), ("annotated", 3));
}

/// The injected library has the program's gpuprof start CUPTI inside cuInit.
fn modules_before_the_first_annotated_call_have_lines_if_injected() {
    let profile = |is_injected| {
        let program = support::program::Program::new("stalls").env("GPUPROF_STALLS", "on");
        let (ended, profile) = if is_injected {
            program
                .env("CUDA_INJECTION64_PATH", injected_library())
                .profiled()
        } else {
            program.profiled()
        };
        assert_eq!(ended.reports(), 1, "{}", ended.stderr);
        let stalls = profile.stalls.expect("samples");
        assert_eq!(stalls.samples, 30);
        let [kernel] = &stalls.kernels[..] else {
            panic!("one kernel: {:?}", stalls.kernels);
        };
        let lines: Vec<_> = kernel
            .lines
            .iter()
            .map(|of| (of.line, of.samples))
            .collect();
        (lines, kernel.samples_without_line)
    };
    assert_eq!(profile(true), (vec![(7, 30)], 0));
    assert_eq!(profile(false), (vec![], 30));
}
