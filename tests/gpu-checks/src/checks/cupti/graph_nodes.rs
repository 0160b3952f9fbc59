//! What replayed CUDA graphs run, attributed to the functions that captured it: for a captured
//! graph, a second executable, a clone, an update, a child graph, and a graph captured before CUPTI
//! was on.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};
use gpuprof::{Profile, gpu_profile};
use serde::{Deserialize, Serialize};

use super::{copied, function, launches, refusal};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};

pub(super) const NAME: &str = "kernels-graphs";

/// Launches of each graph.
const LAUNCHES: u64 = 10;
const SPIN_NS: u64 = 20_000;
/// Bytes per copy and memset.
const BYTES: usize = 4_096;

type Done = Result<(), DriverError>;

/// What the captured functions work on.
struct Work {
    gpu: Gpu,
    stream: Arc<CudaStream>,
    from: CudaSlice<u8>,
    to: CudaSlice<u8>,
}

impl Work {
    fn new() -> Result<Work, DriverError> {
        let gpu = Gpu::new()?;
        let stream = gpu.context.new_stream()?;
        let (from, to) = (stream.alloc_zeros(BYTES)?, stream.alloc_zeros(BYTES)?);
        stream.synchronize()?;
        Ok(Work {
            gpu,
            stream,
            from,
            to,
        })
    }

    /// One kernel of this duration, one copy and one memset.
    fn run(&self, spin_ns: u64) -> Done {
        let stream = self.stream.cu_stream();
        let [from, to] = [&self.from, &self.to].map(|slice| slice.device_ptr(&self.stream).0);
        self.gpu.spin(&self.stream, spin_ns)?;
        // SAFETY: both slices hold so many bytes, and live as long as every graph.
        unsafe { result::memcpy_dtod_async(to, from, BYTES, stream) }?;
        self.set()
    }

    fn set(&self) -> Done {
        let to = self.to.device_ptr(&self.stream).0;
        // SAFETY: the slice holds so many bytes, and lives as long as every graph.
        unsafe { result::memset_d8_async(to, 1, BYTES, self.stream.cu_stream()) }
    }

    /// One kernel and one memset. An H200 records no copy of a graph that was captured before CUPTI
    /// was on; it records something else in its place.
    fn run_without_copy(&self) -> Done {
        self.gpu.spin(&self.stream, SPIN_NS)?;
        self.set()
    }

    /// The graph of `body`, with an executable.
    fn capture(&self, body: impl FnOnce() -> Done) -> Result<CudaGraph, DriverError> {
        self.stream
            .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        let inside = body();
        let graph = self.stream.end_capture(Flags(0));
        inside?;
        Ok(graph?.expect("a stream that was being captured gives a graph"))
    }

    fn replay(&self, executable: sys::CUgraphExec) -> Done {
        (0..LAUNCHES).try_for_each(|_| replay(&self.stream, executable))
    }
}

#[gpu_profile(name = "graph first", stream = w.stream)]
fn first(w: &Work) -> Done {
    w.run(SPIN_NS)
}

/// Differs from `first` only in its kernel.
#[gpu_profile(name = "graph second", stream = w.stream)]
fn second(w: &Work) -> Done {
    w.run(2 * SPIN_NS)
}

#[gpu_profile(name = "graph outer", stream = w.stream)]
fn outer(w: &Work) -> Done {
    first(w)?;
    w.gpu.spin(&w.stream, SPIN_NS)
}

#[gpu_profile(name = "graph replay")]
fn replay(stream: &Arc<CudaStream>, executable: sys::CUgraphExec) -> Done {
    // SAFETY: both live.
    unsafe { sys::cuGraphLaunch(executable, stream.cu_stream()) }.result()
}

#[gpu_profile(name = "graph instantiate", cpu)]
fn instantiate(graph: sys::CUgraph) -> Result<sys::CUgraphExec, DriverError> {
    let mut executable = std::ptr::null_mut();
    // SAFETY: the graph lives, and `executable` is writable.
    unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) }.result()?;
    Ok(executable)
}

