//! Promise: CUPTI is not asked for hardware counters or stalls once the process ends, and those of
//! a program that leaves its context alone are reported.

use std::process::ExitCode;
use std::sync::OnceLock;

use gpuprof::gpu_profile;
use simcupti::{Cupti, StallModel};
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{World, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_device_first_used_by_an_exit_handler_is_not_sampled,
        a_turn_that_is_due_at_the_end_is_not_taken,
        stalls_of_a_context_that_is_never_destroyed_are_reported,
    ]],
)
.with_program(program);

static STATE: OnceLock<(World, Cupti)> = OnceLock::new();

#[gpu_profile(stream = t.gpu.stream)]
fn launches(t: &World) {
    t.gpu.kernel(1_000);
}

extern "C" fn at_exit() {
    let Some((world, cupti)) = STATE.get() else {
        return;
    };
    // The simulated libcupti needs values of the thread, which the main thread has no longer.
    let launching = std::thread::spawn(|| launches(world));
    launching.join().expect("a launch");
    let starts = cupti.calls("cuptiPmSamplingEnable");
    println!("starts of sampling: {starts}");
    let by_reader = cupti.enables_by("gpuprof-cupti");
    println!("by the reader: {by_reader}");
}

/// A program that first uses its device between gpuprof's exit handlers and the driver's.
fn program(mode: &str) -> ExitCode {
    let state = (world(), support::cupti_from_environment::install());
    let (world, cupti) = STATE.get_or_init(|| state);
    if mode == "stalls" {
        cupti.set_stalls(kernels::SAXPY, &[WAITS]);
        launches(world);
        world.gpu.context.synchronize().expect("synchronize");
        return ExitCode::SUCCESS;
    }
    // SAFETY: the handler is a function of this program, which returns.
    unsafe { libc::atexit(at_exit) };
    gpuprof::reset();
    if mode != "after" {
        launches(world);
    }
    if mode == "turn" {
        // A second, in steps whose samples have room.
        for _ in 0..10 {
            drop(gpuprof::collect());
            world.gpu.kernel(100_000_000);
            world.gpu.context.synchronize().expect("synchronize");
        }
    }
    ExitCode::SUCCESS
}

const WAITS: StallModel<'static> = StallModel {
    offset: 0,
    reason: "wait",
    samples: 30,
    not_issued: false,
};

fn stalls_of_a_context_that_is_never_destroyed_are_reported() {
    let program = Program::new("stalls").env("GPUPROF_STALLS", "on");
    let (ended, profile) = program.profiled();
    assert!(ended.status.success(), "{}", ended.stderr);
    let stalls = profile.stalls.expect("samples");
    assert_eq!((stalls.samples, stalls.kernels.len()), (30, 1));
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn a_turn_that_is_due_at_the_end_is_not_taken() {
    let program = Program::new("turn").env("GPUPROF_COUNTERS", "on");
    let ended = program.env("GPUPROF_CUPTI", "on").run();
    let stdout = String::from_utf8_lossy(&ended.stdout);
    // The thread that decodes may have come first.
    assert!(stdout.contains("by the reader: 0\n"), "{stdout}");
    assert!(ended.status.success(), "{:?}", ended.status);
}

fn a_device_first_used_by_an_exit_handler_is_not_sampled() {
    for (mode, starts) in [("before", 1), ("after", 0)] {
        let program = Program::new(mode).env("GPUPROF_COUNTERS", "on");
        let ended = program.env("GPUPROF_CUPTI", "on").run();
        let stdout = String::from_utf8_lossy(&ended.stdout);
        let expected = format!("starts of sampling: {starts}\n");
        assert!(stdout.contains(&expected), "{stdout}");
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        // Sampling has ended before what it made in NVIDIA's libraries was destroyed.
        assert!(ended.status.success(), "{:?}", ended.status);
    }
}
