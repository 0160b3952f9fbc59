//! Promise: captures in each mode succeed in a row while other threads run spans, the graphs do the
//! captured work, and every call is accounted for.
//!
//! A query on a helper thread invalidates a GLOBAL capture, which is how profilers break programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::{Profile, Sampling, Session, gpu_profile, scope};

use crate::graphs;
use crate::known_spans::{errors, function};
use crate::observation::{Observation, Observed};
use crate::world::{Done, World, failed_in};

/// What passes after a span at a pace: without a pause spans keep others out of the driver.
const PACE: Duration = Duration::from_micros(300);
/// One in so many of these spans is nested so deep that the pool of events must grow.
const DEEP: u32 = 64;
const DEPTH: u32 = 60;
/// Elements of the captured work.
const N: usize = 1_024;
/// Time limit of the captures of a mode.
const ENOUGH: Duration = Duration::from_secs(100);
/// So many captures of a mode wait for the end of another thread's span, and so long at most.
const WAITED: u64 = 300;
const PATIENCE: Duration = Duration::from_secs(1);

/// Threads with spans beside the captures.
#[derive(Clone, Copy)]
pub struct Beside {
    pub threads: usize,
    /// Whether they pause after each span.
    pub is_paced: bool,
}

#[gpu_profile(name = "captured", stream = on.stream)]
fn captured(world: &dyn World, on: &Work, sum: &mut CudaSlice<f32>) -> Done {
    world.add(&on.stream, &on.ones, sum)
}

#[gpu_profile(name = "meanwhile")]
fn meanwhile(world: &dyn World, stream: &Arc<CudaStream>, depth: u32) -> Done {
    if depth > 0 {
        return meanwhile(world, stream, depth - 1);
    }
    scope!("innermost", stream);
    world.spin(stream, 0)
}

/// The stream and the operand of the captures.
struct Work {
    stream: Arc<CudaStream>,
    ones: CudaSlice<f32>,
}

/// The result of the captures of one mode.
#[derive(Default)]
struct Outcome {
    /// Captures that produced a graph.
    whole: u64,
    right: u64,
    /// Captures in which another thread ended a span.
    beside: u64,
    error: Option<String>,
}

/// So many captures in each mode beside threads with spans.
///
/// # Errors
/// A driver error outside of the captures, as text.
pub fn succeed_beside_spans(
    world: &dyn World,
    modes: &[Mode],
    times: u64,
    beside: Beside,
) -> Observed {
    // SAFETY: each buffer is used on one stream alone.
    unsafe { world.context().disable_event_tracking() };
    // Created before any capture: stream creation is not what this tests.
    let streams: Vec<_> = (0..beside.threads)
        .map(|_| world.stream())
        .collect::<Result<_, _>>()?;
    let session = Session::builder().sampling(Sampling::EveryCall).start();
    let session = session.map_err(failed_in("a session"))?;
    let (stop, spans) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let outcomes = thread::scope(|scope| {
        let others = streams.iter();
        let others = others.map(|stream| {
            scope.spawn(move || spans_until(world, stream, beside.is_paced, stop, spans))
        });
        let others: Vec<_> = others.collect();
        let outcomes = modes.iter().map(|mode| {
            let mut outcome = Outcome::default();
            outcome.error = captures(world, *mode, times, spans, &mut outcome).err();
            outcome
        });
        let outcomes: Vec<_> = outcomes.collect();
        stop.store(true, Relaxed);
        for other in others {
            let ended = other.join().expect("it does not panic");
            ended.map_err(failed_in("a span beside the captures"))?;
        }
        Ok::<_, String>(outcomes)
    })?;
    let synchronized = world.context().synchronize();
    synchronized.map_err(failed_in("the device"))?;
    let profile = session.finish();
    world.accept(&profile);
    let each = modes.iter().zip(&outcomes);
    let mut rows: Vec<_> = each
        .map(|(mode, outcome)| observe(*mode, times, beside.threads, outcome))
        .collect();
    let captured = times * modes.len() as u64;
    rows.extend(counts(captured, spans.load(Relaxed), &profile));
    Ok(rows)
}

