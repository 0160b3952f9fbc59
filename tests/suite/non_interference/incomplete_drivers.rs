//! Promise: whatever functions the driver lacks or refuses, the program runs as without gpuprof,
//! and the report says what is missing.

mod failures;
mod program;

use gpuprof::Profile;
use gpuprof::profile::Function;
use support::function;
use support::program::{Ended, Program};
use support::suite::Module;
use support::tests;

use self::program::{CALLS, HIDE, KERNEL_NS, ROUNDS};

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[TESTS, failures::TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    no_driver_is_loaded_or_asked,
    what_cudarc_does_without_a_driver_stays_as_it_is,
    a_driver_without_a_device_tells_the_program_alone,
    a_driver_that_comes_late_is_found,
    nothing_is_missing_and_nothing_fails,
    without_a_function_it_needs_gpu_timing_is_off,
    without_any_other_function_gpu_timing_goes_on,
    older_names_of_functions_do,
    functions_that_only_raw_streams_need,
    a_driver_that_is_gone_is_left_alone,
];

/// Every driver function that gpuprof calls, except `cuCtxSetCurrent`, which the
/// program calls too.
const CALLED: [&str; 21] = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventElapsedTime_v2",
    "cuThreadExchangeStreamCaptureMode",
    "cuDeviceGetAttribute",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuGetErrorName",
];

/// Functions without which gpuprof times nothing.
const NEEDED: [&str; 9] = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuStreamIsCapturing",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuThreadExchangeStreamCaptureMode",
];

/// Functions that gpuprof needs only for a stream without a known context.
const RAW_ONLY: [&str; 2] = ["cuCtxGetDevice", "cuStreamGetCtx"];

/// Runs a scenario with gpuprof and without, and checks that status and standard output are equal.
fn same(program: impl Fn() -> Program) -> (Ended, Profile) {
    let without = program().env("GPUPROF", "off").run();
    let (with, profile) = program().profiled();
    let output = |ended: &Ended| {
        (
            ended.status,
            String::from_utf8_lossy(&ended.stdout).into_owned(),
        )
    };
    assert_eq!(output(&with), output(&without), "{}", with.stderr);
    (with, profile)
}

fn timed(function: &Function) -> u64 {
    function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls)
}

/// Checks what holds in every run of "rounds": counts, CPU times, and every GPU time that is
/// reported.
fn check(profile: &Profile) {
    for (name, calls) in ["outer", "add"].into_iter().zip(CALLS) {
        let function = function(profile, name);
        let whole = timed(function) + function.captured_calls + function.untimed_calls;
        assert_eq!((function.calls, whole), (calls, calls), "{function:#?}");
        assert_eq!(
            (function.untimed.sum(), function.has_stream),
            (function.untimed_calls, true)
        );
    }
    assert_eq!(function(profile, "on_the_cpu").calls, ROUNDS);
    if let Some(gpu) = &function(profile, "add").gpu {
        assert_eq!((gpu.times.min_ns, gpu.times.max_ns), (KERNEL_NS, KERNEL_NS));
    }
    if let Some(gpu) = &function(profile, "outer").gpu {
        assert_eq!(
            (gpu.times.min_ns, gpu.times.max_ns),
            (2 * KERNEL_NS, 2 * KERNEL_NS)
        );
    }
}

fn rounds_with(variable: &str, value: &str) -> (Ended, Profile) {
    let (ended, profile) = same(|| Program::new("rounds").env(variable, value));
    assert!(ended.status.success(), "{value}: {ended:#?}");
    check(&profile);
    (ended, profile)
}

#[track_caller]
fn assert_no_device_and_no_error(profile: &Profile) {
    assert_eq!(
        (profile.devices.len(), profile.diagnostics.errors.len()),
        (0, 0)
    );
}

fn all_timed(profile: &Profile) -> bool {
    ["outer", "add"].map(|name| timed(function(profile, name))) == CALLS
}

fn no_driver_is_loaded_or_asked() {
    let (ended, profile) = same(|| Program::new("no driver"));
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "42\ndrivers: []\n");
    assert_eq!(function(&profile, "on_the_cpu").calls, 1);
    assert_no_device_and_no_error(&profile);
}

