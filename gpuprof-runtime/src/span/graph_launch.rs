//! `Graph`: a captured graph whose replays count as calls of the functions in it.
//!
//! gpuprof cannot see a launch that is not made through this. At the level of `span`; must not import report.

use std::ffi::c_void;
use std::fmt;

use cudarc::driver::{CudaGraph, DriverError, sys};
use parking_lot::Mutex;

use super::recording::{count_dropped, measure_overhead};
use super::thread_state::{NodeError, ThreadState, with_thread};
use crate::clock;
use crate::collector::collector;
use crate::gpu::{Replay, Replays};
use crate::site::{Site, SiteFlags};
use crate::stats::path_counters::PathCounters;

/// A captured graph, launched through gpuprof so that each replay counts.
///
/// Functions marked `#[gpu_profile(graph)]` leave two event records in the graph that they are captured to. Every
/// [`launch`](Self::launch) is then one call of such a function for each time that it was captured, timed on the GPU, and
/// counted under the span around the launch. Nothing is waited for, and cudarc's own result is returned as it is.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
/// # use cudarc::driver::{CudaStream, DriverError};
/// # use gpuprof_runtime as gpuprof;
/// # fn forward(_: &Arc<CudaStream>) {}
/// # fn example(stream: &Arc<CudaStream>) -> Result<(), DriverError> {
/// stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
/// forward(stream); // #[gpu_profile(graph)]
/// if let Some(graph) = stream.end_capture(CUgraphInstantiate_flags(0))? {
///     let graph = gpuprof::Graph::new(graph);
///     graph.launch()?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// gpuprof knows what was captured until its `Graph` is dropped, and of captured graphs that are no `Graph` yet the last ones: at
/// most 4,096 calls of a context are timed in graphs. A graph from raw handles that is still launched after its `Graph` is
/// dropped could record times that are not its own: take it back by [`into_inner`](Self::into_inner) instead.
///
/// What is launched on a stream that is being captured becomes part of another graph, and is not counted; nor is a graph
/// looked into that is part of this one. gpuprof sees that capture by the streams of the marked calls: at least one of these
/// must be on the stream that the graph is launched on, or a launch that is captured is counted as if it ran. A marked call must
/// have its stream from an `Arc<CudaStream>`, as a `CudaSlice` has; given a `&CudaStream` it is counted as captured and no more. A
/// graph for launches from the device, and the body of a conditional node, take no
/// event records: functions captured for these must not be marked.
pub struct Graph<G = CudaGraph> {
    // First, so that it is destroyed before the events that it records are given back.
    graph: G,
    known: Mutex<Known>,
}

/// What a graph has of gpuprof's.
struct Known {
    replays: Replays,
    /// Of each captured call.
    sites: Vec<Option<&'static Site>>,
}

