//! Promise: each call is timed on its own stream or streams and on no other, whatever the kind and
//! origin of the stream.
//!
//! Every span is queued while its stream is blocked.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, mpsc};
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{HasStream, Profile, StreamRef, gpu_profile, with_stream};

use crate::blocked_streams::measured;
use crate::known_spans::{KnownSpans, function, observe, times};
use crate::observation::{Observation, Observed};
use crate::tolerance::Tolerance;
use crate::world::{Done, World, failed_in};

const MS: u64 = 1_000_000;
/// The two kernel durations of calls in turn, in ns.
const SHORT: u64 = MS;
const LONG: u64 = 3 * MS;
/// Work on another stream, longer than any span.
const BESIDE: u64 = 15 * MS;

#[gpu_profile(name = "on")]
fn on(world: &dyn World, stream: &Arc<CudaStream>, ns: u64) -> Done {
    world.spin(stream, ns)
}

#[gpu_profile(name = "on another")]
fn on_another(world: &dyn World, stream: &Arc<CudaStream>, ns: u64) -> Done {
    world.spin(stream, ns)
}

#[gpu_profile(name = "on a raw handle", stream = raw)]
fn on_raw_handle(raw: &Raw, launch: impl FnOnce() -> Done) -> Done {
    launch()
}

#[gpu_profile(name = "on both", stream = [a, b])]
fn on_both(world: &dyn World, a: &Arc<CudaStream>, b: &Arc<CudaStream>, ns: [u64; 2]) -> Done {
    world.spin(a, ns[0])?;
    world.spin(b, ns[1])
}

#[gpu_profile(name = "around")]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce() -> Done) -> Done {
    inside()
}

#[gpu_profile(name = "inherits")]
fn inherits(launch: impl FnOnce() -> Done) -> Done {
    launch()
}

#[gpu_profile(name = "inherits another")]
fn inherits_another(launch: impl FnOnce() -> Done) -> Done {
    launch()
}

#[gpu_profile(name = "has none")]
fn has_none(launch: impl FnOnce() -> Done) -> Done {
    launch()
}

/// A stream as another library would provide it.
struct Raw {
    stream: *mut c_void,
    context: *mut c_void,
}

impl HasStream for Raw {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        // SAFETY: stream and context are alive until the test ends, and it reads every time before
        // that.
        Some(unsafe { StreamRef::from_raw(self.stream, self.context) })
    }
}

/// The kernel durations of this many calls.
fn lengths(calls: u64) -> impl Iterator<Item = u64> + Clone {
    [SHORT, LONG].into_iter().cycle().take(calls as usize)
}

/// An observation for each kind of stream in cudarc.
///
/// # Errors
/// A driver error as text.
pub fn of_every_kind(world: &dyn World, calls: u64, within: Tolerance) -> Observed {
    let own = world.stream()?;
    let forked = own.fork().map_err(failed_in("a fork"))?;
    // SAFETY: the handle belongs to this context, and `own` outlives its borrower.
    let borrowed = unsafe { world.context().wrap_borrowed_stream(own.cu_stream()) };
    let kinds = [
        ("the null stream", world.context().default_stream()),
        ("the per-thread stream", world.context().per_thread_stream()),
        ("a stream of its own", Arc::clone(&own)),
        ("a forked stream", forked),
        ("a borrowed stream", borrowed),
    ];
    let mut observed = Vec::new();
    for (kind, stream) in &kinds {
        let profile = measured(&[(world, stream)], |_| {
            lengths(calls).try_for_each(|ns| on(world, stream, ns))
        })?;
        let what = format!("{calls} calls on {kind}");
        let expected = KnownSpans::new("on", lengths(calls));
        observed.push(observe(what, &profile, &[expected], within));
    }
    Ok(observed)
}

/// With and without the context's handle beside the stream's.
///
/// # Errors
/// A driver error as text.
pub fn of_raw_handles(world: &dyn World, calls: u64, within: Tolerance) -> Observed {
    let own = &world.stream()?;
    let stream = own.cu_stream().cast();
    let mut observed = Vec::new();
    for (with, context) in [
        ("and its context's", world.context().cu_ctx().cast()),
        ("alone", ptr::null_mut()),
    ] {
        let raw = Raw { stream, context };
        let profile = measured(&[(world, own)], |_| {
            lengths(calls).try_for_each(|ns| on_raw_handle(&raw, || world.spin(own, ns)))
        })?;
        let what = format!("{calls} calls by a stream's raw handle {with}");
        let expected = KnownSpans::new("on a raw handle", lengths(calls));
        observed.push(observe(what, &profile, &[expected], within));
    }
    Ok(observed)
}

