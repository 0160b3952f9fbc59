//! Calls of functions marked `graph` that were captured: their two events stand in the graph, and every replay of it
//! records them.
//!
//! The graph itself owns what is kept here, through a user object of the driver's: it goes when the last of the graph, its
//! instances and their launches is gone, whoever destroys these, and only then do the events go back to their pool. Must
//! not import span, collector or report.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use cudarc::driver::CudaStream;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::context::{Context, NoPair, PAIRS_CEILING, Pair, within};
use super::driver::{Driver, Failed};
use super::graph_calls::Attached;
use super::kept::Kept;
use super::lanes::{Lane, Lanes};
use super::open::{GpuThread, Open, State};
use super::sys::{Event, Graph};
use super::timing::{Place, Timing};
use crate::stats::call::{Fate, Work};

/// Most pairs of one context that graphs can have: spans outside always find the other half.
const LENT_CEILING: usize = PAIRS_CEILING / 2;
/// Entries of a map before it is looked through for dead ones.
const PRUNE_FROM: usize = 64;

/// A pair that a graph records, and that goes back to its pool when nothing refers to it any more.
#[derive(Debug)]
pub(crate) struct Lent {
    context: Arc<Context>,
    pub(super) pair: Pair,
    /// A replay that it was not meant for may have recorded it.
    spoilt: AtomicBool,
}

impl Lent {
    /// A pair of the pool; the context is current.
    pub(super) fn take(driver: &Driver, context: &Arc<Context>) -> Result<Arc<Self>, NoPair> {
        if context.in_graphs.fetch_add(1, Relaxed) >= LENT_CEILING {
            context.in_graphs.fetch_sub(1, Relaxed);
            return Err(NoPair::Exhausted);
        }
        let pair = context.take(driver).inspect_err(|_| {
            context.in_graphs.fetch_sub(1, Relaxed);
        })?;
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            pair,
            spoilt: AtomicBool::new(false),
        }))
    }

    pub(super) fn spoil(&self) {
        self.spoilt.store(true, Relaxed);
    }

    pub(super) fn is_spoilt(&self) -> bool {
        self.spoilt.load(Relaxed)
    }
}

impl Drop for Lent {
    // Also on a thread of the driver's, where no driver function may be called.
    fn drop(&mut self) {
        self.context.in_graphs.fetch_sub(1, Relaxed);
        self.context.give(self.pair);
    }
}

/// One call that was captured.
#[derive(Clone, Debug)]
pub(super) struct CapturedCall {
    pub(super) site: u32,
    /// The site's own `sample = N`; 0 or 1 for none.
    pub(super) sample: u32,
    /// One, which keeps neither stream nor context: this is dropped where neither may be destroyed.
    pub(super) lanes: Lanes,
    /// Its stream, where cudarc shares it.
    pub(super) stream: Weak<CudaStream>,
    /// The pair that the graph was made with. No replay is timed by it, so it may stand there at any time.
    pub(super) parking: Arc<Lent>,
    /// The captured call that this one was made from, among those of the same capture.
    pub(super) caller: Option<usize>,
    /// The same on the same stream.
    pub(super) enclosing: Option<usize>,
    /// Whether no call of the same site encloses it.
    pub(super) outermost: bool,
    /// When it ended, among those of the same capture; `None` while it runs, or where its end was not captured.
    pub(super) ended: Option<u32>,
    pub(super) work: Work,
}

/// The calls that one capture has, in the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct Captured {
    calls: Mutex<Vec<CapturedCall>>,
    ended: AtomicU32,
    /// Pairs that the driver would not take out of an executable graph: its launches record them as long as there is one.
    stuck: Mutex<Vec<Arc<Lent>>>,
}

impl Captured {
    pub(super) fn call(&self, at: usize) -> Option<CapturedCall> {
        self.calls.lock().get(at).cloned()
    }

    /// Keeps pairs for as long as anything made from the graph is left.
    pub(super) fn keep(&self, pairs: &[Arc<Lent>]) {
        self.stuck.lock().extend(pairs.iter().cloned());
    }
}

/// A call under way whose start event is in the graph.
#[derive(Clone, Debug)]
pub(super) struct InGraph {
    captured: Arc<Captured>,
    pub(super) at: usize,
    capture: u64,
    pair: Pair,
}

impl InGraph {
    pub(super) fn is_of(&self, capture: u64) -> bool {
        self.capture == capture
    }

