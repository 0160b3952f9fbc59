//! Promise: the times of several devices are separate, and none spans two devices.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::Function;
use gpuprof::{Profile, gpu_profile};

use crate::blocked_streams::measured;
use crate::known_spans::{errors, function, times};
use crate::observation::{Observation, Observed, time};
use crate::tolerance::Tolerance;
use crate::world::{Done, World};

const MS: u64 = 1_000_000;
/// Work that makes the second device begin later.
const BEFORE: u64 = 15 * MS;
/// The bytes that a call on two devices states.
const BYTES: u32 = 1_000;

#[gpu_profile(name = "on a device")]
fn on(world: &dyn World, stream: &Arc<CudaStream>, ns: u64) -> Done {
    world.spin(stream, ns)
}

#[gpu_profile(name = "on two devices", stream = [a, b], bytes = BYTES)]
fn on_two_devices(
    worlds: [&dyn World; 2],
    a: &Arc<CudaStream>,
    b: &Arc<CudaStream>,
    ns: [u64; 2],
) -> Done {
    worlds[0].spin(a, ns[0])?;
    worlds[1].spin(b, ns[1])
}

/// One function on the devices in turn, and calls on both.
///
/// # Errors
/// A driver error as text.
pub fn separate_times(worlds: [&dyn World; 2], calls: u64, within: Tolerance) -> Observed {
    let (a, b) = (&worlds[0].stream()?, &worlds[1].stream()?);
    let profile = measured(&[(worlds[0], a), (worlds[1], b)], |_| {
        // From one device's start to the other's end it is longer than any call.
        worlds[1].spin(b, BEFORE)?;
        for _ in 0..calls {
            on(worlds[0], a, MS)?;
            on(worlds[1], b, 3 * MS)?;
            on_two_devices(worlds, a, b, [2 * MS, 5 * MS])?;
        }
        Ok(())
    })?;
    let missing = "a function that ran is not in the profile";
    let one = function(&profile, "on a device").ok_or(missing)?;
    let both = function(&profile, "on two devices").ok_or(missing)?;
    let bytes = both.gpu.as_ref().and_then(|gpu| gpu.timed_bytes);
    let wanted = (u64::from(BYTES) * calls) as f64;
    let in_turn = [(calls, MS), (calls, 3 * MS)];
    let at_once = [(calls, 2 * MS), (calls, 5 * MS)];
    Ok(vec![
        by_device(
            "one function on two devices",
            &profile,
            (one, 2 * calls),
            in_turn,
            within,
        ),
        by_device(
            "a call on streams of two devices",
            &profile,
            (both, calls),
            at_once,
            within,
        ),
        Observation::new(
            "the bytes of calls on two devices, which count once",
            format!("{bytes:?} B"),
            format!("{:?} B", Some(wanted)),
            bytes == Some(wanted),
        ),
    ])
}

/// Whether `function` has so many timed calls, and on each device as many of this length as stated.
fn by_device(
    what: &str,
    profile: &Profile,
    (function, calls): (&Function, u64),
    lengths: [(u64, u64); 2],
    within: Tolerance,
) -> Observation {
    let parts = function.gpu_on_each_device();
    let shown = parts.iter().map(|part| {
        let ordinal = part
            .device
            .map_or_else(|| "several".into(), |ordinal| ordinal.to_string());
        let [total, own] = [part.times.total_ns, part.times.self_ns].map(|ns| time(ns as f64));
        format!(
            "device {ordinal}: {}; {total}, self {own}",
            times(Some(part))
        )
    });
    let whole = times(function.gpu.as_ref());
    let shown: Vec<_> = shown
        .chain([format!("in all {whole}"), errors(profile)])
        .collect();
    let wanted = lengths.iter().zip(0..).map(|((calls, ns), ordinal)| {
        format!("device {ordinal}: {calls} timed, {} each", time(*ns as f64))
    });
    let wanted: Vec<_> = wanted
        .chain([format!("in all {calls} timed; each {within}, no error")])
        .collect();
    let are_right = parts
        .iter()
        .zip(0_u32..)
        .zip(lengths)
        .all(|((part, ordinal), (calls, ns))| {
            let times = &part.times;
            part.device == Some(ordinal)
                && part.timed_calls == calls
                && [times.min_ns, times.max_ns]
                    .into_iter()
                    .all(|read| within.accepts(read, ns))
                && [times.total_ns, times.self_ns]
                    .into_iter()
                    .all(|read| within.accepts(read, calls * ns))
        });
    let [(first, shortest), (second, longest)] = lengths;
    let total = first * shortest + second * longest;
    let is_whole = function.gpu.as_ref().is_some_and(|gpu| {
        gpu.timed_calls == calls
            && within.accepts(gpu.times.total_ns, total)
            && within.accepts(gpu.times.self_ns, total)
    });
    Observation::new(
        what,
        shown.join("; "),
        wanted.join("; "),
        parts.len() == 2 && are_right && is_whole && profile.diagnostics.errors.is_empty(),
    )
}