fn spans_until(
    world: &dyn World,
    stream: &Arc<CudaStream>,
    is_paced: bool,
    stop: &AtomicBool,
    spans: &AtomicU64,
) -> Done {
    for round in 0.. {
        if stop.load(Relaxed) {
            break;
        }
        let depth = if round % DEEP == 0 { DEPTH } else { 0 };
        meanwhile(world, stream, depth)?;
        spans.fetch_add(u64::from(depth) + 1, Relaxed);
        if is_paced {
            world.pass(PACE);
        }
    }
    Ok(())
}

fn captures(
    world: &dyn World,
    mode: Mode,
    times: u64,
    spans: &AtomicU64,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let began = Instant::now();
    let failed = failed_in("the captured work");
    let stream = world.stream()?;
    let ones = stream.clone_htod(&vec![1.0_f32; N]).map_err(&failed)?;
    let mut sum = stream.alloc_zeros::<f32>(N).map_err(&failed)?;
    stream.synchronize().map_err(&failed)?;
    let on = Work { stream, ones };
    for round in 1..=times {
        capture_once(world, mode, &on, &mut sum, spans, outcome)
            .map_err(|error| format!("capture {round}: {error}"))?;
        if began.elapsed() > ENOUGH {
            return Err(format!("{round} of {times} in {ENOUGH:?}"));
        }
    }
    Ok(())
}

/// One capture and a launch of its graph.
fn capture_once(
    world: &dyn World,
    mode: Mode,
    on: &Work,
    sum: &mut CudaSlice<f32>,
    spans: &AtomicU64,
    outcome: &mut Outcome,
) -> Done {
    let graph = graphs::captured(&on.stream, mode, || {
        if outcome.whole < WAITED {
            outcome.beside += u64::from(a_span_ends(spans));
        }
        captured(world, on, sum)
    })?;
    outcome.whole += 1;
    graph.launch()?;
    let expected = outcome.whole as f32;
    let found = on.stream.clone_dtoh(sum)?;
    on.stream.synchronize()?;
    outcome.right += u64::from(found.iter().all(|value| *value == expected));
    Ok(())
}

/// Waits, without a driver call and for a limited time, until another thread has ended a span.
fn a_span_ends(spans: &AtomicU64) -> bool {
    let (before, began) = (spans.load(Relaxed), Instant::now());
    while spans.load(Relaxed) == before {
        if began.elapsed() > PATIENCE {
            return false;
        }
        thread::yield_now();
    }
    true
}

fn observe(mode: Mode, times: u64, threads: usize, outcome: &Outcome) -> Observation {
    let mode = match mode {
        Mode::CU_STREAM_CAPTURE_MODE_GLOBAL => "GLOBAL",
        Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => "THREAD_LOCAL",
        Mode::CU_STREAM_CAPTURE_MODE_RELAXED => "RELAXED",
    };
    let error = outcome.error.as_deref().unwrap_or("no error");
    let waited = times.min(WAITED);
    Observation::new(
        format!("{times} captures in {mode} mode beside {threads} threads with spans"),
        format!(
            "{} complete, {} replays right, {error}; spans in {} of {waited} waits",
            outcome.whole, outcome.right, outcome.beside
        ),
        format!("{times} complete, {times} right, no error, spans in every wait"),
        [outcome.whole, outcome.right, outcome.beside] == [times, times, waited]
            && outcome.error.is_none(),
    )
}

/// Every call inside a capture is counted as captured, every other call as timed or untimed.
fn counts(captured: u64, spans: u64, profile: &Profile) -> [Observation; 2] {
    let counts = |name| {
        function(profile, name).map_or([0; 4], |function| {
            let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
            let untimed = function.untimed.sum();
            [function.calls, function.captured_calls, timed, untimed]
        })
    };
    let inside = counts("captured");
    let [calls, _, timed, untimed] = counts("meanwhile");
    [
        Observation::new(
            "annotated calls inside the captures",
            format!("{} calls, {} captured", inside[0], inside[1]),
            format!("{captured} calls, {captured} captured"),
            inside == [captured, captured, 0, 0],
        ),
        Observation::new(
            "spans beside them",
            format!(
                "{calls} calls = {timed} timed + {untimed} not; {}",
                errors(profile)
            ),
            format!("{spans} calls, all accounted for, some timed, no error"),
            calls == spans
                && timed + untimed == spans
                && timed > 0
                && profile.diagnostics.errors.is_empty(),
        ),
    ]
}
