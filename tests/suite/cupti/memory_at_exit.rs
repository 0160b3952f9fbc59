//! Promise: memory that lives to the end of the process is live at exit, and without CUPTI the
//! counters of the pool are read, also in the report at exit.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::profile::MemorySource;
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
        without_cupti_the_pool_is_read_and_the_report_says_so,
        another_profiler_leaves_the_counters_of_the_pool,
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

#[track_caller]
fn assert_by_counters(profile: &Profile) {
    let source = profile.memory.as_ref().map(|memory| memory.source);
    assert_eq!(source, Some(MemorySource::PoolCounters));
    let pool = function(profile, "fills_static").pool_memory;
    assert_eq!(
        pool.map(|pool| (pool.calls, pool.grown_bytes)),
        Some((1, 4_096))
    );
    let table = profile.to_string();
    // Advice only if it is not on.
    let advises = table.contains("GPUPROF_CUPTI=on records each allocation");
    let is_on = profile.diagnostics.cupti_unavailable().is_some();
    assert_ne!(advises, is_on, "{table}");
}

fn without_cupti_the_pool_is_read_and_the_report_says_so() {
    let (_, profile) = ended(&[]);
    assert_by_counters(&profile);
    assert_eq!(profile.cupti, None);
}

fn another_profiler_leaves_the_counters_of_the_pool() {
    // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
    let refused = "fail cuptiSubscribe 1 1 39";
    let (_, profile) = ended(&[("GPUPROF_CUPTI", "on"), (CUPTI_CONFIGURATION, refused)]);
    assert_by_counters(&profile);
    let notes = profile.diagnostics.notes.join("\n");
    assert!(notes.contains("kernels are not recorded"), "{notes}");
}