/// What one launch does for one captured call, and where that is counted.
type Armed = Option<(&'static PathCounters, Replay)>;

impl Graph<CudaGraph> {
    /// Takes over a graph as cudarc makes it.
    #[must_use]
    pub fn new(graph: CudaGraph) -> Self {
        let known = Known::of(graph.cu_graph() as usize, graph.cu_graph_exec() as usize);
        Self {
            graph,
            known: Mutex::new(known),
        }
    }

    /// [`CudaGraph::launch`], counted.
    ///
    /// # Errors
    /// Those of [`CudaGraph::launch`]. gpuprof adds none.
    pub fn launch(&self) -> Result<(), DriverError> {
        self.launch_with(CudaGraph::launch)
    }

    /// [`CudaGraph::upload`].
    ///
    /// # Errors
    /// Those of [`CudaGraph::upload`].
    pub fn upload(&self) -> Result<(), DriverError> {
        self.graph.upload()
    }

    /// [`CudaGraph::cu_graph`].
    pub fn cu_graph(&self) -> sys::CUgraph {
        self.graph.cu_graph()
    }

    /// [`CudaGraph::cu_graph_exec`]. A launch by this handle is not seen.
    pub fn cu_graph_exec(&self) -> sys::CUgraphExec {
        self.graph.cu_graph_exec()
    }
}

impl<G> Graph<G> {
    /// A graph of another library or another version of cudarc, by its `CUgraph` and the `CUgraphExec` made from that.
    /// Launch it by [`launch_with`](Self::launch_with).
    ///
    /// # Safety
    /// Both handles must be valid until `owner` is dropped, or by [`into_inner`](Self::into_inner) taken back, and no other
    /// thread may use them while this one calls a method of the `Graph`.
    #[must_use]
    pub unsafe fn from_raw(owner: G, graph: *mut c_void, exec: *mut c_void) -> Self {
        Self {
            graph: owner,
            known: Mutex::new(Known::of(graph as usize, exec as usize)),
        }
    }

    /// Counts the one launch that `launch` makes, where its result is `Ok`. For a graph from raw handles its stream must not
    /// be under capture: nothing would run, and what is then counted is not true.
    ///
    /// # Errors
    /// Those of `launch`.
    pub fn launch_with<T, E>(&self, launch: impl FnOnce(&G) -> Result<T, E>) -> Result<T, E> {
        let mut known = self.known.lock();
        if known.sites.is_empty() {
            drop(known);
            return launch(&self.graph);
        }
        let armed = with_thread(|thread| known.arm(thread));
        let launched = launch(&self.graph);
        if launched.is_ok() {
            with_thread(|thread| book(thread, known.replays.by_end(), armed));
        }
        launched
    }

    /// The graph again. Launches of it are not seen any more, unless it is made a `Graph` again.
    #[must_use]
    pub fn into_inner(self) -> G {
        self.known.into_inner().replays.give_up();
        self.graph
    }
}

impl From<CudaGraph> for Graph {
    fn from(graph: CudaGraph) -> Self {
        Self::new(graph)
    }
}

impl<G> fmt::Debug for Graph<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

impl Known {
    fn of(graph: usize, exec: usize) -> Self {
        let replays = Replays::of(&collector().gpu, graph, exec);
        let sites = replays.sites().map(|(site, _)| collector().site(site));
        Self {
            sites: sites.collect(),
            replays,
        }
    }

    /// Makes the graph ready for a launch on this thread.
    fn arm(&mut self, thread: &ThreadState) -> Vec<Armed> {
        let nodes = self.nodes(thread);
        let paths: Vec<_> = nodes
            .iter()
            .map(|node| node.map(|node| node.path))
            .collect();
        let armed = measure_overhead(thread, clock::now(), |gpu| {
            self.replays.arm(&collector().gpu, gpu, &paths)
        });
        let Some((armed, _)) = armed else {
            // The thread is ending: nobody could hand the times over.
            self.replays.park_all();
            return Vec::new();
        };
        nodes
            .into_iter()
            .zip(armed)
            .map(|(node, replay)| node.zip(replay))
            .collect()
    }

    /// Where each call counts: under the span around the launch, by the calls that it was captured inside of.
    fn nodes(&self, thread: &ThreadState) -> Vec<Option<&'static PathCounters>> {
        let callers: Vec<_> = self.replays.sites().map(|(_, caller)| caller).collect();
        let mut nodes: Vec<Option<&'static PathCounters>> = Vec::with_capacity(callers.len());
        for (site, mut caller) in self.sites.iter().zip(callers.iter().copied()) {
            let is_on = |site: &&'static Site| {
                site.active()
                    && site
                        .flags()
                        .contains(SiteFlags::MEASURE.union(SiteFlags::TIME_GPU))
            };
            let Some(site) = site.filter(is_on) else {
                nodes.push(None);
                continue;
            };
            let mut path = thread.path();
            while let Some(at) = caller {
                if let Some(Some(node)) = nodes.get(at) {
                    path = node.path;
                    break;
                }
                caller = callers.get(at).copied().flatten();
            }
            let node = thread.node(path, site);
            nodes.push(node.inspect_err(|error| count_dropped(thread, *error)).ok());
        }
        nodes
    }
}

/// Books the replays of a launch, in the order of their ends.
fn book(thread: &ThreadState, by_end: Vec<usize>, mut armed: Vec<Armed>) {
    measure_overhead(thread, clock::now(), |gpu| {
        let writer = thread.writer();
        for at in by_end {
            let Some((node, replay)) = armed.get_mut(at).and_then(Option::take) else {
                continue;
            };
            // Booked before the sample is on its way, as calls are.
            if !node.record_replay(replay.outcome, &replay.work, writer) {
                count_dropped(thread, NodeError::ThreadEnded);
                continue;
            }
            if let Some(mut sample) = replay.sample {
                sample.epoch = writer.epoch();
                collector().gpu.submit(gpu, sample);
            }
        }
    });
}
