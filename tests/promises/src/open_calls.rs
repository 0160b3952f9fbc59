//! Promise: a call in progress is reported with its time so far and the GPU time of what has ended
//! in it, until it ends and counts as a call.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, Sampling, Session, gpu_profile};

use crate::known_spans::{errors, function};
use crate::observation::{Observation, Observed, time};
use crate::tolerance::Tolerance;
use crate::world::{Done, World, failed_in};

/// Calls that have ended inside the one in progress, and the kernel of each, ns.
const REQUESTS: u64 = 20;
const REQUEST_NS: u64 = 2_000_000;
/// What passes on the host before the requests, and in each of them, ns.
const HOST_NS: u64 = 1_000_000;
/// The kernels, and what passes before the first of them is launched.
const SO_FAR_NS: u64 = HOST_NS + REQUESTS * REQUEST_NS;

/// Makes requests, waits for them, and calls `inside` while it is in progress.
///
/// # Errors
/// A driver error.
#[gpu_profile(name = "serves")]
pub fn serve<T>(
    world: &dyn World,
    stream: &Arc<CudaStream>,
    inside: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    world.pass(Duration::from_nanos(HOST_NS));
    (0..REQUESTS).try_for_each(|_| request(world, stream))?;
    stream.synchronize()?;
    Ok(inside())
}

#[gpu_profile(name = "request")]
fn request(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, REQUEST_NS)?;
    world.pass(Duration::from_nanos(HOST_NS));
    Ok(())
}

/// A call in progress when a profile is made, and after it has ended.
///
/// # Errors
/// A driver error as text.
pub fn in_progress(world: &dyn World, within: Tolerance) -> Observed {
    let failed = failed_in("the calls");
    let stream = world.stream()?;
    let session = Session::builder().sampling(Sampling::EveryCall).start();
    let session = session.map_err(failed_in("a session"))?;
    // All requests have ended, and their times are waited for.
    let during = serve(world, &stream, gpuprof::collect).map_err(&failed)?;
    let after = session.finish();
    [&during, &after]
        .into_iter()
        .for_each(|profile| world.accept(profile));
    let mut observed = vec![only_these_are_open(
        "a snapshot inside a call",
        &during,
        &["serves"],
    )];
    observed.extend(of_the_open_call(&during, during.wall_ns, within));
    observed.push(after_its_end(&after, within));
    Ok(observed)
}

/// Whether one call of each of these functions is in progress, and none has ended.
pub fn only_these_are_open(what: &str, profile: &Profile, names: &[&str]) -> Observation {
    let mut is_kept = true;
    let mut shown = Vec::new();
    for name in names {
        let found = function(profile, name);
        let [calls, open] = found.map_or([0; 2], |found| [found.calls, found.open_calls]);
        is_kept &= [calls, open] == [0, 1];
        shown.push(format!("{name}: {open} in progress, {calls} ended"));
    }
    let all = profile.functions.iter();
    is_kept &= all.filter(|found| found.open_calls > 0).count() == names.len();
    Observation::new(
        what,
        shown.join("; "),
        "1 in progress, 0 ended, of each, and of no other function",
        is_kept,
    )
}

/// The calls that have ended inside the open call of [`serve`], and its time so far, which is at
/// most `most_ns`.
pub fn of_the_open_call(profile: &Profile, most_ns: u64, within: Tolerance) -> Vec<Observation> {
    let [serves, request] = ["serves", "request"].map(|name| function(profile, name));
    let timed = request.and_then(|request| request.gpu.as_ref());
    let timed = timed.map_or(0, |gpu| gpu.timed_calls);
    let [calls, cpu_ns] = request.map_or([0; 2], |found| [found.calls, found.cpu.total_ns]);
    let [nested_ns, open_ns] =
        serves.map_or([0; 2], |serves| [serves.gpu_nested_ns, serves.open_ns]);
    let node = profile.tree.iter().find(|node| node.name == "serves");
    let of_node = node.map_or([0; 3], |node| [node.calls, node.open_calls, node.open_ns]);
    let [kernels_ns, requests_ns] = [REQUESTS * REQUEST_NS, REQUESTS * HOST_NS];
    let ms = |ns: u64| time(ns as f64);
    vec![
        Observation::new(
            "the same: its requests",
            format!(
                "{calls} calls, {timed} timed, CPU time {}; nested GPU time {}",
                ms(cpu_ns),
                ms(nested_ns)
            ),
            format!(
                "{REQUESTS} calls, all timed, {} or more; {} {within}, at most the call's time",
                ms(requests_ns),
                ms(kernels_ns)
            ),
            [calls, timed] == [REQUESTS; 2]
                && within.accepts_of_host(cpu_ns, requests_ns)
                && within.accepts(nested_ns, kernels_ns)
                && nested_ns <= open_ns,
        ),
        Observation::new(
            "the same: its time so far",
            format!("{}, in the call tree {}", ms(open_ns), ms(of_node[2])),
            format!("{} to {}, and as much", ms(SO_FAR_NS), ms(most_ns)),
            open_ns <= most_ns
                && within.accepts_of_host(open_ns, SO_FAR_NS)
                && of_node == [0, 1, open_ns],
        ),
    ]
}

fn after_its_end(profile: &Profile, within: Tolerance) -> Observation {
    let [serves, request] = ["serves", "request"].map(|name| function(profile, name));
    let [calls, open] = serves.map_or([0; 2], |found| [found.calls, found.open_calls]);
    let [total_ns, self_ns] =
        serves.map_or([0; 2], |found| [found.cpu.total_ns, found.cpu.self_ns]);
    let nested_ns = request.map_or(0, |found| found.cpu.total_ns);
    let [total, own, nested] = [total_ns, self_ns, nested_ns].map(|ns| time(ns as f64));
    Observation::new(
        "the profile after that call",
        format!(
            "{calls} calls, {open} in progress; CPU time {total}, self {own}, requests {nested}; \
             {}",
            errors(profile)
        ),
        format!(
            "1 calls, 0 in progress; CPU time {} or more, self all but the requests; no error",
            time(SO_FAR_NS as f64)
        ),
        [calls, open] == [1, 0]
            && within.accepts_of_host(total_ns, SO_FAR_NS)
            && self_ns + nested_ns == total_ns
            && profile.diagnostics.errors.is_empty(),
    )
}