fn cloned(graph: sys::CUgraph) -> Result<sys::CUgraph, DriverError> {
    let mut clone = std::ptr::null_mut();
    // SAFETY: the graph lives, and `clone` is writable.
    unsafe { sys::cuGraphClone(&raw mut clone, graph) }.result()?;
    Ok(clone)
}

fn add_child(parent: sys::CUgraph, child: sys::CUgraph) -> Done {
    let mut node = std::ptr::null_mut();
    let none = std::ptr::null();
    // SAFETY: both graphs live, `node` is writable, and there are no dependencies.
    unsafe { sys::cuGraphAddChildGraphNode(&raw mut node, parent, none, 0, child) }.result()
}

#[gpu_profile(name = "graph update", cpu)]
fn update(executable: sys::CUgraphExec, graph: sys::CUgraph) -> Done {
    // SAFETY: the type is a plain struct of an enumeration, for which 0 is a value, and pointers.
    let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
    // SAFETY: both live, and `info` is writable.
    unsafe { sys::cuGraphExecUpdate_v2(executable, graph, &raw mut info) }.result()
}

/// Work that is expected of one function: kernels, copies and memsets of its own, and the calls and
/// activities that its busy time covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    function: &'static str,
    kernels: u64,
    copies: u64,
    memsets: u64,
    /// Replays and other calls, and all kernels, copies and memsets in them.
    busy: (u64, u64),
}

const fn wanted(
    function: &'static str,
    [kernels, copies, memsets]: [u64; 3],
    busy: (u64, u64),
) -> Wanted {
    Wanted {
        function,
        kernels,
        copies,
        memsets,
        busy,
    }
}

/// One way of making an executable graph.
struct Scenario {
    name: &'static str,
    run: fn(&Work) -> Done,
    wanted: &'static [Wanted],
    /// Activities that are attributed to `replay` because their capturing function is unknown.
    unattributed: u64,
}

const N: u64 = LAUNCHES;

const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "a captured graph",
        run: |w| w.replay(w.capture(|| outer(w))?.cu_graph_exec()),
        wanted: &[
            wanted("graph first", [N, N, N], (N, 3 * N)),
            wanted("graph outer", [N, 0, 0], (N, 4 * N)),
            wanted("graph replay", [0, 0, 0], (N, 4 * N)),
        ],
        unattributed: 0,
    },
    Scenario {
        name: "a second executable, made in another function",
        run: |w| {
            let graph = w.capture(|| outer(w))?;
            w.replay(instantiate(graph.cu_graph())?)
        },
        wanted: &[
            wanted("graph first", [N, N, N], (N, 3 * N)),
            wanted("graph outer", [N, 0, 0], (N, 4 * N)),
            wanted("graph instantiate", [0, 0, 0], (1, 0)),
        ],
        unattributed: 0,
    },
    Scenario {
        name: "a clone",
        run: |w| {
            let graph = w.capture(|| outer(w))?;
            w.replay(instantiate(cloned(graph.cu_graph())?)?)
        },
        wanted: &[
            wanted("graph first", [N, N, N], (N, 3 * N)),
            wanted("graph outer", [N, 0, 0], (N, 4 * N)),
        ],
        unattributed: 0,
    },
    Scenario {
        name: "an update by another function's capture, of the kernel alone",
        run: |w| {
            let (one, two) = (w.capture(|| first(w))?, w.capture(|| second(w))?);
            w.replay(one.cu_graph_exec())?;
            update(one.cu_graph_exec(), two.cu_graph())?;
            w.replay(one.cu_graph_exec())
        },
        wanted: &[
            wanted("graph first", [N, 2 * N, 2 * N], (2 * N, 5 * N)),
            wanted("graph second", [N, 0, 0], (N, N)),
            wanted("graph replay", [0, 0, 0], (2 * N, 6 * N)),
            wanted("graph update", [0, 0, 0], (1, 0)),
        ],
        unattributed: 0,
    },
    Scenario {
        name: "a child graph",
        run: |w| {
            let (parent, child) = (w.capture(|| second(w))?, w.capture(|| first(w))?);
            add_child(parent.cu_graph(), child.cu_graph())?;
            w.replay(instantiate(parent.cu_graph())?)
        },
        wanted: &[
            // CUPTI 13.0 does not tell whose clones the nodes of a child graph are.
            wanted("graph first", [0, 0, 0], (0, 0)),
            wanted("graph second", [N, N, N], (N, 3 * N)),
            wanted("graph replay", [N, N, N], (N, 6 * N)),
        ],
        unattributed: 3 * N,
    },
];

