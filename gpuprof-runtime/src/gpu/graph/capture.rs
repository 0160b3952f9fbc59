//! Captured calls of functions marked `graph`: their two events are nodes of the graph, and every
//! replay records them.
//!
//! The driver does not report when the last use of a graph, its instances and their launches has
//! ended. A user object would, but a stream accepts only a few launches of a graph that owns one
//! before the next launch waits (28 to 56 on an H200 with driver 580.159). Therefore events that a
//! capture once used are never used for anything that is read. They are reused for another capture
//! when the graph's [`Graph`](crate::Graph) is dropped or, if it was never wrapped in one, when
//! events run out.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use cudarc::driver::CudaStream;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::gpu::driver::handles::{Event, Graph};
use crate::gpu::driver::table::{Driver, Failed};
use crate::gpu::events::pool::{Context, Pair, within};
use crate::gpu::frame::{Open, State};
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::graph::event_pair::Lent;
use crate::gpu::stream::context_guard::Kept;
use crate::gpu::stream::resolve::{Lane, Lanes};
use crate::gpu::timer::{Place, Timing};
use crate::stats::ended_call::{GpuOutcome, StatedWork};

/// Entries of a map before it is looked through for dead ones.
const PRUNE_FROM: usize = 64;

/// One call that was captured.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct CapturedCall {
    pub(in crate::gpu) site: u32,
    /// The site's own `sample = N`; 0 for none.
    pub(in crate::gpu) sample: u32,
    /// One, which keeps neither stream nor context: this may outlive both.
    pub(in crate::gpu) lanes: Lanes,
    /// Its stream, where cudarc shares it.
    pub(in crate::gpu) stream: Weak<CudaStream>,
    /// The pair that the graph was made with. No replay is timed by it, so it may stand there at
    /// any time.
    pub(in crate::gpu) parking: Arc<Lent>,
    /// The captured call that this one was made from, among those of the same capture.
    pub(in crate::gpu) caller: Option<usize>,
    /// The same on the same stream.
    pub(in crate::gpu) enclosing: Option<usize>,
    /// Whether no call of the same site encloses it.
    pub(in crate::gpu) outermost: bool,
    /// When it ended, among those of the same capture; `None` while it runs, or where its end was
    /// not captured.
    pub(in crate::gpu) ended: Option<u32>,
    pub(in crate::gpu) work: StatedWork,
}

/// The calls that one capture has, in the order of their beginnings.
#[derive(Debug)]
pub(in crate::gpu) struct Captured {
    /// What they were captured to. Another graph may record the same events: one of an earlier
    /// capture that had them.
    graph: Graph,
    calls: Mutex<Vec<CapturedCall>>,
    ended: AtomicU32,
}

impl Captured {
    fn new(graph: Graph) -> Self {
        Self {
            graph,
            calls: Mutex::new(Vec::new()),
            ended: AtomicU32::new(0),
        }
    }

    pub(in crate::gpu) fn call(&self, at: usize) -> Option<CapturedCall> {
        self.calls.lock().get(at).cloned()
    }

    fn is_of(&self, context: &Arc<Context>) -> bool {
        let calls = self.calls.lock();
        let mut contexts = calls.iter().map(|call| &call.parking.context);
        contexts.any(|one| Arc::ptr_eq(one, context))
    }

    /// Whether this capture is known but unused: no [`Graph`](crate::Graph) and no running call has
    /// it.
    fn is_unused(self: &Arc<Self>) -> bool {
        // Once for each call by its event, and once in the order of their ages.
        Arc::strong_count(self) == self.calls.lock().len() + 1
    }

    /// Whether anything made from the graph can be left: not where its context is gone.
    fn is_alive(&self) -> bool {
        let calls = self.calls.lock();
        calls.iter().any(|call| {
            let context = &call.parking.context;
            context.is_alive() || context.may_return()
        })
    }
}

/// A running call whose start event is in the graph.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct InGraph {
    captured: Arc<Captured>,
    pub(in crate::gpu) at: usize,
    capture: u64,
    pair: Pair,
}

impl InGraph {
    pub(in crate::gpu) fn is_of(&self, capture: u64) -> bool {
        self.capture == capture
    }

