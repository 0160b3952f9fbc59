//! Promise: gpuprof adds no call that waits. Spans on a stream whose kernel runs for seconds return
//! immediately, and so does a snapshot.
//!
//! The driver itself blocks a caller whose stream queue is full. The capacity is measured first
//! without spans, and the spans stay well below it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "blocking",
    promise: "Spans and snapshots never wait for the GPU.",
    limit: Duration::from_secs(90),
    run,
}];

/// Spans on the busy stream, if the driver's queue has room for them.
const SPANS: usize = 1_000;
/// Spans on the other stream.
const ELSEWHERE: usize = 100;
/// Operations of a span on its stream: two event records and a launch.
const OPERATIONS: usize = 3;

#[gpu_profile]
fn behind(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 0)
}

#[gpu_profile]
fn beside(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 0)
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    measure(run_mode).map_err(failed_in("the driver"))
}

fn measure(run_mode: &RunMode) -> Result<Vec<Row>, DriverError> {
    let gpu = Gpu::new()?;
    let (busy, free) = (gpu.context.new_stream()?, gpu.context.new_stream()?);
    // How long the kernel runs: four times what the spans may take. The simulated kernel runs in
    // host time, so a slow host needs this margin too.
    let length = Duration::from_secs(if run_mode.short { 1 } else { 2 });
    let room = measure_queue_room(&gpu, &busy)?;
    let spans = SPANS.min(room / OPERATIONS / 2);
    // One-time work of gpuprof is not part of a span's cost.
    behind(&gpu, &busy)?;
    beside(&gpu, &free)?;
    gpu.context.synchronize()?;

    let running = queue_long_kernel(&gpu, &busy, length)?;
    let began = Instant::now();
    for _ in 0..spans {
        behind(&gpu, &busy)?;
    }
    let here = began.elapsed();
    for _ in 0..ELSEWHERE {
        beside(&gpu, &free)?;
    }
    let spent = began.elapsed();
    let after_spans = running.try_is_complete()?;
    let began = Instant::now();
    let snapshot = gpuprof::snapshot();
    let looking = began.elapsed();
    let after_snapshot = running.try_is_complete()?;
    gpu.context.synchronize()?;
    let report = gpuprof::collect();

    let wanted = format!("under {:.1?}, the kernel runs on", length / 4);
    let quick = |spent: Duration, complete: bool| {
        let state = if complete { "over" } else { "running" };
        (
            format!("{spent:.1?}, the kernel is {state}"),
            spent < length / 4 && !complete,
        )
    };
    let (measured, good) = quick(spent, after_spans);
    let what = format!("{spans} spans behind a kernel of {length:?} and {ELSEWHERE} beside it");
    let mut rows = vec![Row::judged(what, measured, &wanted, good)];
    let each = here / u32::try_from(spans.max(1)).unwrap_or(u32::MAX);
    rows.push(Row::info(
        "one span with its launch behind that kernel, mean",
        if run_mode.simulated {
            "not measured: simulated device".into()
        } else {
            format!("{each:.1?}")
        },
    ));
    let (measured, good) = quick(looking, after_snapshot);
    rows.push(Row::judged("a snapshot meanwhile", measured, &wanted, good));
    rows.push(calls("the snapshot's calls", &snapshot, spans, false));
    rows.push(calls(
        "the report's calls once the kernel is over",
        &report,
        spans,
        true,
    ));
    Ok(rows)
}

/// The number of launches that fit behind a running kernel before one waits, at most twice the
/// required number.
fn measure_queue_room(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<usize, DriverError> {
    let enough = 2 * OPERATIONS * SPANS;
    super::driver::measure_queue_room(gpu, stream, enough, || gpu.spin(stream, 0))
}

/// Queues a spin kernel of `length` and returns an event recorded behind it, which completes when
/// the kernel ends.
fn queue_long_kernel(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    length: Duration,
) -> Result<CudaEvent, DriverError> {
    gpu.spin(stream, length.as_nanos() as u64)?;
    stream.record_event(None)
}

/// Every call is counted as timed or with the reason why not.
fn calls(what: &str, profile: &Profile, spans: usize, finished: bool) -> Row {
    let mut shown = Vec::new();
    let mut good = profile.diagnostics.errors.is_empty();
    for (name, expected) in [("behind", spans + 1), ("beside", ELSEWHERE + 1)] {
        let found = profile
            .functions
            .iter()
            .find(|function| function.name.ends_with(name));
        let Some(function) = found else {
            return Row::judged(what, format!("no {name}"), "both functions", false);
        };
        let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        let untimed = &function.untimed;
        good &= function.calls == expected as u64 && timed + untimed.sum() == function.calls;
        // Behind a running kernel only the first call can have finished, and it may not have been
        // read yet.
        good &= if finished {
            timed == function.calls
        } else {
            name != "behind" || timed <= 1
        };
        shown.push(format!(
            "{name}: {} = {timed} timed + {} not finished",
            function.calls, untimed.unfinished
        ));
    }
    let wanted = format!(
        "{} and {} calls, {}",
        spans + 1,
        ELSEWHERE + 1,
        if finished {
            "all timed"
        } else {
            "none timed behind the kernel, at most the first"
        }
    );
    Row::judged(what, shown.join("; "), wanted, good)
}