/// One handle that means a different stream on each thread: calls of one are not nested in those of
/// the other. The other thread lives until everything is read.
///
/// # Errors
/// A driver error as text.
pub fn of_each_thread(world: &dyn World, calls: u64, within: Tolerance) -> Observed {
    let stream = &world.context().per_thread_stream();
    let profile = thread::scope(|scope| {
        let (ask, asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        scope.spawn(move || {
            for hold in asked {
                let blocked = world.spin(stream, hold);
                let queued = blocked.and_then(|()| on_another(world, stream, LONG));
                answer.send(queued).expect("the test waits for it");
            }
        });
        measured(&[(world, stream)], |hold| {
            around(stream, || {
                ask.send(hold).expect("the thread waits for it");
                lengths(calls).try_for_each(|ns| on(world, stream, ns))?;
                answered.recv().expect("the thread answers")?;
                world.spin(stream, BESIDE)
            })
        })
    })?;
    let whole = lengths(calls).sum::<u64>() + BESIDE;
    let expected = [
        KnownSpans::new("on", lengths(calls)),
        KnownSpans::new("on another", [LONG]),
        KnownSpans::new("around", [whole]).around_others(calls, BESIDE),
    ];
    let what = "the per-thread stream of two threads at once";
    Ok(vec![observe(what, &profile, &expected, within)])
}

/// The span of two streams lasts from the first start to the last end: the longer stream's time,
/// whichever that is.
///
/// # Errors
/// A driver error as text.
pub fn from_the_first_start_to_the_last_end(world: &dyn World, within: Tolerance) -> Observed {
    let (a, b) = (&world.stream()?, &world.stream()?);
    let profile = measured(&[(world, a), (world, b)], |_| {
        // The second call begins on a at 2 ms and on b at 7 ms; it ends on a at 11 ms, on b at 8
        // ms.
        on_both(world, a, b, [2 * MS, 7 * MS])?;
        on_both(world, a, b, [9 * MS, MS])
    })?;
    let expected = KnownSpans::new("on both", [7 * MS, 9 * MS]);
    let what = "2 calls with stream = [a, b]: 2 and 7 ms, 9 and 1 ms";
    Ok(vec![observe(what, &profile, &[expected], within)])
}

/// Spans on two streams at once, one of them around longer work on the other stream.
///
/// # Errors
/// A driver error as text.
pub fn beside_other_work(world: &dyn World, within: Tolerance) -> Observed {
    let (a, b) = (&world.stream()?, &world.stream()?);
    let profile = measured(&[(world, a), (world, b)], |_| {
        around(a, || {
            world.spin(a, LONG)?;
            world.spin(b, BESIDE)?;
            world.spin(a, SHORT)
        })?;
        on_another(world, b, LONG)?;
        world.spin(a, BESIDE)
    })?;
    let expected = [
        KnownSpans::new("around", [LONG + SHORT]),
        KnownSpans::new("on another", [LONG]),
    ];
    Ok(vec![observe(
        "two streams at once",
        &profile,
        &expected,
        within,
    )])
}

/// The stream of the innermost `with_stream` for spans without one, and not another one that is
/// used inside.
///
/// # Errors
/// A driver error as text.
pub fn given_by_with_stream(world: &dyn World, within: Tolerance) -> Observed {
    let (a, b) = (&world.stream()?, &world.stream()?);
    let profile = measured(&[(world, a), (world, b)], |_| {
        let launch = || {
            world.spin(a, SHORT)?;
            world.spin(b, BESIDE)
        };
        with_stream(a, || {
            inherits(launch)?;
            with_stream(b, || inherits_another(launch))?;
            // The outer `with_stream` applies again.
            inherits(launch)?;
            // A function with a stream among its arguments uses that one.
            on(world, b, LONG)
        })?;
        has_none(launch)
    })?;
    let expected = [
        KnownSpans::new("inherits", [SHORT; 2]),
        KnownSpans::new("inherits another", [BESIDE]),
        KnownSpans::new("on", [LONG]),
    ];
    let what = "with_stream, and longer work on another stream inside";
    Ok(vec![
        observe(what, &profile, &expected, within),
        without_a_stream("a call after it that launches on both", &profile)?,
    ])
}

/// Without a stream there is no GPU time, even if the body uses the null stream.
///
/// # Errors
/// A driver error as text.
pub fn never_assumed(world: &dyn World) -> Observed {
    let null = &world.context().default_stream();
    let profile = measured(&[(world, null)], |_| has_none(|| world.spin(null, SHORT)))?;
    let what = "a call without a stream that launches on the null stream";
    Ok(vec![without_a_stream(what, &profile)?])
}

/// The call of [`has_none`].
fn without_a_stream(what: &str, profile: &Profile) -> Result<Observation, String> {
    let found = function(profile, "has none").ok_or("a function that ran is not in the profile")?;
    let stream = if found.has_stream {
        "a stream"
    } else {
        "no stream"
    };
    let timed = times(found.gpu.as_ref());
    Ok(Observation::new(
        what,
        format!(
            "{} calls, {timed}, {} untimed, {stream}",
            found.calls, found.untimed_calls
        ),
        "1 calls, 0 timed, 0 untimed, no stream",
        found.calls == 1 && found.gpu.is_none() && found.untimed_calls == 0 && !found.has_stream,
    ))
}
