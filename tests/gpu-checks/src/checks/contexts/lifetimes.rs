//! Promise: gpuprof holds a context only while its times are pending, and memory does not grow as
//! contexts come and go.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, sys};
use gpuprof::gpu_profile;
use promises::{errors, function};

use super::{DEVICE, counts, not_primary};
use crate::check::{Row, RunMode};
use crate::session::every_call;

/// Spans per context.
const SPANS: u64 = 4;
/// Accepted decrease of free memory, in bytes: far less than a context takes on a GPU.
const DRIFT: usize = 32 << 20;
/// How long gpuprof may take to release a context that nobody else holds.
const PATIENCE: Duration = Duration::from_secs(5);

#[gpu_profile(name = "fill")]
fn fill(
    stream: &Arc<CudaStream>,
    bytes: &mut CudaSlice<u8>,
    times: usize,
) -> Result<(), DriverError> {
    (0..times).try_for_each(|_| stream.memset_zeros(bytes))
}

/// How a context is created repeatedly, and what keeps the device open in between.
struct Kind {
    what: &'static str,
    make: fn() -> Result<Arc<CudaContext>, DriverError>,
    keep: fn() -> Result<Arc<CudaContext>, DriverError>,
    /// True if the context ends each time and the driver can report that.
    ends: bool,
}

fn primary() -> Result<Arc<CudaContext>, DriverError> {
    CudaContext::new(DEVICE as usize)
}

const KINDS: [Kind; 3] = [
    Kind {
        what: "the primary context, ended each time",
        make: primary,
        keep: not_primary,
        ends: true,
    },
    Kind {
        what: "the primary context, retained by another handle",
        make: primary,
        keep: primary,
        ends: false,
    },
    Kind {
        what: "a context of its own",
        make: not_primary,
        keep: primary,
        ends: false,
    },
];

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for kind in &KINDS {
        // A failure of one kind says nothing about the others.
        match check_kind(kind, run_mode) {
            Ok(found) => rows.extend(found),
            Err(error) => rows.push(Row::judged(
                format!("lives of {}", kind.what),
                error.to_string(),
                "no error",
                false,
            )),
        }
    }
    Ok(rows)
}

fn check_kind(kind: &Kind, run_mode: &RunMode) -> Result<Vec<Row>, DriverError> {
    let rounds = if run_mode.short { 10 } else { 100 };
    let keeper = (kind.keep)()?;
    // Memory that the driver allocates once is not a leak.
    for round in 0..2 {
        one_lifetime(kind, run_mode, round)?;
    }
    drop(gpuprof::collect());
    let before = wait_for_free_memory(&keeper, usize::MAX)?;
    let session = every_call().start().expect("the only session");
    let mut ended = 0;
    for round in 0..rounds {
        one_lifetime(kind, run_mode, round)?;
        ended += u64::from(kind.ends && primary_context_ends()?);
    }
    let profile = session.finish();
    let after = wait_for_free_memory(&keeper, before)?;
    let (calls, timed) = counts(function(&profile, "fill"));
    let wanted = rounds * SPANS;
    let mut rows = vec![
        Row::judged(
            format!(
                "{rounds} lives of {}, half dropped while times are pending",
                kind.what
            ),
            format!("{calls} calls, {timed} timed, {}", errors(&profile)),
            format!("{wanted} calls, {wanted} timed, no error"),
            (calls, timed) == (wanted, wanted) && profile.diagnostics.errors.is_empty(),
        ),
        Row::judged(
            format!("{}: free memory of the device", kind.what),
            format!("{before} B before, {after} B after"),
            format!("no more than {DRIFT} B less"),
            after + DRIFT >= before,
        ),
    ];
    if kind.ends {
        rows.push(Row::judged(
            format!("{}: lives that end with their last handle", kind.what),
            format!("{ended} of {rounds} within {PATIENCE:?}"),
            format!("{rounds} of {rounds}"),
            ended == rounds,
        ));
    }
    Ok(rows)
}

/// Creates a context, runs spans in it and drops it; every other time while their work is pending.
fn one_lifetime(kind: &Kind, run_mode: &RunMode, round: u64) -> Result<(), DriverError> {
    // The simulated device's memory is host memory.
    let (bytes, times) = if run_mode.simulated {
        (4 << 10, 2)
    } else {
        (16 << 20, 100)
    };
    let context = (kind.make)()?;
    // SAFETY: there is only one stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let mut slice = stream.alloc_zeros::<u8>(bytes)?;
    for _ in 0..SPANS {
        fill(&stream, &mut slice, times)?;
    }
    if round.is_multiple_of(2) {
        stream.synchronize()?;
        drop(gpuprof::collect());
    }
    Ok(())
}

/// Waits up to [`PATIENCE`] for the primary context to become inactive; false if it is still active
/// then.
fn primary_context_ends() -> Result<bool, DriverError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both outputs are writable.
        unsafe { sys::cuDevicePrimaryCtxGetState(DEVICE, &mut flags, &mut active) }.result()?;
        if active == 0 || Instant::now() > deadline {
            return Ok(active == 0);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Free device memory, once it is back to `wanted` or has stopped growing.
fn wait_for_free_memory(keeper: &Arc<CudaContext>, wanted: usize) -> Result<usize, DriverError> {
    let mut most = 0;
    let mut deadline = Instant::now() + PATIENCE / 5;
    while Instant::now() < deadline && most < wanted {
        keeper.synchronize()?;
        let (free, _) = keeper.mem_get_info()?;
        if free > most {
            most = free;
            deadline = Instant::now() + PATIENCE / 5;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(most)
}
