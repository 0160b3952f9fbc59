//! Promise: captures succeed in each mode while other threads run spans without pause, the graph
//! computes the captured work, and annotated functions inside a capture are counted.
//!
//! A query on a helper thread invalidates a GLOBAL capture, which is how profilers break programs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "capture",
    promise: "Captures succeed in each mode while other threads run spans.",
    limit: Duration::from_secs(180),
    run,
}];

const MODES: [(&str, Mode); 3] = [
    ("GLOBAL", Mode::CU_STREAM_CAPTURE_MODE_GLOBAL),
    ("THREAD_LOCAL", Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
    ("RELAXED", Mode::CU_STREAM_CAPTURE_MODE_RELAXED),
];

/// Threads that run spans during the captures.
const THREADS: usize = 3;
/// Elements of the captured work.
const N: usize = 4_096;
/// How long a capture waits for another thread's span.
const PATIENCE: Duration = Duration::from_secs(1);
/// Additions per graph.
const ADDITIONS: usize = 2;

#[gpu_profile]
fn add_one(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    ones: &CudaSlice<f32>,
    sum: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    gpu.saxpy(stream, 1.0, ones, sum)
}

#[gpu_profile]
fn meanwhile(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 0)
}

/// The result of one mode.
#[derive(Default)]
struct Outcome {
    captured: usize,
    right: usize,
    /// Additions captured after at least one complete span of another thread within the same
    /// capture.
    beside: usize,
    /// The first failure.
    error: Option<String>,
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    let times = if run_mode.short { 20 } else { 300 };
    let stop = AtomicBool::new(false);
    let spans = AtomicU64::new(0);
    let mut rows = Vec::new();
    // Created before any capture: stream creation is not what this checks.
    let streams = (0..THREADS).map(|_| gpu.context.new_stream());
    let streams = streams
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed_in("the streams"))?;
    let ready = Barrier::new(THREADS + 1);
    let profile = thread::scope(|scope| {
        let spawn = |stream| {
            let (gpu, stop, spans, ready) = (&gpu, &stop, &spans, &ready);
            scope.spawn(move || {
                let bound = gpu.context.bind_to_thread();
                ready.wait();
                bound?;
                spans_until(gpu, stream, stop, spans)
            })
        };
        let others: Vec<_> = streams.iter().map(spawn).collect();
        ready.wait();
        let outcomes = MODES.map(|(name, mode)| {
            let before = spans.load(Ordering::Relaxed);
            let outcome = capture_often(&gpu, mode, times, &spans);
            (name, outcome, spans.load(Ordering::Relaxed) - before)
        });
        stop.store(true, Ordering::Relaxed);
        for other in others {
            other
                .join()
                .map_err(|_| "a thread with spans panicked".to_owned())?
                .map_err(failed_in("a span beside the captures"))?;
        }
        for (name, outcome, spans) in outcomes {
            rows.push(row(name, &outcome, times, spans));
        }
        gpu.context
            .synchronize()
            .map_err(failed_in("synchronizing"))?;
        Ok::<_, String>(gpuprof::collect())
    })?;
    rows.extend(counted(
        &profile,
        (times * ADDITIONS * MODES.len()) as u64,
        spans.load(Ordering::Relaxed),
    ));
    Ok(rows)
}

/// Runs spans without pause until `stop` is set. The first of them runs gpuprof's set-up while
/// others capture.
fn spans_until(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    stop: &AtomicBool,
    spans: &AtomicU64,
) -> Result<(), DriverError> {
    while !stop.load(Ordering::Relaxed) {
        meanwhile(gpu, stream)?;
        spans.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn capture_often(gpu: &Gpu, mode: Mode, times: usize, spans: &AtomicU64) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(error) = try_captures(gpu, mode, times, spans, &mut outcome) {
        outcome.error = Some(error.to_string());
    }
    outcome
}

fn try_captures(
    gpu: &Gpu,
    mode: Mode,
    times: usize,
    spans: &AtomicU64,
    outcome: &mut Outcome,
) -> Result<(), DriverError> {
    let stream = gpu.context.new_stream()?;
    let ones = stream.clone_htod(&vec![1.0_f32; N])?;
    let mut sum = stream.alloc_zeros::<f32>(N)?;
    stream.synchronize()?;
    for round in 1..=times {
        stream.begin_capture(mode)?;
        let inside = (0..ADDITIONS).try_for_each(|_| {
            outcome.beside += usize::from(a_span_ran(spans));
            add_one(gpu, &stream, &ones, &mut sum)
        });
        let graph = stream.end_capture(Flags(0));
        inside?;
        let Some(graph) = graph? else { continue };
        outcome.captured += 1;
        graph.launch()?;
        let expected = (round * ADDITIONS) as f32;
        let found = stream.clone_dtoh(&sum)?;
        stream.synchronize()?;
        outcome.right += usize::from(found.iter().all(|value| *value == expected));
    }
    Ok(())
}

/// Waits, without a driver call and for a limited time, until another thread has finished a span.
fn a_span_ran(spans: &AtomicU64) -> bool {
    let (before, deadline) = (spans.load(Ordering::Relaxed), Instant::now() + PATIENCE);
    while spans.load(Ordering::Relaxed) == before {
        if Instant::now() > deadline {
            return false;
        }
        thread::yield_now();
    }
    true
}

fn row(mode: &str, outcome: &Outcome, times: usize, spans: u64) -> Row {
    let error = outcome.error.as_deref().unwrap_or("no error");
    let waits = times * ADDITIONS;
    Row::judged(
        format!("{times} captures in {mode} mode beside {THREADS} threads with spans"),
        format!(
            "{} complete, {} replays right, {error}; {spans} spans, some in {} of {waits} waits",
            outcome.captured, outcome.right, outcome.beside
        ),
        format!("{times} complete, {times} right, no error, spans in every wait"),
        outcome.captured == times
            && outcome.right == times
            && outcome.beside == waits
            && outcome.error.is_none(),
    )
}

/// Every call inside a capture is counted as captured, every other call as timed or untimed.
fn counted(profile: &Profile, captured: u64, spans: u64) -> Vec<Row> {
    let function = |name: &str| {
        let mut functions = profile.functions.iter();
        functions.find(|function| function.name.ends_with(name))
    };
    let inside = function("add_one").map_or((0, 0), |f| (f.calls, f.captured_calls));
    let (calls, timed, untimed) = function("meanwhile").map_or((0, 0, 0), |f| {
        let timed = f.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        (f.calls, timed, f.untimed.sum())
    });
    let errors: Vec<_> = profile
        .diagnostics
        .errors
        .iter()
        .map(|error| format!("{} {} ×{}", error.call, error.name, error.count))
        .collect();
    vec![
        Row::judged(
            "annotated calls inside the captures",
            format!("{} calls, {} captured", inside.0, inside.1),
            format!("{captured} calls, {captured} captured"),
            inside == (captured, captured),
        ),
        Row::judged(
            "spans beside them",
            format!("{calls} calls = {timed} timed + {untimed} not"),
            format!("{spans} calls, all accounted for, some timed"),
            calls == spans && timed + untimed == calls && timed > 0,
        ),
        Row::judged(
            "errors of gpuprof's calls",
            if errors.is_empty() {
                "none".into()
            } else {
                errors.join(", ")
            },
            "none",
            errors.is_empty(),
        ),
    ]
}
