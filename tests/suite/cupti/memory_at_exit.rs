//! Promise: memory that lives to the end of the process is live at exit, and without CUPTI the
//! report says that it has no memory.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::{Profile, gpu_profile};
use support::cupti_from_environment::CUPTI_CONFIGURATION;
use support::program::{Ended, Program};
use support::suite::Module;
use support::tests;
use support::{World, function, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        memory_in_statics_is_live_at_exit,
        memory_alone_switches_cupti_on,
        without_cupti_the_report_says_what_is_missing,
        another_profiler_leaves_no_memory_and_a_reason,
    ]],
)
.with_program(program);

fn alloc(stream: &Arc<CudaStream>, bytes: usize) -> CudaSlice<u8> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.alloc::<u8>(bytes) }.expect("an allocation")
}

#[gpu_profile]
fn scratch(stream: &Arc<CudaStream>) {
    drop(alloc(stream, 100));
}

static KEPT: OnceLock<CudaSlice<u8>> = OnceLock::new();

#[gpu_profile(stream = t.gpu.stream)]
fn fills_static(t: &World) {
    KEPT.get_or_init(|| alloc(&t.gpu.stream, 4_096));
}

/// A program that keeps memory in a static to its end.
fn program(_: &str) -> ExitCode {
    let world = world();
    support::cupti_from_environment::install();
    fills_static(&world);
    scratch(&world.gpu.stream);
    ExitCode::SUCCESS
}

fn ended(settings: &[(&str, &str)]) -> (Ended, Profile) {
    let program = Program::new("statics").env("GPUPROF_MEMORY", "on");
    let with = |program: Program, (name, value): &(&str, &str)| program.env(name, value);
    let (ended, profile) = settings.iter().fold(program, with).profiled();
    // At exit the driver is called on threads of gpuprof's own alone.
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    (ended, profile)
}

fn memory_in_statics_is_live_at_exit() {
    let (_, profile) = ended(&[("GPUPROF_CUPTI", "on")]);
    let live = |name| function(&profile, name).memory[0].live_bytes;
    assert_eq!((live("fills_static"), live("scratch")), (4_096, 0));
    let table = profile.to_string();
    assert!(
        table.contains("memory in statics is always live"),
        "{table}"
    );
    assert!(!table.contains("leak"), "{table}");
}

fn memory_alone_switches_cupti_on() {
    let (_, profile) = ended(&[]);
    assert_eq!(
        function(&profile, "fills_static").memory[0].live_bytes,
        4_096
    );
}

fn without_cupti_the_report_says_what_is_missing() {
    let (ended, profile) = ended(&[("GPUPROF_CUPTI", "off")]);
    assert_eq!((&profile.memory, &profile.cupti), (&None, &None));
    let missing = "allocations are not recorded (GPUPROF_MEMORY): GPUPROF_CUPTI is off";
    assert!(ended.stderr.contains(missing), "{}", ended.stderr);
}

fn another_profiler_leaves_no_memory_and_a_reason() {
    // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
    let refused = "fail cuptiSubscribe_v2 1 1 39";
    let (_, profile) = ended(&[(CUPTI_CONFIGURATION, refused)]);
    assert_eq!(profile.memory, None);
    let notes = profile.diagnostics.notes.join("\n");
    assert!(notes.contains("kernels are not recorded"), "{notes}");
}
