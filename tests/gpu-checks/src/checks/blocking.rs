//! Promise: gpuprof adds no call that waits. Spans on a stream whose kernel runs for seconds end at
//! once, and so does a look at the profile.
//!
//! The driver itself blocks a caller whose stream's queue is full. How much fits is measured first,
//! without any span, and the spans stay well below it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use crate::check::{Check, Row, World};
use crate::device::{Gpu, while_doing};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "blocking",
    promise: "Spans and snapshots never wait for the GPU.",
    limit: Duration::from_secs(90),
    run,
}];

/// Spans on the busy stream, if the driver's queue holds as many.
const SPANS: usize = 1_000;
/// Spans on the other one.
const ELSEWHERE: usize = 100;
/// What a span puts on its stream: two events and a launch.
const OPERATIONS: usize = 3;

#[gpu_profile]
fn behind(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 0)
}

#[gpu_profile]
fn beside(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 0)
}

fn run(world: &World) -> Result<Vec<Row>, String> {
    measure(world).map_err(while_doing("the driver"))
}

fn measure(world: &World) -> Result<Vec<Row>, DriverError> {
    let gpu = Gpu::new()?;
    let (busy, free) = (gpu.context.new_stream()?, gpu.context.new_stream()?);
    // Twice the half that is asked for below; modelled time is the host's, on which a short run
    // must not stand or fall.
    let length = Duration::from_secs(if world.short { 1 } else { 2 });
    let room = room(&gpu, &busy)?;
    let spans = SPANS.min(room / OPERATIONS / 2);
    // What gpuprof does once is not what a span costs.
    behind(&gpu, &busy)?;
    beside(&gpu, &free)?;
    gpu.context.synchronize()?;

    let running = start(&gpu, &busy, length)?;
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
    let mut rows = vec![Row::held(what, measured, &wanted, good)];
    let each = here / u32::try_from(spans.max(1)).unwrap_or(u32::MAX);
    rows.push(Row::told(
        "one span with its launch behind that kernel, mean",
        if world.simulated {
            "not measured: simulated device".into()
        } else {
            format!("{each:.1?}")
        },
    ));
    let (measured, good) = quick(looking, after_snapshot);
    rows.push(Row::held("a snapshot meanwhile", measured, &wanted, good));
    rows.push(calls("the snapshot's calls", &snapshot, spans, false));
    rows.push(calls(
        "the report's calls once the kernel is over",
        &report,
        spans,
        true,
    ));
    Ok(rows)
}

/// How many launches fit behind a running kernel before one waits, at most twice what is needed.
fn room(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<usize, DriverError> {
    let enough = 2 * OPERATIONS * SPANS;
    super::driver::room(gpu, stream, enough, || gpu.spin(stream, 0))
}

/// Starts the kernel and gives an event behind it; returns once it runs.
fn start(gpu: &Gpu, stream: &Arc<CudaStream>, length: Duration) -> Result<CudaEvent, DriverError> {
    gpu.spin(stream, length.as_nanos() as u64)?;
    stream.record_event(None)
}

/// Every call is there, and timed or said not to be.
fn calls(what: &str, profile: &Profile, spans: usize, finished: bool) -> Row {
    let mut shown = Vec::new();
    let mut good = profile.diagnostics.errors.is_empty();
    for (name, expected) in [("behind", spans + 1), ("beside", ELSEWHERE + 1)] {
        let found = profile
            .functions
            .iter()
            .find(|function| function.name.ends_with(name));
        let Some(function) = found else {
            return Row::held(what, format!("no {name}"), "both functions", false);
        };
        let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        let untimed = &function.untimed;
        good &= function.calls == expected as u64 && timed + untimed.sum() == function.calls;
        // Behind a kernel that runs on nothing can have finished but the first call, which may not
        // have been read yet.
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
    Row::held(what, shown.join("; "), wanted, good)
}
