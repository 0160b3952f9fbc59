//! Times the replays of a graph. Each launch gets event pairs of its own, so that launches in
//! flight keep theirs and nothing waits.
//!
//! Before a launch the nodes that record events receive fresh pairs, by two driver calls for each
//! captured call. A call that is not timed this time receives the pair it was captured with, which
//! is never read.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use cudarc::driver::CudaStream;

use crate::gpu::driver::handles::{Graph, GraphExec, Stream};
use crate::gpu::driver::table::Driver;
use crate::gpu::events::pool::{NoPair, within};
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::graph::call_nodes::{self, CapturedCallNodes};
use crate::gpu::graph::capture::{CapturedCall, Captures};
use crate::gpu::graph::event_pair::Lent;
use crate::gpu::resolver::channel::{Pairs, Recorded, Sample};
use crate::gpu::sampling::{Chosen, Own};
use crate::gpu::stream::context_guard::Kept;
use crate::gpu::stream::resolve::Lanes;
use crate::gpu::timer::Timing;
use crate::stats::ended_call::{GpuOutcome, StatedWork, UntimedReason};
use crate::stats::gpu_totals::TimedCall;
use crate::stats::path_ids::ROOT;

/// The captured calls of one executable graph, callers before what they call.
#[derive(Debug)]
pub(crate) struct Replays {
    exec: GraphExec,
    calls: Vec<CapturedCallNodes>,
    /// Those of the calls; the one that it is launched on is among them, if any call is on it.
    streams: Vec<Weak<CudaStream>>,
    /// Where the calls are known.
    captures: &'static Captures,
}

/// What one launch does for one captured call.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) outcome: GpuOutcome,
    pub(crate) work: StatedWork,
    /// Its two events, for the resolver.
    pub(crate) sample: Option<Sample>,
    chosen: Chosen,
}

impl Replays {
    /// Finds the captured calls of a graph by the events that its nodes record.
    ///
    /// Both handles must stay valid until this is dropped, `exec` must be made from `graph`, and
    /// neither may be used by another thread meanwhile.
    pub(crate) fn of(timing: &'static Timing, graph: usize, exec: usize) -> Self {
        let (graph, exec) = (Graph(graph), GraphExec(exec));
        let captures = &timing.captures;
        let none = Self {
            exec,
            calls: Vec::new(),
            streams: Vec::new(),
            captures,
        };
        // No call was ever captured: then nobody asks the driver anything.
        let Some(driver) = Driver::met().filter(|_| !captures.is_empty()) else {
            return none;
        };
        let nodes = driver.relaxed(|| driver.recording_nodes(graph)).flatten();
        match nodes {
            Ok(nodes) => {
                let calls = call_nodes::find(captures, graph, &nodes);
                let mut streams: Vec<_> = calls.iter().map(|one| one.call.stream.clone()).collect();
                streams.sort_by_key(|stream| stream.as_ptr() as usize);
                streams.dedup_by(|a, b| a.ptr_eq(b));
                Self {
                    exec,
                    calls,
                    streams,
                    captures,
                }
            }
            Err(_) => none,
        }
    }