/// The work of a graph that was captured before CUPTI was on.
const EARLY: [Wanted; 1] = [wanted("graph replay", [N, 0, N], (N, 2 * N))];

/// A scenario's profile, or why it could not be run.
#[derive(Serialize, Deserialize)]
struct Outcome {
    error: Option<String>,
    profile: Profile,
}

fn outcome(work: &Work, run: impl FnOnce() -> Done) -> Result<Outcome, DriverError> {
    gpuprof::reset();
    let error = run().err().map(|error| error.to_string());
    work.stream.synchronize()?;
    Ok(Outcome {
        error,
        profile: gpuprof::collect(),
    })
}

/// Runs the scenarios and prints their profiles, that of the early capture first.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a graph");
    let work = Work::new().map_err(&failed)?;
    // CUPTI starts with the first profiled call.
    let early = work.capture(|| work.run_without_copy()).map_err(&failed)?;
    let mut outcomes =
        vec![outcome(&work, || work.replay(early.cu_graph_exec())).map_err(&failed)?];
    for scenario in &SCENARIOS {
        outcomes.push(outcome(&work, || (scenario.run)(&work)).map_err(&failed)?);
    }
    let printed = serde_json::to_string(&outcomes).map_err(|error| error.to_string())?;
    println!("{printed}");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let outcomes: Vec<Outcome> = super::run_with_cupti(NAME, run_mode)?;
    let early = ("a graph captured before CUPTI was on", &EARLY[..], 2 * N);
    let scenarios = SCENARIOS.iter();
    let scenarios =
        scenarios.map(|scenario| (scenario.name, scenario.wanted, scenario.unattributed));
    let expected = std::iter::once(early).chain(scenarios);
    Ok(expected
        .zip(&outcomes)
        .map(|((name, wanted, unattributed), outcome)| row(name, wanted, unattributed, outcome))
        .collect())
}

fn row(name: &str, wanted: &[Wanted], unattributed: u64, outcome: &Outcome) -> Row {
    let what = format!("{name}, launched at least {LAUNCHES} times");
    let profile = &outcome.profile;
    if let Some(error) = &outcome.error {
        return Row::unavailable(what, error.clone());
    }
    let Some(cupti) = &profile.cupti else {
        return Row::unavailable(what, refusal(profile).unwrap_or_default());
    };
    let found: Vec<Wanted> = wanted.iter().map(|wanted| of(profile, wanted)).collect();
    let missing = cupti.dropped_records + cupti.invalid_records + cupti.unfinished;
    Row::judged(
        what,
        shown(&found, cupti.unattributed_graph_nodes),
        shown(wanted, unattributed),
        found == wanted
            && cupti.unattributed_graph_nodes == unattributed
            && cupti.unattributed + missing == 0,
    )
}

/// What the profile has of a function.
fn of(profile: &Profile, wanted: &Wanted) -> Wanted {
    let Some(function) = function(profile, wanted.function) else {
        return self::wanted(wanted.function, [0; 3], (0, 0));
    };
    let work = &function.activity;
    let memsets = copied(&work.copies, "memset").0;
    Wanted {
        function: wanted.function,
        kernels: launches(&work.kernels, kernels::SPIN),
        copies: work
            .copies
            .iter()
            .map(|copies| copies.times.calls)
            .sum::<u64>()
            - memsets,
        memsets,
        busy: (work.busy_calls, work.activities),
    }
}

fn shown(work: &[Wanted], unattributed: u64) -> String {
    let mut parts: Vec<String> = work
        .iter()
        .map(|work| {
            let (calls, activities) = work.busy;
            format!(
                "{}: {} kernels, {} copies, {} memsets; {activities} activities in {calls} calls",
                work.function, work.kernels, work.copies, work.memsets
            )
        })
        .collect();
    parts.push(format!("{unattributed} of no capturing function"));
    parts.join(" · ")
}
