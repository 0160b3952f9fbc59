//! Promise: on the time line, calls, GPU spans, kernels and CUDA calls are on one clock, within the
//! stated error.
//!
//! Each call has one kernel, so that the n-th launch, span and kernel belong together.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::trace::{Activity, ActivityKind, ApiCall, CpuSpan, GpuSpan, Trace};
use gpuprof::{CuptiMode, Output, gpu_profile};

use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::session::every_call;
use crate::statistics::time;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "time-line",
    promise: "Calls, GPU spans, kernels and CUDA calls are on one clock.",
    limit: Duration::from_secs(60),
    run,
}];

/// The kernel of each call, and the pause after every tenth one, in which the stream is idle: the
/// clocks drift apart meanwhile.
const SPIN_NS: u64 = 100_000;
const PAUSE: Duration = Duration::from_millis(10);
const CALLS: [usize; 2] = [3_000, 40];
/// What is accepted beside the stated error: the resolution of events, and of the clocks' rates.
const MARGIN_NS: u64 = 5_000;
/// The same on the simulated device.
const SIMULATED_NS: u64 = 5_000_000;
/// The largest error that may be stated.
const MAX_ERROR_NS: u64 = 50_000;

#[gpu_profile(name = "call")]
fn call(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, SPIN_NS)
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let trace = recorded(run_mode)?;
    let [long, short] = CALLS;
    let calls = if run_mode.short { short } else { long };
    let error_ns = trace.clock_error_ns.unwrap_or(u64::MAX);
    let cpu: Vec<&CpuSpan> = named(&trace, &trace.cpu_spans, |span| span.name);
    let gpu: Vec<&GpuSpan> = named(&trace, &trace.gpu_spans, |span| span.name);
    let found = format!("{} calls, {} GPU spans", cpu.len(), gpu.len());
    let wanted = format!("{calls} calls, {calls} GPU spans");
    let mut rows = vec![
        Row::judged("on the time line", found.clone(), &wanted, found == wanted),
        Row::judged(
            "error stated for GPU times",
            time(error_ns as f64),
            format!("≤ {}", time(MAX_ERROR_NS as f64)),
            error_ns <= MAX_ERROR_NS,
        ),
    ];
    let kernels: Vec<&Activity> = trace.activities.iter().filter(is_kernel).collect();
    if kernels.is_empty() {
        rows.push(Row::unavailable("kernels", "CUPTI is unavailable"));
        return Ok(rows);
    }
    let outside = pairs(&gpu, &kernels, |span, kernel| {
        let before = span.start_ns.saturating_sub(kernel.start_ns);
        before.max(kernel.end_ns.saturating_sub(span.end_ns))
    });
    // The simulated device's clock stands still while the host computes what its kernels do.
    let simulated_ns = if run_mode.simulated { SIMULATED_NS } else { 0 };
    let outside_ns = error_ns.saturating_add(simulated_ns);
    rows.push(at_most(
        "a kernel outside its GPU span",
        outside,
        outside_ns,
    ));
    let launches: Vec<&ApiCall> = trace
        .api_calls
        .iter()
        .filter(|api| is_launch(&trace, api))
        .collect();
    let early = pairs(&launches, &kernels, |launch, kernel| {
        if launch.correlation == kernel.correlation {
            launch.start_ns.saturating_sub(kernel.start_ns)
        } else {
            u64::MAX
        }
    });
    rows.push(at_most("a kernel before its launch", early, simulated_ns));
    let outside = pairs(&cpu, &launches, |call, launch| {
        let before = call.start_ns.saturating_sub(launch.start_ns);
        before.max(launch.end_ns.saturating_sub(call.end_ns))
    });
    rows.push(at_most("a launch outside its call", outside, simulated_ns));
    Ok(rows)
}

fn recorded(run_mode: &RunMode) -> Result<Trace, String> {
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    let stream = gpu.context.new_stream().map_err(failed_in("a stream"))?;
    let session = every_call()
        .cupti(CuptiMode::On)
        .outputs([Output::Trace("/dev/null".into())])
        .start()
        .map_err(failed_in("a session"))?;
    let [long, short] = CALLS;
    let calls = if run_mode.short { short } else { long };
    for number in 1..=calls {
        call(&gpu, &stream).map_err(failed_in("a call"))?;
        if number % 10 == 0 {
            stream.synchronize().map_err(failed_in("the stream"))?;
            std::thread::sleep(PAUSE);
        }
    }
    gpu.context.synchronize().map_err(failed_in("the device"))?;
    let trace = gpuprof::collect_trace().ok_or("there is no time line")?;
    drop(session);
    Ok(trace)
}

/// The events of the annotated function.
fn named<'t, T>(trace: &Trace, events: &'t [T], name: impl Fn(&T) -> u32) -> Vec<&'t T> {
    let is_call = |event: &&T| {
        trace
            .names
            .get(name(event) as usize)
            .is_some_and(|name| name == "call")
    };
    events.iter().filter(is_call).collect()
}

fn is_kernel(activity: &&Activity) -> bool {
    matches!(activity.kind, ActivityKind::Kernel { .. })
}

fn is_launch(trace: &Trace, api: &ApiCall) -> bool {
    let name = trace.names.get(api.name as usize);
    name.is_some_and(|name| name.contains("LaunchKernel"))
}

/// The largest difference of the n-th events; `None` if their numbers differ.
fn pairs<A, B>(first: &[&A], second: &[&B], ns: impl Fn(&A, &B) -> u64) -> Option<u64> {
    let pairs = first
        .iter()
        .zip(second)
        .map(|(first, second)| ns(first, second));
    (first.len() == second.len()).then(|| pairs.max().unwrap_or(0))
}

/// `error_ns`: the stated error of what is compared.
fn at_most(what: &str, ns: Option<u64>, error_ns: u64) -> Row {
    let limit_ns = error_ns.saturating_add(MARGIN_NS);
    let measured = match ns {
        Some(u64::MAX) => "they do not belong together".to_owned(),
        Some(ns) => format!("at most {}", time(ns as f64)),
        None => "their numbers differ".to_owned(),
    };
    let wanted = format!("≤ {}", time(limit_ns as f64));
    Row::judged(what, measured, wanted, ns.is_some_and(|ns| ns <= limit_ns))
}