    /// Records the end event; returns whether that was possible.
    pub(in crate::gpu) fn end(&self, driver: &Driver, lanes: &Lanes, work: StatedWork) -> bool {
        let Lanes::One(lane) = lanes else {
            return false;
        };
        let recorded = in_context(driver, lane, || match driver.capture(lane.stream)? {
            Some((capture, _)) if capture == self.capture => driver
                .record_into_graph(self.pair.end, lane.stream)
                .map(|()| true),
            // It has ended, and another may have begun.
            _ => Ok(false),
        });
        let recorded = recorded == Some(true);
        if let (true, Some(call)) = (recorded, self.captured.calls.lock().get_mut(self.at)) {
            call.ended = Some(self.captured.ended.fetch_add(1, Relaxed));
            call.work = work;
        }
        recorded
    }
}

/// Runs `f` in the lane's context and in RELAXED capture mode, on the thread that may be capturing.
/// Failures are noted.
fn in_context<R>(driver: &Driver, lane: &Lane, f: impl FnOnce() -> Result<R, Failed>) -> Option<R> {
    let result = driver.relaxed(|| within(driver, lane.context.handle, f).flatten());
    let result = result.flatten();
    result.map_err(|failed| lane.context.note(failed)).ok()
}

/// All captured calls whose graphs may still be launched.
#[derive(Debug)]
pub(in crate::gpu) struct Captures {
    /// By capture.
    under_way: Mutex<Known<u64, Weak<Captured>>>,
    /// By start event: the events of a graph tell whose they are. Here they are kept.
    by_event: Mutex<Known<Event, (Arc<Captured>, usize)>>,
    /// The same, the oldest first. Locked before any other.
    by_age: Mutex<VecDeque<Arc<Captured>>>,
}

/// A map that forgets what is dead when it has doubled.
#[derive(Debug)]
struct Known<K, V> {
    map: FxHashMap<K, V>,
    prune_at: usize,
}

impl<K: std::hash::Hash + Eq, V> Known<K, V> {
    fn new() -> Self {
        Self {
            map: FxHashMap::default(),
            prune_at: PRUNE_FROM,
        }
    }

    fn insert(&mut self, key: K, value: V, is_alive: impl Fn(&V) -> bool) {
        if self.map.len() >= self.prune_at {
            self.map.retain(|_, value| is_alive(value));
            self.prune_at = (self.map.len() * 2).max(PRUNE_FROM);
        }
        self.map.insert(key, value);
    }
}

impl Captures {
    pub(in crate::gpu) fn new() -> Self {
        Self {
            under_way: Mutex::new(Known::new()),
            by_event: Mutex::new(Known::new()),
            by_age: Mutex::new(VecDeque::new()),
        }
    }

    /// Whether no captured call is known.
    pub(in crate::gpu) fn is_empty(&self) -> bool {
        self.by_event.lock().map.is_empty()
    }

    /// Records the start event of a call into the graph that the lane is being captured to. `None`:
    /// it cannot be timed there.
    pub(in crate::gpu) fn begin(
        &self,
        driver: &Driver,
        lane: &Lane,
        inside: impl FnOnce(u64) -> Inside,
        site: u32,
        sample: u32,
    ) -> Option<InGraph> {
        if lane.context.is_broken() || !driver.times_graphs() {
            return None;
        }
        // One of cudarc's streams that nothing keeps: when the graph is launched it may be gone,
        // and could not be asked whether that launch is captured itself. Whoever lends raw handles
        // has promised that it is not.
        if lane.keep.is_none() && lane.context.is_owned() {
            return None;
        }
        let begun = in_context(driver, lane, || {
            let Some((capture, graph)) = driver.capture(lane.stream)? else {
                return Ok(None);
            };
            let captured = self.of(capture, graph);
            let parked = Lent::park(driver, lane.context.shared()).or_else(|_| {
                self.forget_oldest(lane.context.shared());
                Lent::park(driver, lane.context.shared())
            });
            let Ok(lent) = parked else {
                return Ok(None);
            };
            driver.record_into_graph(lent.pair.start, lane.stream)?;
            Ok(Some((capture, captured, lent)))
        });
        let (capture, captured, lent) = begun.flatten()?;
        let (pair, inside) = (lent.pair, inside(capture));
        let call = CapturedCall {
            site,
            sample,
            lanes: Lanes::One(Lane {
                keep: Kept::NONE,
                ..lane.clone()
            }),
            stream: lane.keep.downgrade(),
            parking: lent,
            caller: inside.caller,
            enclosing: inside.enclosing,
            outermost: inside.outermost,
            ended: None,
            work: StatedWork::NONE,
        };
        let at = {
            let mut calls = captured.calls.lock();
            calls.push(call);
            calls.len() - 1
        };
        if at == 0 {
            self.by_age.lock().push_back(Arc::clone(&captured));
        }
        let entry = (Arc::clone(&captured), at);
        let is_alive = |(captured, _): &(Arc<Captured>, usize)| captured.is_alive();
        self.by_event.lock().insert(pair.start, entry, is_alive);
        Some(InGraph {
            captured,
            at,
            capture,
            pair,
        })
    }

