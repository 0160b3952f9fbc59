//! Promise: each call is timed on its own stream or streams and on no other, whatever the kind and
//! origin of the stream.
//!
//! Every span contains a kernel of known duration and is queued while its stream is blocked.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{HasStream, StreamRef, gpu_profile, with_stream};

use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::known_durations::{self, Wanted, function, measured, row};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "streams",
    promise: "Calls are timed on their own streams, of every kind.",
    limit: Duration::from_secs(60),
    run,
}];

/// The two kernel durations of calls in turn, in ns.
const SHORT: u64 = 1_000_000;
const LONG: u64 = 3_000_000;
/// Work on another stream, longer than any span.
const BESIDE: u64 = 15_000_000;

#[gpu_profile(name = "on")]
fn on(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

#[gpu_profile(name = "on another")]
fn on_another(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

#[gpu_profile(name = "on a raw handle", stream = raw)]
fn on_raw_handle(
    raw: &Raw,
    launch: impl FnOnce() -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    launch()
}

#[gpu_profile(name = "on both", stream = [a, b])]
fn on_both(
    gpu: &Gpu,
    a: &Arc<CudaStream>,
    b: &Arc<CudaStream>,
    ns: [u64; 2],
) -> Result<(), DriverError> {
    gpu.spin(a, ns[0])?;
    gpu.spin(b, ns[1])
}

#[gpu_profile(name = "inherits")]
fn inherits(launch: impl FnOnce() -> Result<(), DriverError>) -> Result<(), DriverError> {
    launch()
}

/// A stream as another library would provide it.
struct Raw {
    stream: *mut c_void,
    context: *mut c_void,
}

impl HasStream for Raw {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        // SAFETY: stream and context are alive until the check ends, and it reads every time before
        // that.
        Some(unsafe { StreamRef::from_raw(self.stream, self.context) })
    }
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    let calls = if run_mode.short { 4 } else { 20 };
    let own = gpu.context.new_stream().map_err(failed_in("a stream"))?;
    let other = gpu.context.new_stream().map_err(failed_in("a stream"))?;
    let mut rows = one_stream(&gpu, &own, calls)?;
    rows.extend(raw_handles(&gpu, &own, calls)?);
    rows.push(per_thread(&gpu, calls)?);
    rows.push(two_streams(&gpu, &own, &other)?);
    rows.push(a_stream_inside(&gpu, &own, &other)?);
    rows.push(given(&gpu, &own, &other)?);
    rows.push(never_assumed(&gpu)?);
    Ok(rows)
}

/// The kernel duration of the call with this number.
fn length(call: u64) -> u64 {
    if call.is_multiple_of(2) { SHORT } else { LONG }
}

fn both_lengths(name: &'static str, runs: u64) -> Wanted {
    Wanted {
        name,
        runs,
        shortest: SHORT,
        longest: LONG,
    }
}

fn single(name: &'static str, ns: u64) -> Wanted {
    Wanted {
        name,
        runs: 1,
        shortest: ns,
        longest: ns,
    }
}

/// A row for each kind of stream in cudarc.
fn one_stream(gpu: &Gpu, own: &Arc<CudaStream>, calls: u64) -> Result<Vec<Row>, String> {
    let forked = own.fork().map_err(failed_in("a fork"))?;
    // SAFETY: the handle belongs to this context, and `own` outlives its borrower.
    let borrowed = unsafe { gpu.context.wrap_borrowed_stream(own.cu_stream()) };
    let kinds = [
        ("the null stream", gpu.context.default_stream()),
        ("the per-thread stream", gpu.context.per_thread_stream()),
        ("a stream of its own", Arc::clone(own)),
        ("a forked stream", forked),
        ("a borrowed stream", borrowed),
    ];
    let mut rows = Vec::new();
    for (kind, stream) in &kinds {
        let profile = measured(&[(gpu, stream)], |_| {
            (0..calls).try_for_each(|call| on(gpu, stream, length(call)))
        })?;
        rows.push(row(
            format!("{calls} calls on {kind}"),
            &profile,
            &[both_lengths("on", calls)],
        ));
    }
    Ok(rows)
}

/// With and without the context's handle beside the stream's.
fn raw_handles(gpu: &Gpu, own: &Arc<CudaStream>, calls: u64) -> Result<Vec<Row>, String> {
    let stream = own.cu_stream().cast();
    let mut rows = Vec::new();
    for (with, context) in [
        ("and its context's", gpu.context.cu_ctx().cast()),
        ("alone", ptr::null_mut()),
    ] {
        let raw = Raw { stream, context };
        let profile = measured(&[(gpu, own)], |_| {
            (0..calls).try_for_each(|call| on_raw_handle(&raw, || gpu.spin(own, length(call))))
        })?;
        rows.push(row(
            format!("{calls} calls by a stream's raw handle {with}"),
            &profile,
            &[both_lengths("on a raw handle", calls)],
        ));
    }
    Ok(rows)
}

/// One handle that means a different stream on each thread. The other thread lives until everything
/// is read.
fn per_thread(gpu: &Gpu, calls: u64) -> Result<Row, String> {
    let stream = &gpu.context.per_thread_stream();
    let profile = thread::scope(|scope| {
        let (ask, asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        scope.spawn(move || {
            for hold in asked {
                let queued = gpu
                    .spin(stream, hold)
                    .and_then(|()| on_another(gpu, stream, LONG));
                answer.send(queued).expect("the check waits for it");
            }
        });
        measured(&[(gpu, stream)], |hold| {
            ask.send(hold).expect("the thread waits for it");
            (0..calls).try_for_each(|call| on(gpu, stream, length(call)))?;
            answered.recv().expect("the thread answers")
        })
    })?;
    Ok(row(
        "the per-thread stream of two threads at once",
        &profile,
        &[both_lengths("on", calls), single("on another", LONG)],
    ))
}

/// The span of two streams lasts from the first start to the last end: the longer stream's time,
/// whichever that is.
fn two_streams(gpu: &Gpu, a: &Arc<CudaStream>, b: &Arc<CudaStream>) -> Result<Row, String> {
    let profile = measured(&[(gpu, a), (gpu, b)], |_| {
        // The second call begins on a at 2 ms and on b at 7 ms; it ends on a at 11 ms, on b at 8
        // ms.
        on_both(gpu, a, b, [2_000_000, 7_000_000])?;
        on_both(gpu, a, b, [9_000_000, 1_000_000])
    })?;
    Ok(row(
        "2 calls with stream = [a, b]: 2 and 7 ms, 9 and 1 ms",
        &profile,
        &[Wanted {
            name: "on both",
            runs: 2,
            shortest: 7_000_000,
            longest: 9_000_000,
        }],
    ))
}

/// Spans on two streams at once, each beside longer work on the other stream.
fn a_stream_inside(gpu: &Gpu, a: &Arc<CudaStream>, b: &Arc<CudaStream>) -> Result<Row, String> {
    let profile = measured(&[(gpu, a), (gpu, b)], |_| {
        on(gpu, a, SHORT)?;
        on_another(gpu, b, LONG)?;
        gpu.spin(a, BESIDE)?;
        gpu.spin(b, BESIDE)
    })?;
    Ok(row(
        "two streams at once",
        &profile,
        &[single("on", SHORT), single("on another", LONG)],
    ))
}

/// The stream of `with_stream`, and not another one that is used inside.
fn given(gpu: &Gpu, a: &Arc<CudaStream>, b: &Arc<CudaStream>) -> Result<Row, String> {
    let profile = measured(&[(gpu, a), (gpu, b)], |_| {
        with_stream(a, || {
            inherits(|| {
                gpu.spin(a, SHORT)?;
                gpu.spin(b, BESIDE)
            })
        })
    })?;
    Ok(row(
        "with_stream, and longer work on another stream inside",
        &profile,
        &[single("inherits", SHORT)],
    ))
}

/// Without a stream there is no GPU time, even if the body uses the null stream.
fn never_assumed(gpu: &Gpu) -> Result<Row, String> {
    let null = &gpu.context.default_stream();
    let profile = measured(&[(gpu, null)], |_| inherits(|| gpu.spin(null, SHORT)))?;
    let Some(found) = function(&profile, "inherits") else {
        return Err("a function that ran is not in the profile".into());
    };
    let measured = format!(
        "{} calls, {}, {}",
        found.calls,
        known_durations::times(found.gpu.as_ref()),
        if found.has_stream {
            "a stream"
        } else {
            "no stream"
        }
    );
    let good = found.calls == 1 && found.gpu.is_none() && !found.has_stream;
    let what = "a call without a stream that launches on the null stream";
    Ok(Row::judged(
        what,
        measured,
        "1 calls, 0 timed, no stream",
        good,
    ))
}
