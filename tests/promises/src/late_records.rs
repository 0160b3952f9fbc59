//! Promise: a record belongs to the function of its launch, however late the record arrives and
//! however many profiles are made in the meantime.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use crate::cupti_records::kernels_of;
use crate::known_spans::function;
use crate::observation::{Observation, time};
use crate::tolerance::Tolerance;
use crate::world::{Done, World};

/// Kernels beside the long one, and the duration of each, ns.
const BESIDE: u64 = 300;
const BESIDE_NS: u64 = 20_000;

// Without a GPU span, for whose end a profile would wait.
#[gpu_profile(cpu, name = "runs long")]
fn long(world: &dyn World, stream: &Arc<CudaStream>, ns: u64) -> Done {
    world.spin(stream, ns)
}

#[gpu_profile(cpu, name = "runs meanwhile")]
fn beside(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, BESIDE_NS)
}

/// Launches a kernel of `long_ns` on one of the streams and short ones on the other, and makes this
/// many profiles meanwhile, each of which reads CUPTI's records. Returns whether the long kernel
/// ran until the last of these was made. All kernels have ended on return.
///
/// # Errors
/// A driver error.
pub fn work(
    world: &dyn World,
    [a, b]: [&Arc<CudaStream>; 2],
    long_ns: u64,
    profiles: usize,
) -> Result<bool, DriverError> {
    long(world, a, long_ns)?;
    let end = a.record_event(None)?;
    (0..BESIDE).try_for_each(|_| beside(world, b))?;
    for _ in 0..profiles {
        drop(gpuprof::collect());
    }
    let is_running = !end.try_is_complete()?;
    world.context().synchronize()?;
    Ok(is_running)
}

/// What the profile says of [`work`]. The tolerances are those of the long kernel and of the time
/// of the short ones in sum.
pub fn observe(
    profile: &Profile,
    (long_ns, profiles): (u64, usize),
    is_running: bool,
    [within, beside_within]: [Tolerance; 2],
) -> Vec<Observation> {
    let long = kernels_of(profile, "runs long");
    let beside = kernels_of(profile, "runs meanwhile");
    let busy = function(profile, "runs meanwhile").map(|found| &found.activity);
    let [busy_ns, calls] = busy.map_or([0; 2], |busy| [busy.busy_ns.unwrap_or(0), busy.busy_calls]);
    let cupti = profile.cupti.clone().unwrap_or_default();
    let ms = |ns: u64| time(ns as f64);
    let state = if is_running { "runs" } else { "is over" };
    vec![
        Observation::new(
            format!(
                "a kernel of {}, and {profiles} reports meanwhile",
                ms(long_ns)
            ),
            format!(
                "{} kernel of {}; {state} at the last report",
                long.launches,
                ms(long.ns)
            ),
            format!("1 kernel of that time, {within}; runs at the last report"),
            long.are(1, long_ns, within) && is_running,
        ),
        Observation::new(
            format!("{BESIDE} kernels on another stream meanwhile"),
            format!(
                "{} kernels, {}, busy {} in {calls} calls; {} outside every function, {} without \
                 their call",
                beside.launches,
                ms(beside.ns),
                ms(busy_ns),
                cupti.unattributed,
                cupti.records_without_call
            ),
            format!(
                "{BESIDE} kernels in {BESIDE} calls, busy for {}, {beside_within}; 0 outside, 0 \
                 without",
                ms(BESIDE * BESIDE_NS)
            ),
            beside.launches == BESIDE
                && calls == BESIDE
                && busy_ns == beside.ns
                && beside_within.accepts(beside.ns, BESIDE * BESIDE_NS)
                && (cupti.unattributed, cupti.records_without_call) == (0, 0),
        ),
    ]
}