fn what_cudarc_does_without_a_driver_stays_as_it_is() {
    let (_, profile) = same(|| Program::new("cudarc alone"));
    assert_eq!(
        ["connect", "on_the_cpu"].map(|name| function(&profile, name).calls),
        [1, 1]
    );
    assert_no_device_and_no_error(&profile);
}

fn a_driver_without_a_device_tells_the_program_alone() {
    let (ended, profile) = same(|| Program::new("no device"));
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(
        told.starts_with("Err(DriverError(CUDA_ERROR_NO_DEVICE"),
        "{told}"
    );
    assert_eq!(
        ["connect", "on_the_cpu"].map(|name| function(&profile, name).calls),
        [1, 1]
    );
    assert_no_device_and_no_error(&profile);
}

fn a_driver_that_comes_late_is_found() {
    let (_, profile) = same(|| Program::new("late"));
    assert_eq!(
        timed(function(&profile, "add")),
        1,
        "{:#?}",
        profile.diagnostics
    );
    assert_eq!(profile.devices.len(), 1);
}

fn nothing_is_missing_and_nothing_fails() {
    let (_, profile) = rounds_with("GPUPROF_SORT", "gpu");
    assert!(all_timed(&profile), "{:#?}", profile.functions);
    assert_eq!(
        (
            profile.diagnostics.errors.len(),
            profile.diagnostics.notes.len()
        ),
        (0, 0)
    );
    assert_eq!(profile.devices.len(), 1);
}

/// The report's one line on a missing function.
fn line_about<'a>(ended: &'a Ended, symbol: &str) -> &'a str {
    let mut lines = ended.stderr.lines().filter(|line| line.contains(symbol));
    let (Some(line), None) = (lines.next(), lines.next()) else {
        panic!("{symbol}: {}", ended.stderr)
    };
    line
}

/// Checks that without one of these functions no call has a GPU time, and that the one line about
/// the function says this.
fn nothing_is_timed_without(symbols: &[&str], said: &str) {
    for symbol in symbols {
        let (ended, profile) = rounds_with(HIDE, symbol);
        assert_eq!(
            ["outer", "add"].map(|name| function(&profile, name).untimed.unavailable),
            CALLS,
            "{symbol}"
        );
        let line = line_about(&ended, symbol);
        assert!(line.contains(said), "{}", ended.stderr);
    }
}

fn without_a_function_it_needs_gpu_timing_is_off() {
    nothing_is_timed_without(&NEEDED, "GPU timing is off");
    let (ended, _) = rounds_with(HIDE, "cuEventElapsedTime,cuEventElapsedTime_v2");
    let line = line_about(&ended, "cuEventElapsedTime");
    assert!(line.contains("GPU timing is off"), "{}", ended.stderr);
}

fn without_any_other_function_gpu_timing_goes_on() {
    for symbol in CALLED
        .iter()
        .filter(|symbol| !NEEDED.contains(symbol) && !RAW_ONLY.contains(symbol))
    {
        let (_, profile) = rounds_with(HIDE, symbol);
        assert!(all_timed(&profile), "{symbol}: {:#?}", profile.functions);
        assert_eq!(profile.diagnostics.errors.len(), 0, "{symbol}");
    }
}

fn older_names_of_functions_do() {
    let (_, whole) = rounds_with("GPUPROF_SORT", "gpu");
    let (_, profile) = rounds_with(HIDE, "cuEventElapsedTime_v2,cuDeviceGetUuid_v2");
    assert!(all_timed(&profile));
    assert_eq!(profile.devices, whole.devices);
    assert_eq!(profile.diagnostics.notes.len(), 0);
}

fn functions_that_only_raw_streams_need() {
    nothing_is_timed_without(&RAW_ONLY, "note:");
}

/// A real shutdown: from some call on every function returns DEINITIALIZED, to the program too.
fn a_driver_that_is_gone_is_left_alone() {
    let (ended, profile) = same(|| Program::new("torn down"));
    assert!(ended.status.success(), "{ended:#?}");
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(told.contains("CUDA_ERROR_DEINITIALIZED"), "{told}");
    let outer = function(&profile, "outer");
    assert_eq!((outer.calls, timed(outer)), (2 * ROUNDS, ROUNDS));
    assert_eq!(outer.untimed.unavailable, ROUNDS, "{:?}", outer.untimed);
    assert_eq!(profile.diagnostics.errors, []);
}
