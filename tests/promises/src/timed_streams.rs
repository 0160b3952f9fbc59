//! Promise: kernels on another stream than their function's GPU span are named, and a helper that
//! launches nothing has none.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile, with_stream};

use crate::cupti_records::kernels_of;
use crate::known_spans::function;
use crate::observation::{Observation, time};
use crate::tolerance::Tolerance;
use crate::world::{Done, World};

const SPIN_NS: u64 = 2_000_000;
/// The beginning of the note on a function, after its name.
const NOTE: &str = "may be timed on the wrong stream";

#[gpu_profile(name = "timed on another stream", stream = timed)]
fn on_another(world: &dyn World, timed: &Arc<CudaStream>, used: &Arc<CudaStream>) -> Done {
    let _ = timed;
    world.spin(used, SPIN_NS)
}

#[gpu_profile(name = "timed on its stream")]
fn on_its_own(world: &dyn World, used: &Arc<CudaStream>) -> Done {
    world.spin(used, SPIN_NS)
}

/// Inherits a stream.
#[gpu_profile(name = "inherits, launches nothing")]
fn helper(inside: impl FnOnce() -> Done) -> Done {
    inside()
}

/// Inherits a stream.
#[gpu_profile(name = "inherits, launches")]
fn launching_helper(inside: impl FnOnce() -> Done) -> Done {
    inside()
}

/// Calls the functions so often. All work has ended on return.
///
/// # Errors
/// A driver error.
pub fn work(world: &dyn World, [a, b]: [&Arc<CudaStream>; 2], calls: u64) -> Done {
    for _ in 0..calls {
        on_another(world, a, b)?;
        on_its_own(world, b)?;
        b.synchronize()?;
        with_stream(a, || {
            helper(|| Ok(()))?;
            launching_helper(|| world.spin(a, SPIN_NS))
        })?;
    }
    world.context().synchronize()
}

/// What the profile says of [`work`]. Each call of a span on an idle stream may be as much longer
/// as `span_ns`, because of the host.
pub fn observe(
    profile: &Profile,
    calls: u64,
    within: Tolerance,
    span_ns: SpanMargins,
) -> Vec<Observation> {
    vec![
        outside(
            profile,
            "timed on another stream",
            (calls, calls * SPIN_NS),
            span_ns.outside,
        ),
        outside(profile, "timed on its stream", (calls, 0), span_ns.inside),
        launched(profile, "inherits, launches nothing", (calls, 0), within),
        launched(profile, "inherits, launches", (calls, calls), within),
    ]
}

/// How far the time of kernels outside a span may be from that expected, ns a call: a slow host
/// lengthens a span on an idle stream.
#[derive(Clone, Copy)]
pub struct SpanMargins {
    /// If no kernel is inside the span.
    pub outside: u64,
    /// If all are.
    pub inside: u64,
}

/// The time of kernels outside the function's spans, and whether the report says so.
fn outside(
    profile: &Profile,
    name: &str,
    (calls, wanted_ns): (u64, u64),
    margin_ns: u64,
) -> Observation {
    let found = function(profile, name);
    let outside_ns = found.map_or(u64::MAX, |found| found.activity.outside_span_ns);
    let span_ns = found.and_then(|found| found.gpu.as_ref());
    let span_ns = span_ns.map_or(0, |gpu| gpu.times.total_ns);
    let mut notes = profile.diagnostics.notes.iter();
    let is_note = |note: &&String| note.starts_with(name) && note.contains(NOTE);
    let is_noted = notes.any(|note| is_note(&note) && note.contains("stream = …"));
    let note = |is_noted| if is_noted { "a note" } else { "no note" };
    let is_wanted = wanted_ns > 0;
    Observation::new(
        format!("{name}: {calls} calls with a kernel of 2 ms"),
        format!(
            "GPU span {}, kernels outside it {}, {}",
            time(span_ns as f64),
            time(outside_ns as f64),
            note(is_noted)
        ),
        format!(
            "{} outside, and at most {} a call more or less, {}",
            time(wanted_ns as f64),
            time(margin_ns as f64),
            note(is_wanted)
        ),
        outside_ns.abs_diff(wanted_ns) <= calls * margin_ns && is_noted == is_wanted,
    )
}

/// What CUPTI's records say of a function that inherits a stream.
fn launched(
    profile: &Profile,
    name: &str,
    (calls, kernels): (u64, u64),
    within: Tolerance,
) -> Observation {
    let Some(found) = function(profile, name) else {
        return Observation::new(name, "missing", "a function", false);
    };
    let work = &found.activity;
    let busy_ns = work.busy_ns.unwrap_or(u64::MAX);
    let spun_ns = kernels * SPIN_NS;
    let is_busy = if kernels == 0 {
        busy_ns == 0
    } else {
        within.accepts(busy_ns, spun_ns) && kernels_of(profile, name).are(kernels, spun_ns, within)
    };
    Observation::new(
        format!("{name}: work of {calls} calls"),
        format!(
            "{} calls recorded, {} kernels, {} activities, busy {}",
            work.busy_calls,
            work.launches,
            work.activities,
            time(busy_ns as f64)
        ),
        format!(
            "{calls} calls, {kernels} kernels, {kernels} activities, busy {}, {within}",
            time(spun_ns as f64)
        ),
        (work.busy_calls, work.launches, work.activities) == (calls, kernels, kernels) && is_busy,
    )
}
