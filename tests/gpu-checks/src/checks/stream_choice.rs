//! Promise: a parameter that is a stream is timed before one that carries a stream, carriers that
//! disagree are named, and inherited spans without work on the GPU are marked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile, with_stream};
use promises::{function, stream_choice};

use crate::check::{Check, Row, RunMode, rows};
use crate::device::{Gpu, TOLERANCE, failed_in};
use crate::session::every_call;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "stream-choice",
    promise: "A stream comes before its carriers; calls that may be host time are marked.",
    limit: Duration::from_secs(60),
    run,
}];

const MS: u64 = 1_000_000;
/// Host time of a helper.
const HOST_TIME: Duration = Duration::from_micros(200);
/// Helpers behind a running kernel, and the duration of that kernel in ns.
const BEHIND: u64 = 50;
const KERNEL_NS: u64 = 50 * MS;

type Done = Result<(), DriverError>;

/// Launches nothing.
#[gpu_profile(name = "computes")]
fn helper() {
    busy();
}

/// Launches nothing, while the stream is busy.
#[gpu_profile(name = "does nothing")]
fn helper_behind_kernel() {}

#[gpu_profile(name = "launches")]
fn launches(gpu: &Gpu, stream: &Launched) -> Done {
    gpu.spin(&stream.0, 2 * MS)
}

/// A stream in which gpuprof finds none.
struct Launched(Arc<CudaStream>);

fn busy() {
    let began = Instant::now();
    while began.elapsed() < HOST_TIME {
        std::hint::spin_loop();
    }
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    let stream = gpu.context.new_stream().map_err(failed_in("a stream"))?;
    let mut rows = rows([
        stream_choice::streams_before_carriers(&gpu, TOLERANCE),
        stream_choice::carriers_that_disagree(&gpu, TOLERANCE),
    ])?;
    rows.extend(helpers(run_mode, &gpu, stream)?);
    Ok(rows)
}

/// Inherited spans of functions that launch and of functions that do not.
fn helpers(run_mode: &RunMode, gpu: &Gpu, stream: Arc<CudaStream>) -> Result<Vec<Row>, String> {
    let failed = failed_in("a launch");
    let calls: u64 = if run_mode.short { 10 } else { 200 };
    let stream = Launched(stream);
    // The event overhead is measured at the first call, and read soon after it.
    with_stream(&stream.0, helper);
    let _ = gpuprof::collect();
    let session = every_call().start().map_err(failed_in("a session"))?;
    for _ in 0..calls {
        stream.0.synchronize().map_err(&failed)?;
        with_stream(&stream.0, helper);
        with_stream(&stream.0, || launches(gpu, &stream)).map_err(&failed)?;
    }
    gpu.spin(&stream.0, KERNEL_NS).map_err(&failed)?;
    with_stream(&stream.0, || {
        (0..BEHIND).for_each(|_| helper_behind_kernel());
    });
    let profile = session.finish();
    // Now and then an event is late, or the thread is interrupted; beside other programs the thread
    // of the simulated device is, most of the time.
    let least = |calls: u64| {
        if run_mode.simulated {
            1
        } else {
            calls * 9 / 10
        }
    };
    let marked = |name: &str, what: &str, calls: u64| {
        let least = least(calls);
        let (timed, marked) = host_calls(&profile, name);
        Row::judged(
            what,
            format!("{marked} of {timed} marked"),
            format!("at least {least} of {calls}"),
            timed == calls && marked >= least,
        )
    };
    let (timed, wrong) = host_calls(&profile, "launches");
    Ok(vec![
        marked(
            "computes",
            "helpers that inherit an idle stream, and compute for 200 µs",
            calls,
        ),
        marked("does nothing", "helpers that inherit a busy stream", BEHIND),
        Row::judged(
            "functions that inherit a stream, and launch a kernel of 2 ms",
            format!("{wrong} of {timed} marked"),
            format!("0 of {calls}"),
            (timed, wrong) == (calls, 0),
        ),
    ])
}

/// The timed calls, and those of them that may be host time.
fn host_calls(profile: &Profile, name: &str) -> (u64, u64) {
    function(profile, name).map_or((0, 0), |found| {
        let timed = found.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        (timed, found.gpu_host_calls)
    })
}
