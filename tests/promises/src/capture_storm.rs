//! Promise: captures in GLOBAL mode succeed in a row while other threads run spans, the graphs do
//! the captured work, and every call is accounted for.

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

/// Threads with spans.
const THREADS: usize = 2;
/// What passes after such a span: without a pause spans keep others out of the driver.
const PACE: Duration = Duration::from_micros(300);
/// One in so many of these spans is nested so deep that the pool of events must grow.
const DEEP: u32 = 64;
const DEPTH: u32 = 60;
/// One capture in this many is launched.
const LAUNCHED: u64 = 10;
/// Elements of the captured work.
const N: usize = 1_024;
/// Time limit of the captures.
const ENOUGH: Duration = Duration::from_secs(100);

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
    world.spin(stream, 5_000)
}

/// The stream and the operand of the captures.
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

/// So many captures beside threads with spans.
///
/// # Errors
/// A driver error outside of the captures, as text.
pub fn succeeds_beside_spans(world: &dyn World, times: u64) -> Observed {
    // SAFETY: each buffer is used on one stream alone.
    unsafe { world.context().disable_event_tracking() };
    // Created before any capture: stream creation is not what this tests.
    let streams: Vec<_> = (0..THREADS)
        .map(|_| world.stream())
        .collect::<Result<_, _>>()?;
    let session = Session::builder().sampling(Sampling::EveryCall).start();
    let session = session.map_err(failed_in("a session"))?;
    let (stop, spans) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let outcome = thread::scope(|scope| {
        let others = streams.iter();
        let others =
            others.map(|stream| scope.spawn(move || at_a_pace(world, stream, stop, spans)));
        let others: Vec<_> = others.collect();
        let mut outcome = Outcome::default();
        outcome.error = captures(world, times, spans, &mut outcome).err();
        stop.store(true, Relaxed);
        for other in others {
            let ended = other.join().expect("it does not panic");
            ended.map_err(failed_in("a span beside the captures"))?;
        }
        Ok::<_, String>(outcome)
    })?;
    let synchronized = world.context().synchronize();
    synchronized.map_err(failed_in("the device"))?;
    let profile = session.finish();
    world.accept(&profile);
    Ok(observe(times, &outcome, spans.load(Relaxed), &profile))
}

fn at_a_pace(
    world: &dyn World,
    stream: &Arc<CudaStream>,
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
        world.pass(PACE);
    }
    Ok(())
}

fn captures(
    world: &dyn World,
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
    while spans.load(Relaxed) == 0 && began.elapsed() < ENOUGH {
        thread::yield_now();
    }
    for round in 0..times {
        capture_once(world, &on, &mut sum, round, outcome)
            .map_err(|error| format!("capture {round}: {error}"))?;
        if began.elapsed() > ENOUGH {
            return Err(format!("{} of {times} in {ENOUGH:?}", round + 1));
        }
    }
    Ok(())
}

/// One capture, and occasionally a launch of its graph.
fn capture_once(
    world: &dyn World,
    on: &Work,
    sum: &mut CudaSlice<f32>,
    round: u64,
    outcome: &mut Outcome,
) -> Done {
    let mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let graph = graphs::captured(&on.stream, mode, || captured(world, on, sum))?;
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

fn observe(times: u64, outcome: &Outcome, spans: u64, profile: &Profile) -> Vec<Observation> {
    let error = outcome.error.as_deref().unwrap_or("no error");
    let wanted = times.div_ceil(LAUNCHED);
    let counts = |name| {
        function(profile, name).map_or([0; 4], |function| {
            let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
            let untimed = function.untimed.sum();
            [function.calls, function.captured_calls, timed, untimed]
        })
    };
    let [calls, captured, ..] = counts("captured");
    let [beside, _, timed, untimed] = counts("meanwhile");
    vec![
        Observation::new(
            format!("{times} captures in GLOBAL mode beside {THREADS} threads with spans"),
            format!(
                "{} complete, {} of {} launches right, {error}; {spans} spans",
                outcome.whole, outcome.right, outcome.launched
            ),
            format!("{times} complete, {wanted} of {wanted} right, no error, some spans"),
            (outcome.whole, outcome.launched, outcome.right) == (times, wanted, wanted)
                && outcome.error.is_none()
                && spans > 0,
        ),
        Observation::new(
            "annotated calls inside the captures",
            format!("{calls} calls, {captured} captured"),
            format!("{times} calls, {times} captured"),
            counts("captured") == [times, times, 0, 0],
        ),
        Observation::new(
            "spans beside them",
            format!(
                "{beside} calls = {timed} timed + {untimed} not; {}",
                errors(profile)
            ),
            format!("{spans} calls, all accounted for, some timed, no error"),
            beside == spans
                && timed + untimed == spans
                && timed > 0
                && profile.diagnostics.errors.is_empty(),
        ),
    ]
}
