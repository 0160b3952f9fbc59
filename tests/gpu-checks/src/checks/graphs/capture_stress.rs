//! Repeated captures in GLOBAL mode beside threads that run spans with pauses, like a program that
//! does other work as well.
//!
//! Some of the graphs are launched and their results checked. The check `capture` covers the other
//! modes, and spans without pauses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::{errors, function};

use crate::check::{Row, RunMode};
use crate::device::{Gpu, failed_in};

/// Threads with spans.
const THREADS: usize = 2;
/// Sleep of such a thread between two spans: spans without a pause keep others out of the driver.
const PACE: Duration = Duration::from_micros(300);
/// One capture in this many is launched.
const LAUNCHED: u64 = 25;
/// Elements of the captured work.
const N: usize = 1_024;
/// Time limit of the captures, after which the row fails; the check itself has a later one.
const ENOUGH: Duration = Duration::from_secs(100);

#[gpu_profile(name = "captured", stream = on.stream)]
fn captured(gpu: &Gpu, on: &Work, sum: &mut CudaSlice<f32>) -> Result<(), DriverError> {
    gpu.saxpy(&on.stream, 1.0, &on.ones, sum)
}

#[gpu_profile(name = "meanwhile")]
fn meanwhile(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 5_000)
}

/// The streams and buffers of the captures.
struct Work {
    stream: Arc<CudaStream>,
    ones: CudaSlice<f32>,
}

/// The result of the captures.
#[derive(Default)]
struct Outcome {
    /// Captures that produced a graph.
    whole: u64,
    launched: u64,
    right: u64,
    error: Option<String>,
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("the captures");
    let gpu = &Gpu::new().map_err(&failed)?;
    let times = if run_mode.short { 100 } else { 10_000 };
    let (stop, spans) = (&AtomicBool::new(false), &AtomicU64::new(0));
    // Created before any capture: stream creation is not what this checks.
    let streams = (0..THREADS).map(|_| gpu.context.new_stream());
    let streams = streams.collect::<Result<Vec<_>, _>>().map_err(&failed)?;
    let outcome = thread::scope(|scope| {
        let others = streams
            .iter()
            .map(|stream| scope.spawn(move || at_a_pace(gpu, stream, stop, spans)));
        let others: Vec<_> = others.collect();
        let mut outcome = Outcome::default();
        if let Err(error) = captures(gpu, times, &mut outcome) {
            outcome.error = Some(error);
        }
        stop.store(true, Ordering::Relaxed);
        for other in others {
            other
                .join()
                .map_err(|_| "a thread with spans panicked".to_owned())?
                .map_err(failed_in("a span beside the captures"))?;
        }
        Ok::<_, String>(outcome)
    })?;
    gpu.context.synchronize().map_err(&failed)?;
    Ok(rows(
        times,
        &outcome,
        spans.load(Ordering::Relaxed),
        &gpuprof::collect(),
    ))
}

fn at_a_pace(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    stop: &AtomicBool,
    spans: &AtomicU64,
) -> Result<(), DriverError> {
    while !stop.load(Ordering::Relaxed) {
        meanwhile(gpu, stream)?;
        spans.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PACE);
    }
    Ok(())
}

fn captures(gpu: &Gpu, times: u64, outcome: &mut Outcome) -> Result<(), String> {
    let began = Instant::now();
    let failed = failed_in("the captured work");
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let ones = stream.clone_htod(&vec![1.0_f32; N]).map_err(&failed)?;
    let mut sum = stream.alloc_zeros::<f32>(N).map_err(&failed)?;
    stream.synchronize().map_err(&failed)?;
    let on = Work { stream, ones };
    for round in 0..times {
        capture_once(gpu, &on, &mut sum, round, outcome)
            .map_err(|error| format!("capture {round}: {error}"))?;
        if began.elapsed() > ENOUGH {
            return Err(format!("{} of {times} in {ENOUGH:?}", round + 1));
        }
    }
    Ok(())
}

/// One capture, and occasionally a launch of its graph.
fn capture_once(
    gpu: &Gpu,
    on: &Work,
    sum: &mut CudaSlice<f32>,
    round: u64,
    outcome: &mut Outcome,
) -> Result<(), DriverError> {
    on.stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let inside = captured(gpu, on, sum);
    let graph = on.stream.end_capture(Flags(0));
    inside?;
    let Some(graph) = graph? else { return Ok(()) };
    outcome.whole += 1;
    if round.is_multiple_of(LAUNCHED) {
        graph.launch()?;
        outcome.launched += 1;
        let expected = outcome.launched as f32;
        let found = on.stream.clone_dtoh(sum)?;
        on.stream.synchronize()?;
        outcome.right += u64::from(found.iter().all(|value| *value == expected));
    }
    Ok(())
}

fn rows(times: u64, outcome: &Outcome, spans: u64, profile: &Profile) -> Vec<Row> {
    let (whole, launched) = (outcome.whole, outcome.launched);
    let error = outcome.error.as_deref().unwrap_or("no error");
    let wanted = times.div_ceil(LAUNCHED);
    let counts = |name| {
        let found = function(profile, name);
        let timed = found.and_then(|function| function.gpu.as_ref());
        found.map_or([0; 4], |function| {
            [
                function.calls,
                function.captured_calls,
                timed.map_or(0, |gpu| gpu.timed_calls),
                function.untimed.sum(),
            ]
        })
    };
    let inside = counts("captured");
    let beside = counts("meanwhile");
    vec![
        Row::judged(
            format!("{times} captures in GLOBAL mode beside {THREADS} threads with spans"),
            format!(
                "{whole} complete, {} of {launched} launches right, {error}; {spans} spans",
                outcome.right
            ),
            format!("{times} complete, {wanted} of {wanted} right, no error, some spans"),
            whole == times
                && (launched, outcome.right) == (wanted, wanted)
                && outcome.error.is_none()
                && spans > 0,
        ),
        Row::judged(
            "annotated calls inside the captures",
            format!("{} calls, {} captured", inside[0], inside[1]),
            format!("{times} calls, {times} captured"),
            inside == [times, times, 0, 0],
        ),
        Row::judged(
            "spans beside them",
            format!(
                "{} calls = {} timed + {} not; {}",
                beside[0],
                beside[2],
                beside[3],
                errors(profile)
            ),
            format!("{spans} calls, all accounted for, some timed, no error"),
            beside[0] == spans
                && beside[2] + beside[3] == spans
                && beside[2] > 0
                && profile.diagnostics.errors.is_empty(),
        ),
    ]
}
