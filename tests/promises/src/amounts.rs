//! Promise: a stated amount that is not a number, negative or too large is counted and left out,
//! and rates are those of the other calls.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;

use crate::blocked_streams::measured;
use crate::known_spans::function;
use crate::observation::{Observation, Observed};
use crate::world::{Done, World};

const STATED: [f64; 7] = [f64::NAN, f64::INFINITY, -5.0, 1e31, 4e6, 0.0, 2e6];
const KERNEL_NS: u64 = 1_000_000;

#[gpu_profile(name = "states its bytes", bytes = bytes, flops = 1)]
fn states(world: &dyn World, stream: &Arc<CudaStream>, bytes: f64) -> Done {
    world.spin(stream, KERNEL_NS)
}

#[gpu_profile(cpu, name = "states its items", items = items)]
async fn states_later(items: f64) {
    let _ = items;
}

/// Valid and invalid amounts of calls and of futures.
///
/// # Errors
/// A driver error as text.
pub fn invalid_amounts(world: &dyn World) -> Observed {
    let stream = &world.stream()?;
    let profile = measured(&[(world, stream)], |_| {
        STATED.iter().try_for_each(|amount| {
            let future = pin!(states_later(*amount));
            let polled = future.poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_ready());
            states(world, stream, *amount)
        })
    })?;
    let calls = function(&profile, "states its bytes");
    let gpu = calls.and_then(|found| found.gpu.as_ref());
    let timed = gpu.map_or(0, |gpu| gpu.timed_calls);
    let found = [
        calls.and_then(|found| found.bytes),
        gpu.and_then(|gpu| gpu.timed_bytes),
        calls.and_then(|found| found.flops),
        function(&profile, "states its items").and_then(|found| found.items),
    ];
    let wanted = [Some(6e6), Some(6e6), Some(7.0), Some(6e6)];
    let invalid = profile.diagnostics.invalid_amounts;
    let text = |timed: u64, invalid: u64, found: &[Option<f64>; 4]| {
        let [bytes, timed_bytes, flops, items] = found;
        format!(
            "{timed} timed, {invalid} invalid; {bytes:?} B, {timed_bytes:?} B timed, \
             {flops:?} operations, {items:?} items"
        )
    };
    Ok(vec![Observation::new(
        "7 calls and 7 futures: NaN, infinity, -5, 1e31, 4e6, 0, 2e6",
        text(timed, invalid, &found),
        text(7, 8, &wanted),
        (timed, invalid, found) == (7, 8, wanted),
    )])
}
