//! Promise: CUPTI is not asked for hardware counters once the process ends.

use std::process::ExitCode;
use std::sync::OnceLock;

use gpuprof::gpu_profile;
use simcupti::Cupti;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{World, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_device_first_used_by_an_exit_handler_is_not_sampled
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
}

/// A program that first uses its device between gpuprof's exit handlers and the driver's.
fn program(mode: &str) -> ExitCode {
    let state = (world(), support::cupti_from_environment::install());
    let (world, _) = STATE.get_or_init(|| state);
    // SAFETY: the handler is a function of this program, which returns.
    unsafe { libc::atexit(at_exit) };
    gpuprof::reset();
    if mode == "before" {
        launches(world);
    }
    ExitCode::SUCCESS
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