    /// Records the end event; returns whether that was possible.
    pub(super) fn end(&self, driver: &Driver, lanes: &Lanes, work: Work) -> bool {
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

/// Runs `f` in the lane's context and in RELAXED capture mode, on the thread that may be capturing. Failures are noted.
fn in_context<R>(driver: &Driver, lane: &Lane, f: impl FnOnce() -> Result<R, Failed>) -> Option<R> {
    let result = driver.relaxed(|| within(driver, lane.context.handle, f).flatten());
    let result = result.flatten();
    result.map_err(|failed| lane.context.note(failed)).ok()
}

/// All captured calls that something is left of.
#[derive(Debug)]
pub(super) struct Captures {
    /// By capture.
    under_way: Mutex<Known<u64, Weak<Captured>>>,
    /// By start event: the events of a graph tell whose they are.
    by_event: Mutex<Known<Event, (Weak<Captured>, usize)>>,
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
    pub(super) fn new() -> Self {
        Self {
            under_way: Mutex::new(Known::new()),
            by_event: Mutex::new(Known::new()),
        }
    }

    /// Whether no captured call is known.
    pub(super) fn is_empty(&self) -> bool {
        self.by_event.lock().map.is_empty()
    }

    /// Records the start event of a call into the graph that the lane is being captured to. `None`: it cannot be timed there.
    pub(super) fn begin(
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
        // One of cudarc's streams that nothing keeps: when the graph is launched it may be gone, and could not be asked whether
        // that launch is captured itself. Whoever lends raw handles has promised that it is not.
        if lane.keep.is_none() && lane.context.is_owned() {
            return None;
        }
        let begun = in_context(driver, lane, || {
            let Some((capture, graph)) = driver.capture(lane.stream)? else {
                return Ok(None);
            };
            let Some(captured) = self.of(driver, capture, graph) else {
                return Ok(None);
            };
            let Ok(lent) = Lent::take(driver, lane.context.shared()) else {
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
                keep: None,
                ..lane.clone()
            }),
            stream: lane.keep.as_ref().map_or_else(Weak::new, Kept::downgrade),
            parking: lent,
            caller: inside.caller,
            enclosing: inside.enclosing,
            outermost: inside.outermost,
            ended: None,
            work: Work::NONE,
        };
        let at = {
            let mut calls = captured.calls.lock();
            calls.push(call);
            calls.len() - 1
        };
        let entry = (Arc::downgrade(&captured), at);
        let is_alive = |(captured, _): &(Weak<Captured>, usize)| captured.strong_count() > 0;
        self.by_event.lock().insert(pair.start, entry, is_alive);
        Some(InGraph {
            captured,
            at,
            capture,
            pair,
        })
    }

    /// What is kept for a capture; made now if this is its first call. Never asks the driver under a lock: the driver
    /// may be destroying another graph's.
    fn of(&self, driver: &Driver, capture: u64, graph: Graph) -> Option<Arc<Captured>> {
        if let Some(known) = self.under_way.lock().map.get(&capture)
            && let Some(known) = known.upgrade()
        {
            return Some(known);
        }
        let captured = Arc::new(Captured::default());
        let owned = Arc::into_raw(Arc::clone(&captured)).cast_mut().cast();
        if let Err(refused) = driver.attach(graph, owned, let_go) {
            if let Attached::Never = refused {
                // SAFETY: the driver did not take it.
                unsafe { let_go(owned) };
            }
            return None;
        }
        let is_alive = |captured: &Weak<Captured>| captured.strong_count() > 0;
        let mut under_way = self.under_way.lock();
        // Another thread may have been quicker: the positions of calls are those in one list.
        if let Some(known) = under_way.map.get(&capture).and_then(Weak::upgrade) {
            return Some(known);
        }
        under_way.insert(capture, Arc::downgrade(&captured), is_alive);
        Some(captured)
    }

    /// The captured call whose start event this is.
    pub(super) fn find(&self, start: Event) -> Option<(Arc<Captured>, usize)> {
        let by_event = self.by_event.lock();
        let (captured, at) = by_event.map.get(&start)?;
        Some((captured.upgrade()?, *at))
    }
}

impl Timing {
    /// A call that cannot be timed now: by the replays of the graph that its stream is being captured to, or not at all.
    #[cold]
    pub(super) fn refused(
        &self,
        thread: &GpuThread,
        open: &Open,
        place: Place,
        fate: Fate,
    ) -> State {
        let into_graph = match &open.lanes {
            Lanes::One(lane) if fate == Fate::Captured && place.graph => {
                let inside = |capture| thread.inside_capture(capture, lane, place.site);
                let driver = Driver::get();
                self.captures
                    .begin(driver, lane, inside, place.site, place.sample)
            }
            _ => None,
        };
        into_graph.map_or(State::Not(fate), State::InGraph)
    }
}

/// Where a call that begins stands among those that are under way on its thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    pub(super) caller: Option<usize>,
    pub(super) enclosing: Option<usize>,
    pub(super) outermost: bool,
}

/// Lets the calls of a capture go.
///
/// # Safety
/// `owned` is from `Arc::<Captured>::into_raw`, and nobody uses it afterwards.
unsafe extern "C" fn let_go(owned: *mut c_void) {
    // SAFETY: passed on to the caller.
    drop(unsafe { Arc::from_raw(owned.cast_const().cast::<Captured>()) });
}