    /// For each call its site, and the position of the call that it was captured inside of.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (u32, Option<usize>)> + '_ {
        let calls = self.calls.iter();
        calls.map(|planned| (planned.call.site, planned.call.caller))
    }

    /// The order in which the calls end: that in which their samples go to the resolver.
    pub(crate) fn by_end(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.calls.len()).collect();
        order.sort_by_key(|at| self.calls.get(*at).and_then(|planned| planned.call.ended));
        order
    }

    /// Makes the graph ready for a launch. `paths` has for each call where in the call tree it
    /// counts; `None` for one that nobody wants to be counted.
    pub(crate) fn arm(
        &mut self,
        timing: &'static Timing,
        thread: &mut GpuThread,
        paths: &[Option<u32>],
    ) -> Vec<Option<Replay>> {
        // Nobody wants a call of it, as between the cycles of a schedule: then the driver is not
        // asked either.
        if paths.iter().all(Option::is_none) && self.calls.iter().all(CapturedCallNodes::is_settled)
        {
            return Vec::new();
        }
        // RELAXED: this thread may be capturing another stream.
        let driver = Driver::get();
        let armed = driver.relaxed(|| match self.becomes_a_node(driver) {
            true => {
                (0..self.calls.len()).for_each(|at| self.park(driver, at));
                Vec::new()
            }
            false => self.arm_all(timing, thread, paths),
        });
        armed.unwrap_or_else(|_| self.refuse_all(paths))
    }

    /// The driver did not let this thread change anything: the nodes record into whatever they
    /// recorded into before.
    fn refuse_all(&mut self, paths: &[Option<u32>]) -> Vec<Option<Replay>> {
        self.calls.iter_mut().for_each(CapturedCallNodes::refuse);
        let calls = self.calls.iter().zip(paths);
        let untimed = calls.map(|(planned, path)| {
            path.map(|_| Replay {
                outcome: GpuOutcome::Untimed(UntimedReason::CudaError),
                work: planned.call.work,
                sample: None,
                chosen: Chosen::NO,
            })
        });
        untimed.collect()
    }

    /// Whether a launch would not run but be captured into another graph.
    fn becomes_a_node(&self, driver: &Driver) -> bool {
        let mut streams = self.streams.iter().filter_map(Weak::upgrade);
        streams.any(|stream| driver.is_capturing(Stream(stream.cu_stream() as usize)) == Ok(true))
    }

    fn arm_all(
        &mut self,
        timing: &'static Timing,
        thread: &mut GpuThread,
        paths: &[Option<u32>],
    ) -> Vec<Option<Replay>> {
        let driver = Driver::get();
        let can_time = driver.lacks().is_none() && timing.has_resolver();
        let mut room = thread.sender(timing).room();
        let mut launch: Vec<Option<Replay>> = Vec::with_capacity(self.calls.len());
        for (at, path) in paths.iter().enumerate() {
            if path.is_none() {
                // It would record once more into the pair of the last launch that was wanted.
                self.park(driver, at);
                launch.push(None);
                continue;
            }
            let Some(call) = self.calls.get(at).map(|planned| &planned.call) else {
                break;
            };
            let work = call.work;
            let chosen = self.choose(timing, thread, &launch, call);
            let pairs = if !chosen.yes {
                Err(GpuOutcome::Untimed(UntimedReason::SampledOut))
            } else if !can_time {
                Err(GpuOutcome::Untimed(UntimedReason::Unavailable))
            } else if room == 0 {
                Err(GpuOutcome::Untimed(UntimedReason::QueueFull))
            } else {
                self.fresh(driver, at).map_err(GpuOutcome::Untimed)
            };
            let sample = pairs.map(|pairs| {
                room -= 1;
                self.sample(thread, &mut launch, paths, at, (chosen, pairs))
            });
            let (outcome, sample) = match sample {
                Ok(sample) => (GpuOutcome::Submitted, sample),
                Err(outcome) => {
                    self.park(driver, at);
                    (outcome, None)
                }
            };
            launch.push(Some(Replay {
                outcome,
                work,
                sample,
                chosen,
            }));
        }
        launch
    }

    /// Has nothing more to do with the graph, which can still be launched and be given to another
    /// of these.
    pub(crate) fn give_up(&mut self) {
        self.park_all();
        self.calls.clear();
    }

    /// Has every node record into the pair it was captured with, which is read by nobody.
    pub(crate) fn park_all(&mut self) {
        if let Some(driver) = Driver::met() {
            let parked =
                driver.relaxed(|| (0..self.calls.len()).for_each(|at| self.park(driver, at)));
            if parked.is_err() {
                self.calls.iter_mut().for_each(CapturedCallNodes::refuse);
            }
        }
    }

    /// As calls are: with the one around it, or by a draw of its own.
    fn choose(
        &self,
        timing: &Timing,
        thread: &mut GpuThread,
        launch: &[Option<Replay>],
        call: &CapturedCall,
    ) -> Chosen {
        let global = timing.sample.load(Relaxed);
        // The events of a graph are in it whether they are read or not.
        let own = Own::Stated(call.sample);
        let mut caller = call.caller;
        while let Some(at) = caller {
            if let Some(Some(outer)) = launch.get(at) {
                return thread.choose_inside(Some(outer.chosen), global, own);
            }
            caller = self.calls.get(at).and_then(|planned| planned.call.caller);
        }
        thread.choose(global, own)
    }

    /// Gives the nodes of a call a pair of the pool.
    fn fresh(&mut self, driver: &Driver, at: usize) -> Result<Pairs, UntimedReason> {
        let planned = self.calls.get_mut(at).ok_or(UntimedReason::Unavailable)?;
        let Lanes::One(lane) = &planned.call.lanes else {
            return Err(UntimedReason::Unavailable);
        };
        if lane.context.is_broken() || driver.has_ended() {
            return Err(UntimedReason::Unavailable);
        }
        let context = &lane.context;
        let taken = within(driver, context.handle, || {
            Lent::take(driver, context.shared())
        });
        let lent = match taken {
            Ok(Ok(lent)) => lent,
            Ok(Err(NoPair::Exhausted)) => return Err(UntimedReason::PoolExhausted),
            Ok(Err(NoPair::Failed)) | Err(_) => return Err(UntimedReason::CudaError),
        };
        let recorded = Recorded {
            context: Arc::clone(context),
            pair: lent.pair,
            stream: lane.stream,
            held: Kept::new(context.hold().map_err(|_| UntimedReason::Unavailable)?),
        };
        planned
            .stand(driver, self.exec, &lent)
            .map_err(|_| UntimedReason::CudaError)?;
        Ok(Pairs::Lent(Box::new((recorded, lent))))
    }

    fn park(&mut self, driver: &Driver, at: usize) {
        if let Some(planned) = self.calls.get_mut(at) {
            let parking = Arc::clone(&planned.call.parking);
            // A failure is counted, and shows in every replay of the call.
            let _ = planned.stand(driver, self.exec, &parking);
        }
    }

    /// What goes to the resolver if the launch succeeds. The enclosing call is the nearest timed
    /// one on the same stream, of this graph or around its launch.
    fn sample(
        &self,
        thread: &mut GpuThread,
        launch: &mut [Option<Replay>],
        paths: &[Option<u32>],
        at: usize,
        (chosen, pairs): (Chosen, Pairs),
    ) -> Option<Sample> {
        let call = &self.calls.get(at)?.call;
        let path = paths.get(at).copied().flatten()?;
        let mut weight_in_parent = chosen.own;
        let mut enclosing = None;
        let mut outer = call.enclosing;
        while let Some(at) = outer {
            if let Some(Some(replay)) = launch.get_mut(at) {
                if let Some(sample) = &mut replay.sample {
                    let inside = Arc::clone(sample.inside.get_or_insert_default());
                    enclosing = paths.get(at).copied().flatten().map(|path| (path, inside));
                    break;
                }
                weight_in_parent = weight_in_parent.saturating_mul(replay.chosen.own);
            }
            outer = self
                .calls
                .get(at)
                .and_then(|planned| planned.call.enclosing);
        }
        let mut partly_overlaps = ROOT;
        let enclosing = enclosing.or_else(|| {
            let around = thread.around(&call.lanes);
            partly_overlaps = around.partly_overlaps;
            let (path, inside, between) = around.subtract?;
            weight_in_parent = weight_in_parent.saturating_mul(between);
            Some((path, inside))
        });
        let (parent, enclosing) = enclosing.unzip();
        let parent = parent.unwrap_or(ROOT);
        Some(Sample {
            call: TimedCall {
                path,
                site: call.site,
                device: pairs.single().map_or(0, |one| one.context.device),
                counts: true,
                parent,
                enclosing_timed: parent,
                partly_overlaps,
                outermost: call.outermost && !thread.is_inside(&call.lanes, call.site),
                weight_in_parent,
                draw: chosen.draw,
            },
            work: (!call.work.is_none()).then(|| Box::new(call.work)),
            // Known when it is booked.
            epoch: 0,
            pairs,
            inside: None,
            enclosing,
        })
    }
}

impl Drop for Replays {
    /// The graph is gone, so its events may go into another one.
    fn drop(&mut self) {
        let captures = self.captures;
        let calls = self.calls.iter();
        calls.for_each(|planned| captures.forget(&planned.captured));
    }
}
