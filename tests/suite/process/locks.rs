//! Promise: while a thread makes a profile, no other thread waits for it: neither in the first call
//! of a function, nor in a step, nor in a reset, nor where the program begins and ends the part
//! that is measured.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaStream, profiler_start, profiler_stop};
use gpuprof::{Session, gpu_profile};
use support::Gpu;
use support::program::Program;
use support::suite::Module;
use support::tests;

use crate::stopping_clock;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        nothing_waits_for_a_profile_that_is_made,
        a_first_call_does_not_wait_for_counters_that_are_copied,
        the_bounds_of_a_part_do_not_wait_for_counters_that_are_copied,
    ]],
)
.with_program(program);

#[gpu_profile]
fn first_on_the_gpu(_stream: &Arc<CudaStream>) {}

#[gpu_profile(cpu)]
fn known(inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(cpu)]
fn first() {}

#[gpu_profile(cpu)]
fn first_on_a_new_thread() {}

#[gpu_profile(cpu)]
async fn first_future() {}

fn nothing_waits_for_a_profile_that_is_made() {
    let ended = Program::new("making").run();
    assert!(ended.status.success(), "{ended:#?}");
}

fn a_first_call_does_not_wait_for_counters_that_are_copied() {
    let ended = Program::new("copying").run();
    assert!(ended.status.success(), "{ended:#?}");
}

fn the_bounds_of_a_part_do_not_wait_for_counters_that_are_copied() {
    let program = Program::new("bounding").env("GPUPROF_FROM_START", "off");
    let (ended, profile) = program.profiled();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(profile.diagnostics.calls, 2, "{}", ended.stderr);
}

fn program(scenario: &str) -> ExitCode {
    let sim = simcuda::install().expect("the simulated driver is built");
    let gpu = Gpu::new(sim, 0);
    stopping_clock::install();
    // SAFETY: the call takes a number. A program that hangs ends by it.
    unsafe { libc::alarm(10) };
    if scenario == "bounding" {
        simcupti::install().expect("the simulated libcupti is built");
        known(|| ());
        profiler_start().expect("a context");
        stopping_clock::hold_the_window();
        profiler_stop().expect("a context");
        known(|| ());
        profiler_start().expect("a context");
        known(first);
        stopping_clock::release();
        return ExitCode::SUCCESS;
    }
    let session = Session::builder().start();
    let session = session.expect("no other session is open");
    known(|| ());
    match scenario {
        "making" => stopping_clock::hold_a_profile(),
        "copying" => stopping_clock::hold_the_window(),
        _ => panic!("no scenario {scenario}"),
    }
    known(first);
    first_on_the_gpu(&gpu.stream);
    let on_a_new_thread = || thread::spawn(first_on_a_new_thread).join();
    on_a_new_thread().expect("no panic");
    let mut future = Box::pin(first_future());
    assert!(support::executor::poll(future.as_mut()).is_ready());
    if scenario == "making" {
        (0..3).for_each(|_| gpuprof::step());
        gpuprof::reset();
        assert_eq!(gpuprof::snapshot().diagnostics.calls, 0);
        known(first);
        assert_eq!(session.finish().diagnostics.calls, 2);
    }
    stopping_clock::release();
    ExitCode::SUCCESS
}
