//! Captures in GLOBAL mode, one after the other, beside threads with spans at the pace of a program
//! that does something else as well.
//!
//! Every second one holds a function that is marked `graph`; a few of the graphs are launched, and
//! what they compute is looked at. The check `capture` has the other modes, and spans as fast as
//! they go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use gpuprof::{Graph, Profile, gpu_profile};

use crate::check::{Row, World};
use crate::checks::known_durations::{self, function};
use crate::device::{Gpu, while_doing};

/// Threads with spans.
const THREADS: usize = 2;
/// What such a thread does between two spans, all of it sleep: spans without a pause keep others
/// out of the driver.
const PACE: Duration = Duration::from_micros(300);
/// Of how many captures one is launched. Odd, so that launches are of both kinds.
const LAUNCHED: u64 = 25;
/// Elements of the captured work.
const N: usize = 1_024;
/// Then the captures stop, and the row is bad: there is time for the rows.
const ENOUGH: Duration = Duration::from_secs(100);

#[gpu_profile(name = "captured", stream = on.stream)]
fn captured(gpu: &Gpu, on: &Work, sum: &mut CudaSlice<f32>) -> Result<(), DriverError> {
    gpu.saxpy(&on.stream, 1.0, &on.ones, sum)
}

#[gpu_profile(graph, name = "replayed", stream = on.stream)]
fn replayed(gpu: &Gpu, on: &Work, sum: &mut CudaSlice<f32>) -> Result<(), DriverError> {
    gpu.saxpy(&on.stream, 1.0, &on.ones, sum)
}

#[gpu_profile(name = "meanwhile")]
fn meanwhile(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, 5_000)
}

/// What captures are made on.
struct Work {
    stream: Arc<CudaStream>,
    ones: CudaSlice<f32>,
}

/// What came of them.
#[derive(Default)]
struct Outcome {
    /// Captures that gave a graph, without a marked function and with one.
    whole: [u64; 2],
    launched: [u64; 2],
    right: u64,
    error: Option<String>,
}

pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let doing = while_doing("the captures");
    let gpu = &Gpu::new().map_err(&doing)?;
    let times = if world.short { 100 } else { 10_000 };
    let (stop, spans) = (&AtomicBool::new(false), &AtomicU64::new(0));
    // Before any capture: making a stream is not what is looked at here.
    let streams = (0..THREADS).map(|_| gpu.context.new_stream());
    let streams = streams.collect::<Result<Vec<_>, _>>().map_err(&doing)?;
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
                .map_err(while_doing("a span beside the captures"))?;
        }
        Ok::<_, String>(outcome)
    })?;
    gpu.context.synchronize().map_err(&doing)?;
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
    let doing = while_doing("the captured work");
    let stream = gpu.context.new_stream().map_err(&doing)?;
    let ones = stream.clone_htod(&vec![1.0_f32; N]).map_err(&doing)?;
    let mut sum = stream.alloc_zeros::<f32>(N).map_err(&doing)?;
    stream.synchronize().map_err(&doing)?;
    let on = Work { stream, ones };
    for round in 0..times {
        one(gpu, &on, &mut sum, round, outcome)
            .map_err(|error| format!("capture {round}: {error}"))?;
        if began.elapsed() > ENOUGH {
            return Err(format!("{} of {times} in {ENOUGH:?}", round + 1));
        }
    }
    Ok(())
}

/// One capture, and now and then a launch of what it gave.
fn one(
    gpu: &Gpu,
    on: &Work,
    sum: &mut CudaSlice<f32>,
    round: u64,
    outcome: &mut Outcome,
) -> Result<(), DriverError> {
    let marked = round % 2 == 1;
    on.stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let inside = if marked {
        replayed(gpu, on, sum)
    } else {
        captured(gpu, on, sum)
    };
    let graph = on.stream.end_capture(Flags(0));
    inside?;
    let Some(graph) = graph? else { return Ok(()) };
    outcome.whole[usize::from(marked)] += 1;
    if round.is_multiple_of(LAUNCHED) {
        Graph::new(graph).launch()?;
        outcome.launched[usize::from(marked)] += 1;
        let expected = outcome.launched.iter().sum::<u64>() as f32;
        let found = on.stream.clone_dtoh(sum)?;
        on.stream.synchronize()?;
        outcome.right += u64::from(found.iter().all(|value| *value == expected));
    }
    Ok(())
}

fn rows(times: u64, outcome: &Outcome, spans: u64, profile: &Profile) -> Vec<Row> {
    let whole = outcome.whole.iter().sum::<u64>();
    let launched = outcome.launched.iter().sum::<u64>();
    let error = outcome.error.as_deref().unwrap_or("no error");
    let wanted = times.div_ceil(LAUNCHED);
    let counts = |name| {
        let found = function(profile, name);
        let timed = found.and_then(|function| function.gpu.as_ref());
        found.map_or([0; 5], |function| {
            [
                function.calls,
                function.captured_calls,
                function.replays,
                timed.map_or(0, |gpu| gpu.timed_calls),
                function.untimed.sum(),
            ]
        })
    };
    let inside = (counts("captured"), counts("replayed"));
    let beside = counts("meanwhile");
    let half = times / 2;
    let replays = outcome.launched[1];
    vec![
        Row::held(
            format!("{times} captures in GLOBAL mode beside {THREADS} threads with spans"),
            format!(
                "{whole} whole, {} of {launched} launches right, {error}; {spans} spans meanwhile",
                outcome.right
            ),
            format!("{times} whole, {wanted} of {wanted} right, no error, some spans"),
            whole == times
                && (launched, outcome.right) == (wanted, wanted)
                && outcome.error.is_none()
                && spans > 0,
        ),
        Row::held(
            "annotated calls inside the captures",
            format!(
                "{} captured; marked: {} captured, {} replays, {} timed",
                inside.0[1], inside.1[1], inside.1[2], inside.1[3]
            ),
            format!(
                "{} captured; marked: {half} captured, {replays} replays, {replays} timed",
                times - half
            ),
            inside.0 == [times - half, times - half, 0, 0, 0]
                && inside.1 == [half, half, replays, replays, 0],
        ),
        Row::held(
            "spans beside them",
            format!(
                "{} calls = {} timed + {} not; {}",
                beside[0],
                beside[3],
                beside[4],
                known_durations::errors(profile)
            ),
            format!("{spans} calls, all accounted for, some timed, no error"),
            beside[0] == spans
                && beside[3] + beside[4] == spans
                && beside[3] > 0
                && profile.diagnostics.errors.is_empty(),
        ),
    ]
}