    /// What is kept for a capture; made now if this is its first call.
    fn of(&self, capture: u64, graph: Graph) -> Arc<Captured> {
        let mut under_way = self.under_way.lock();
        if let Some(known) = under_way.map.get(&capture).and_then(Weak::upgrade) {
            return known;
        }
        let captured = Arc::new(Captured::new(graph));
        let is_alive = |captured: &Weak<Captured>| captured.strong_count() > 0;
        under_way.insert(capture, Arc::downgrade(&captured), is_alive);
        captured
    }

    /// The captured call of `graph` whose start event this is.
    pub(in crate::gpu) fn find(
        &self,
        graph: Graph,
        start: Event,
    ) -> Option<(Arc<Captured>, usize)> {
        let by_event = self.by_event.lock();
        let (captured, at) = by_event.map.get(&start)?;
        (captured.graph == graph).then(|| (Arc::clone(captured), *at))
    }

    /// Lets the oldest capture in the context go whose graph never became a
    /// [`Graph`](crate::Graph): what becomes one later is not known any more.
    fn forget_oldest(&self, context: &Arc<Context>) {
        let mut by_age = self.by_age.lock();
        let mut known = by_age.iter();
        let oldest = known.position(|one| one.is_unused() && one.is_of(context));
        let oldest = oldest.and_then(|at| by_age.remove(at));
        drop(by_age);
        if let Some(oldest) = oldest {
            self.forget_events(&oldest);
        }
    }

    /// Lets the calls of a capture go, whose graph is gone or will not be launched through gpuprof
    /// again.
    pub(in crate::gpu) fn forget(&self, captured: &Arc<Captured>) {
        let mut by_age = self.by_age.lock();
        by_age.retain(|known| !Arc::ptr_eq(known, captured));
        drop(by_age);
        self.forget_events(captured);
    }

    fn forget_events(&self, captured: &Arc<Captured>) {
        let calls = captured.calls.lock();
        let starts: Vec<_> = calls.iter().map(|call| call.parking.pair.start).collect();
        drop(calls);
        let mut by_event = self.by_event.lock();
        for start in starts {
            let known = by_event.map.get(&start);
            if known.is_some_and(|(known, _)| Arc::ptr_eq(known, captured)) {
                // Not the last reference to the calls: that is the caller's.
                by_event.map.remove(&start);
            }
        }
    }
}

impl Timing {
    /// A call that cannot be timed now: by the replays of the graph that its stream is being
    /// captured to, or not at all.
    #[cold]
    pub(in crate::gpu) fn refused(
        &self,
        thread: &GpuThread,
        open: &Open,
        place: Place,
        outcome: GpuOutcome,
    ) -> State {
        let into_graph = match &open.lanes {
            Lanes::One(lane) if outcome == GpuOutcome::Captured && place.graph => {
                let inside = |capture| thread.inside_capture(capture, lane, place.site);
                let driver = Driver::get();
                self.captures
                    .begin(driver, lane, inside, place.site, place.sample)
            }
            _ => None,
        };
        into_graph.map_or(State::Untimed(outcome), |in_graph| {
            State::InGraph(Box::new(in_graph))
        })
    }
}

/// The position of a call that begins, among the running calls of its thread.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Inside {
    pub(in crate::gpu) caller: Option<usize>,
    pub(in crate::gpu) enclosing: Option<usize>,
    pub(in crate::gpu) outermost: bool,
}
