//! `Graph`: a captured graph whose replays count as calls of the functions in it.
//!
//! Launches that are not made through it are not counted.

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
/// A function marked `#[gpu_profile(graph)]` adds two event records to the graph that its stream is
/// captured to. Every [`launch`](Self::launch) then counts as one call of the function for each
/// time that it was captured: timed on the GPU, and nested in the span around the launch. Launching
/// does not wait, and cudarc's result is returned unchanged.
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
/// Captured calls are tracked until their `Graph` is dropped. Captures that were never wrapped in a
/// `Graph` are tracked until newer ones evict them: at most 4,096 calls per context are timed in
/// graphs. Do not launch a graph from raw handles after its `Graph` is dropped, because its event
/// records may then overwrite those of other calls: take the graph back by
/// [`into_inner`](Self::into_inner) instead.
///
/// A launch on a stream that is being captured becomes part of another graph and is not counted.
/// Child graphs of this graph are not timed. The capture is detected by the streams of the marked
/// calls: at least one of them must be on the stream that the graph is launched on, or a captured
/// launch is counted as if it ran. A marked call must have its stream from an `Arc<CudaStream>`, as
/// a `CudaSlice` has; with a `&CudaStream` it is only counted as captured. Graphs for device
/// launches and the bodies of conditional nodes accept no event records: functions that are
/// captured to them must not be marked.
pub struct Graph<G = CudaGraph> {
    // First, so that it is destroyed before the events that it records return to their pool.
    graph: G,
    captured: Mutex<CapturedCalls>,
}

/// The captured calls of a graph.
struct CapturedCalls {
    replays: Replays,
    /// Of each captured call.
    sites: Vec<Option<&'static Site>>,
}

/// The replay of one captured call by one launch, and the node that counts it.
type PreparedReplay = Option<(&'static PathCounters, Replay)>;

impl Graph<CudaGraph> {
    /// Wraps a graph of cudarc.
    #[must_use]
    pub fn new(graph: CudaGraph) -> Self {
        let captured =
            CapturedCalls::new(graph.cu_graph() as usize, graph.cu_graph_exec() as usize);
        Self {
            graph,
            captured: Mutex::new(captured),
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

    /// [`CudaGraph::cu_graph_exec`]. A launch by this handle is not counted.
    pub fn cu_graph_exec(&self) -> sys::CUgraphExec {
        self.graph.cu_graph_exec()
    }
}

impl<G> Graph<G> {
    /// Wraps a graph of another library or another version of cudarc, by its `CUgraph` and the
    /// `CUgraphExec` instantiated from it. Launch it by [`launch_with`](Self::launch_with).
    ///
    /// # Safety
    /// Both handles must be valid until `owner` is dropped or taken back by
    /// [`into_inner`](Self::into_inner), and no other thread may use them while this one calls a
    /// method of the `Graph`.
    #[must_use]
    pub unsafe fn from_raw(owner: G, graph: *mut c_void, exec: *mut c_void) -> Self {
        Self {
            graph: owner,
            captured: Mutex::new(CapturedCalls::new(graph as usize, exec as usize)),
        }
    }

    /// Runs `launch`, which launches the graph once, and counts the launch if the result is `Ok`.
    /// The stream that a graph from raw handles is launched on must not be in capture: the launch
    /// would be counted although nothing runs.
    ///
    /// # Errors
    /// Those of `launch`.
    pub fn launch_with<T, E>(&self, launch: impl FnOnce(&G) -> Result<T, E>) -> Result<T, E> {
        let mut captured = self.captured.lock();
        if captured.sites.is_empty() {
            drop(captured);
            return launch(&self.graph);
        }
        let prepared = with_thread(|thread| captured.prepare_launch(thread));
        let launched = launch(&self.graph);
        if launched.is_ok() {
            with_thread(|thread| record_replays(thread, captured.replays.by_end(), prepared));
        }
        launched
    }

    /// Returns the graph. Its launches are not counted any more, unless it is wrapped again.
    #[must_use]
    pub fn into_inner(self) -> G {
        self.captured.into_inner().replays.give_up();
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

impl CapturedCalls {
    fn new(graph: usize, exec: usize) -> Self {
        let replays = Replays::of(&collector().gpu, graph, exec);
        let sites = replays.sites().map(|(site, _)| collector().site(site));
        Self {
            sites: sites.collect(),
            replays,
        }
    }

    /// Prepares the graph for a launch on this thread.
    fn prepare_launch(&mut self, thread: &ThreadState) -> Vec<PreparedReplay> {
        let nodes = self.nodes(thread);
        let paths: Vec<_> = nodes
            .iter()
            .map(|node| node.map(|node| node.path))
            .collect();
        let prepared = measure_overhead(thread, clock::now(), |gpu| {
            self.replays.arm(&collector().gpu, gpu, &paths)
        });
        let Some((prepared, _)) = prepared else {
            // The thread is ending, and could not submit the samples.
            self.replays.park_all();
            return Vec::new();
        };
        nodes
            .into_iter()
            .zip(prepared)
            .map(|(node, replay)| node.zip(replay))
            .collect()
    }

    /// The node of each captured call: nested in the span around the launch and in the calls that
    /// it was captured in.
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

/// Records the replays of a launch, in the order in which they end.
fn record_replays(thread: &ThreadState, by_end: Vec<usize>, mut prepared: Vec<PreparedReplay>) {
    measure_overhead(thread, clock::now(), |gpu| {
        let writer = thread.writer();
        for at in by_end {
            let Some((node, replay)) = prepared.get_mut(at).and_then(Option::take) else {
                continue;
            };
            // Recorded before the sample is submitted, as calls are.
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
