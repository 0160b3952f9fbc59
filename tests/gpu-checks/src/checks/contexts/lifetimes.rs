//! Promise: gpuprof holds a context no longer than its times are pending, and piles nothing up over
//! the lives of contexts.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, sys};
use gpuprof::{Session, gpu_profile};

use super::{DEVICE, counts, not_primary};
use crate::check::{Row, World};
use crate::checks::known_durations::{self, function};

/// Spans of one life of a context.
const SPANS: u64 = 4;
/// How far free memory may lie below where it was, in bytes: far less than what one context takes
/// on a GPU.
const DRIFT: usize = 32 << 20;
/// How long gpuprof may take to let go of a context that nobody else holds.
const PATIENCE: Duration = Duration::from_secs(5);

#[gpu_profile(name = "fill")]
fn fill(
    stream: &Arc<CudaStream>,
    bytes: &mut CudaSlice<u8>,
    times: usize,
) -> Result<(), DriverError> {
    (0..times).try_for_each(|_| stream.memset_zeros(bytes))
}

/// How a context is made again and again, and what holds the device open meanwhile.
struct Kind {
    what: &'static str,
    make: fn() -> Result<Arc<CudaContext>, DriverError>,
    keep: fn() -> Result<Arc<CudaContext>, DriverError>,
    /// Whether each life of it ends, and the driver can be asked about that.
    ends: bool,
}

fn primary() -> Result<Arc<CudaContext>, DriverError> {
    CudaContext::new(DEVICE as usize)
}

const KINDS: [Kind; 3] = [
    Kind {
        what: "the primary context, which ends each time",
        make: primary,
        keep: not_primary,
        ends: true,
    },
    Kind {
        what: "the primary context, which another handle keeps",
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

pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for kind in &KINDS {
        // One kind that fails says nothing of the others.
        match lives(kind, world) {
            Ok(found) => rows.extend(found),
            Err(error) => rows.push(Row::held(
                format!("lives of {}", kind.what),
                error.to_string(),
                "no error",
                false,
            )),
        }
    }
    Ok(rows)
}

fn lives(kind: &Kind, world: &World) -> Result<Vec<Row>, DriverError> {
    let rounds = if world.short { 10 } else { 100 };
    let keeper = (kind.keep)()?;
    // What the driver takes once is no leak.
    for round in 0..2 {
        life(kind, world, round)?;
    }
    drop(gpuprof::collect());
    let before = settled(&keeper, usize::MAX)?;
    let session = Session::builder().start().expect("the only session");
    let mut ended = 0;
    for round in 0..rounds {
        life(kind, world, round)?;
        ended += u64::from(kind.ends && over()?);
    }
    let profile = session.finish();
    let after = settled(&keeper, before)?;
    let (calls, timed) = counts(function(&profile, "fill"));
    let wanted = rounds * SPANS;
    let mut rows = vec![
        Row::held(
            format!(
                "{rounds} lives of {}, half dropped while times are pending",
                kind.what
            ),
            format!(
                "{calls} calls, {timed} timed, {}",
                known_durations::errors(&profile)
            ),
            format!("{wanted} calls, {wanted} timed, no error"),
            (calls, timed) == (wanted, wanted) && profile.diagnostics.errors.is_empty(),
        ),
        Row::held(
            format!("{}: free memory of the device", kind.what),
            format!("{before} B before, {after} B after"),
            format!("no more than {DRIFT} B less"),
            after + DRIFT >= before,
        ),
    ];
    if kind.ends {
        rows.push(Row::held(
            format!("{}: lives that end with their last handle", kind.what),
            format!("{ended} of {rounds} within {PATIENCE:?}"),
            format!("{rounds} of {rounds}"),
            ended == rounds,
        ));
    }
    Ok(rows)
}

/// One life of a context: spans in it, and then it is dropped; every other time at once, with their
/// work under way.
fn life(kind: &Kind, world: &World, round: u64) -> Result<(), DriverError> {
    // The simulated device's memory is the host's.
    let (bytes, times) = if world.simulated {
        (4 << 10, 2)
    } else {
        (16 << 20, 100)
    };
    let context = (kind.make)()?;
    // SAFETY: there is one stream.
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

/// Whether the primary context is over, or will be soon.
fn over() -> Result<bool, DriverError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both numbers are writable.
        unsafe { sys::cuDevicePrimaryCtxGetState(DEVICE, &mut flags, &mut active) }.result()?;
        if active == 0 || Instant::now() > deadline {
            return Ok(active == 0);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Free memory of the device once it is as much as it was, or has not become more for a while.
fn settled(keeper: &Arc<CudaContext>, wanted: usize) -> Result<usize, DriverError> {
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
