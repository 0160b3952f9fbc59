//! Promise: kernels and copies are counted, under the innermost function around their launch. A
//! function is busy for as long as its kernels run, and idle while its span waits for the host.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream};
use gpuprof::{Profile, gpu_profile};

use crate::cupti_records::{copies_of, kernels_of};
use crate::graphs::captured;
use crate::known_spans::function;
use crate::observation::{Observation, time};
use crate::tolerance::Tolerance;
use crate::world::{Done, World};

/// Calls per function.
pub const CALLS: u64 = 20;
/// Duration of the long spin kernel, ns.
pub const LONG_NS: u64 = 1_000_000;
const SHORT_NS: u64 = 200_000;
/// Host time between the two launches of `gap`.
const GAP: Duration = Duration::from_millis(2);
/// Elements per copy.
const LEN: usize = 1 << 20;
/// Kernels per graph, and launches outside every function.
const NODES: u64 = 3;
const OUTSIDE: u64 = 7;

#[gpu_profile(name = "long")]
fn long(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, LONG_NS)
}

#[gpu_profile(name = "outer")]
fn outer(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, SHORT_NS)?;
    inner(world, stream)?;
    world.spin(stream, SHORT_NS)
}

#[gpu_profile(name = "inner")]
fn inner(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, SHORT_NS)
}

#[gpu_profile(name = "gap")]
fn gap(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, SHORT_NS)?;
    world.pass(GAP);
    world.spin(stream, SHORT_NS)
}

#[gpu_profile(name = "copies")]
fn copies(stream: &Arc<CudaStream>, host: &mut [f32], on_device: &mut CudaSlice<f32>) -> Done {
    stream.memcpy_htod(host, on_device)?;
    stream.memset_zeros(on_device)?;
    stream.memcpy_dtoh(on_device, host)
}

#[gpu_profile(name = "replay")]
fn replay(stream: &Arc<CudaStream>, graph: &CudaGraph) -> Done {
    let _ = stream;
    graph.launch()
}

/// Calls each function so often, and launches kernels outside of them. All work has ended on
/// return.
///
/// # Errors
/// A driver error.
pub fn work(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    let graph = captured(stream, Mode::CU_STREAM_CAPTURE_MODE_RELAXED, || {
        (0..NODES).try_for_each(|_| world.spin(stream, SHORT_NS))
    })?;
    let mut host = vec![1.0_f32; LEN];
    let mut on_device = stream.alloc_zeros(LEN)?;
    for _ in 0..CALLS {
        long(world, stream)?;
        outer(world, stream)?;
        // Queued work would fill the gap.
        stream.synchronize()?;
        gap(world, stream)?;
        copies(stream, &mut host, &mut on_device)?;
        replay(stream, &graph)?;
    }
    (0..OUTSIDE).try_for_each(|_| world.spin(stream, SHORT_NS))?;
    stream.synchronize()
}

/// How far what is measured may be from what is expected.
#[derive(Clone, Copy)]
pub struct Margins {
    /// Of busy times, as a share.
    pub busy: f64,
    /// What two events inside a span take, ns.
    pub events_ns: u64,
    /// Of the time that the host takes.
    pub host: Tolerance,
    /// Memsets of other buffers, made outside every function.
    pub buffers: u64,
}

impl Margins {
    /// Under a virtual clock.
    pub const EXACT: Self = Self {
        busy: 0.0,
        events_ns: 0,
        host: Tolerance::EXACT,
        buffers: 0,
    };

    fn accept_busy(&self, busy_ns: u64, kernels_ns: u64) -> bool {
        busy_ns.abs_diff(kernels_ns) as f64 <= self.busy * kernels_ns as f64
    }
}

/// What the profile says of [`work`].
pub fn observe(profile: &Profile, margins: Margins) -> Vec<Observation> {
    let spins = [
        ("long", 1),
        ("outer", 2),
        ("inner", 1),
        ("gap", 2),
        ("replay", NODES),
        ("copies", 0),
    ];
    let mut observations: Vec<_> = spins.map(|(name, each)| counts(profile, name, each)).into();
    let outside = profile.cupti.as_ref().map_or(0, |cupti| cupti.unattributed);
    observations.push(Observation::new(
        "launches, copies and memsets outside every function",
        format!("{outside}"),
        format!("{OUTSIDE} launches, and the memsets of buffers made there"),
        // One of these memsets is `work`'s.
        (OUTSIDE + 1..=OUTSIDE + 1 + margins.buffers).contains(&outside),
    ));
    observations.push(idle(profile, margins));
    observations.extend(["outer", "replay"].map(|name| busy(profile, name, margins)));
    observations
}

/// The activity of one function, without that of nested functions.
fn counts(profile: &Profile, name: &str, spins: u64) -> Observation {
    let kinds = ["HtoD", "memset", "DtoH"];
    let shown = |spins: u64, copies: [(u64, u64); 3]| {
        let [to, set, from] = copies.map(|(calls, bytes)| format!("{calls} of {bytes} B"));
        format!("{spins} spin kernels; HtoD {to}, memset {set}, DtoH {from}")
    };
    let found = kernels_of(profile, name).launches;
    let copied = kinds.map(|kind| copies_of(profile, name, kind));
    let each = if name == "copies" {
        (CALLS, CALLS * 4 * LEN as u64)
    } else {
        (0, 0)
    };
    Observation::new(
        format!("{name}: work of {CALLS} calls"),
        shown(found, copied),
        shown(spins * CALLS, [each; 3]),
        found == spins * CALLS && copied == [each; 3],
    )
}

/// Busy and idle time, and the GPU span, of a function.
fn times(profile: &Profile, name: &str) -> [u64; 3] {
    function(profile, name).map_or([0; 3], |found| {
        let work = &found.activity;
        let span_ns = found.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
        [
            work.busy_ns.unwrap_or(0),
            work.idle_ns.unwrap_or(0),
            span_ns,
        ]
    })
}

fn each(ns: u64) -> String {
    time(ns as f64 / CALLS as f64)
}

fn idle(profile: &Profile, margins: Margins) -> Observation {
    let [busy_ns, idle_ns, span_ns] = times(profile, "gap");
    // The first kernel runs in the gap.
    let waits_ns = CALLS * (GAP.as_nanos() as u64 - SHORT_NS);
    Observation::new(
        "a gap of 2 ms between two kernels of 200 µs, a call",
        format!(
            "span {}, busy {}, idle {}",
            each(span_ns),
            each(busy_ns),
            each(idle_ns)
        ),
        "busy as long as the kernels, idle at least the gap minus one kernel",
        margins.accept_busy(busy_ns, CALLS * 2 * SHORT_NS)
            && margins.host.accepts_of_host(idle_ns, waits_ns)
            && busy_ns + idle_ns == span_ns,
    )
}

fn busy(profile: &Profile, name: &str, margins: Margins) -> Observation {
    let [busy_ns, _, span_ns] = times(profile, name);
    Observation::new(
        format!("{name}: three kernels one after another, a call"),
        format!("span {}, busy {}", each(span_ns), each(busy_ns)),
        "busy at most the span, but for two events inside, and as long as the kernels",
        busy_ns <= span_ns + CALLS * margins.events_ns
            && margins.accept_busy(busy_ns, CALLS * 3 * SHORT_NS),
    )
}
