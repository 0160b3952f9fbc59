//! Promise: what replayed CUDA graphs run belongs to the functions that captured it, for a captured
//! graph, a second executable, a clone and an update. What a child graph runs, and a graph that was
//! captured before CUPTI was on, counts in the launching function and is counted.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};
use gpuprof::{Profile, gpu_profile};

use crate::cupti_records::{copies_of, kernels_of};
use crate::graphs::captured;
use crate::known_spans::function;
use crate::observation::Observation;
use crate::world::{Done, World};

const MODE: Mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
/// Launches of each graph.
const LAUNCHES: u64 = 10;
const SPIN_NS: u64 = 20_000;
/// Bytes per copy and memset.
const BYTES: usize = 4_096;

/// What the captured functions work on.
pub struct Work<'a> {
    world: &'a dyn World,
    stream: Arc<CudaStream>,
    from: CudaSlice<u8>,
    to: CudaSlice<u8>,
    /// One kernel and one memset, captured before CUPTI is on. An H200 records no copy of such a
    /// graph; it records something else in its place.
    early: CudaGraph,
}

fn set(stream: &CudaStream, to: &CudaSlice<u8>) -> Done {
    let address = to.device_ptr(stream).0;
    // SAFETY: the slice holds so many bytes, and lives as long as every graph.
    unsafe { result::memset_d8_async(address, 1, BYTES, stream.cu_stream()) }
}

impl<'a> Work<'a> {
    /// Captures a graph, so it is called before CUPTI is on.
    ///
    /// # Errors
    /// A driver error.
    pub fn new(world: &'a dyn World) -> Result<Self, DriverError> {
        // SAFETY: each buffer is used on one stream alone.
        unsafe { world.context().disable_event_tracking() };
        let stream = world.context().new_stream()?;
        let (from, to) = (stream.alloc_zeros(BYTES)?, stream.alloc_zeros(BYTES)?);
        stream.synchronize()?;
        let early = captured(&stream, MODE, || {
            world.spin(&stream, SPIN_NS)?;
            set(&stream, &to)
        })?;
        Ok(Self {
            world,
            stream,
            from,
            to,
            early,
        })
    }

    /// One kernel of this duration, one copy and one memset.
    fn run(&self, spin_ns: u64) -> Done {
        let stream = self.stream.cu_stream();
        let [from, to] = [&self.from, &self.to].map(|slice| slice.device_ptr(&self.stream).0);
        self.world.spin(&self.stream, spin_ns)?;
        // SAFETY: both slices hold so many bytes, and live as long as every graph.
        unsafe { result::memcpy_dtod_async(to, from, BYTES, stream) }?;
        set(&self.stream, &self.to)
    }

    /// The graph of `body`, with an executable.
    fn capture(&self, body: impl FnOnce() -> Done) -> Result<CudaGraph, DriverError> {
        captured(&self.stream, MODE, body)
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
    w.world.spin(&w.stream, SPIN_NS)
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
    // SAFETY: both graphs live, and `node` is writable.
    unsafe { sys::cuGraphAddChildGraphNode(&raw mut node, parent, none, 0, child) }.result()
}

/// Gives an executable graph the parameters of another graph.
///
/// # Errors
/// A driver error.
#[gpu_profile(name = "graph update", cpu)]
pub fn update(executable: &CudaGraph, graph: &CudaGraph) -> Done {
    // SAFETY: the type is a plain struct of an enumeration, for which 0 is a value, and pointers.
    let mut info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
    let (executable, graph) = (executable.cu_graph_exec(), graph.cu_graph());
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
pub struct Scenario {
    name: &'static str,
    /// Makes the graph and launches it.
    pub run: fn(&Work) -> Done,
    wanted: &'static [Wanted],
    /// Activities that are attributed to `replay` because their capturing function is unknown.
    unattributed: u64,
}

const N: u64 = LAUNCHES;

pub const SCENARIOS: [Scenario; 7] = [
    Scenario {
        name: "a graph captured before CUPTI was on",
        run: |w| w.replay(w.early.cu_graph_exec()),
        wanted: &[wanted("graph replay", [N, 0, N], (N, 2 * N))],
        unattributed: 2 * N,
    },
    Scenario {
        name: "an executable, made with CUPTI, of a graph captured before",
        run: |w| w.replay(instantiate(w.early.cu_graph())?),
        wanted: &[
            wanted("graph replay", [N, 0, N], (N, 2 * N)),
            wanted("graph instantiate", [0, 0, 0], (1, 0)),
        ],
        unattributed: 2 * N,
    },
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
        name: "a clone whose original is gone",
        run: |w| {
            let graph = w.capture(|| outer(w))?;
            let clone = cloned(graph.cu_graph())?;
            drop(graph);
            w.replay(instantiate(clone)?)
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
            update(&one, &two)?;
            w.replay(one.cu_graph_exec())?;
            w.replay(two.cu_graph_exec())
        },
        wanted: &[
            wanted("graph first", [N, 2 * N, 2 * N], (2 * N, 5 * N)),
            wanted("graph second", [2 * N, N, N], (2 * N, 4 * N)),
            wanted("graph replay", [0, 0, 0], (3 * N, 9 * N)),
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

impl Scenario {
    /// What was examined.
    pub fn what(&self) -> String {
        format!("{}, launched at least {LAUNCHES} times", self.name)
    }

    /// What the profile says of a [run](Scenario::run) in which CUPTI was on.
    pub fn observe(&self, profile: &Profile) -> Observation {
        let cupti = profile.cupti.clone().unwrap_or_default();
        let found: Vec<Wanted> = self.wanted.iter().map(|one| of(profile, one)).collect();
        let missing = cupti.dropped_records + cupti.invalid_records + cupti.unfinished;
        Observation::new(
            self.what(),
            shown(&found, cupti.unattributed_graph_nodes),
            shown(self.wanted, self.unattributed),
            found == self.wanted
                && cupti.unattributed_graph_nodes == self.unattributed
                && cupti.unattributed + missing == 0,
        )
    }
}

/// What the profile has of a function.
fn of(profile: &Profile, wanted: &Wanted) -> Wanted {
    let Some(function) = function(profile, wanted.function) else {
        return self::wanted(wanted.function, [0; 3], (0, 0));
    };
    let work = &function.activity;
    let copies = |kind| copies_of(profile, wanted.function, kind).0;
    Wanted {
        function: wanted.function,
        kernels: kernels_of(profile, wanted.function).launches,
        copies: copies("DtoD"),
        memsets: copies("memset"),
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
