//! Promise: every context has its own events, and no time is measured across devices. `lifetimes`
//! checks contexts that come and go.

mod lifetimes;

use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use gpuprof::gpu_profile;
use gpuprof::profile::Function;
use promises::contexts::the_current_one_stays;
use promises::devices::separate_times;
use promises::{KnownSpans, measured, observe};

use super::TestProgram;
use crate::check::{Check, Row, RunMode, rows};
use crate::device::{self, Gpu, TOLERANCE, failed_in};
use crate::{process, runner};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "contexts",
        promise: "Spans are timed in any context and leave the current context unchanged.",
        limit: Duration::from_secs(60),
        run: two_contexts,
    },
    Check {
        name: "context-lives",
        promise: "Contexts that end, with times pending too, lose no time or memory.",
        limit: Duration::from_secs(300),
        run: lifetimes::run,
    },
    Check {
        name: "devices",
        promise: "Times of several devices are separate; none spans two devices.",
        limit: Duration::from_secs(90),
        run: devices,
    },
];

pub(crate) const PROGRAMS: &[TestProgram] = &[("devices", two_devices)];

/// The device of all checks here except the check of two devices.
const DEVICE: i32 = 0;
const MS: u64 = 1_000_000;
#[gpu_profile(name = "in context")]
fn on(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

/// A new non-primary context.
fn not_primary() -> Result<Arc<CudaContext>, DriverError> {
    result::init()?;
    let mut handle = ptr::null_mut();
    // SAFETY: the handle is writable; no parameters, no flags.
    unsafe { sys::cuCtxCreate_v4(&mut handle, ptr::null_mut(), 0, DEVICE) }.result()?;
    // Creation has pushed the context onto this thread's stack, which would grow; cudarc sets the
    // current context itself.
    let mut popped = ptr::null_mut();
    // SAFETY: the handle is writable.
    unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }.result()?;
    // SAFETY: the context was created on this device, and nobody else destroys it.
    unsafe { CudaContext::from_raw_context(DEVICE as usize, DEVICE, handle) }
}

fn two_contexts(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("two contexts");
    let calls = if run_mode.short { 4 } else { 20 };
    let primary = Gpu::new().map_err(&failed)?;
    let other = Gpu::of(not_primary().map_err(&failed)?).map_err(&failed)?;
    let mut rows = Vec::new();
    // In sequence, because contexts take turns on a device.
    for (which, gpu) in [
        ("the primary context", &primary),
        ("another context", &other),
        ("the primary context again", &primary),
    ] {
        let stream = &gpu.context.new_stream().map_err(&failed)?;
        let profile = measured(&[(gpu, stream)], |_| {
            (0..calls).try_for_each(|_| on(gpu, stream, 2 * MS))
        })?;
        let what = format!("{calls} calls in {which}");
        let expected = KnownSpans::new("in context", vec![2 * MS; calls as usize]);
        rows.push(observe(what, &profile, &[expected], TOLERANCE).into());
    }
    rows.extend(self::rows([the_current_one_stays(
        [&primary, &other],
        calls,
    )])?);
    Ok(rows)
}

fn counts(function: Option<&Function>) -> (u64, u64) {
    function.map_or((0, 0), |function| {
        let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        (function.calls, timed)
    })
}

/// Runs in its own process, so that a simulated driver can have two devices.
fn devices(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    if !run_mode.simulated {
        let count = CudaContext::device_count().map_err(failed_in("the devices"))?;
        if count < 2 {
            let why = format!("{count} device here, two are needed");
            return Ok(vec![Row::unavailable("times of two devices", why)]);
        }
    }
    runner::answer("devices", run_mode, CHECKS[2].limit, &[])
}

fn two_devices(run_mode: &RunMode) -> Result<ExitCode, String> {
    if run_mode.simulated {
        let two = simcuda::Options {
            devices: 2,
            ..simcuda::Options::default()
        };
        simcuda::install_with(&two).map_err(failed_in("two simulated devices"))?;
    } else {
        device::open(run_mode)?;
    }
    let failed = failed_in("two devices");
    let first = Gpu::new().map_err(&failed)?;
    let second = Gpu::of(CudaContext::new(1).map_err(&failed)?).map_err(&failed)?;
    let calls = if run_mode.short { 3 } else { 20 };
    let rows = rows([separate_times([&first, &second], calls, TOLERANCE)])?;
    process::print(&rows)
}
