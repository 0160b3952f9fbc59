//! One CUDA context as gpuprof sees it: its pool of events, its device, and whether it is still there.
//!
//! gpuprof holds a context only while samples of it are pending; the pool itself hangs on a `Weak`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use cudarc::driver::CudaContext;
use parking_lot::Mutex;

use super::driver::{Driver, Failed};
use super::stream::StreamRef;
use super::sys::{self, Event};

/// Most event pairs of one context; a call that finds all of them in flight goes untimed and is counted.
pub(super) const PAIRS_CEILING: usize = 16_384;
/// Pairs made at once: by the first span of a context, and later by the resolver.
const BATCH: usize = 32;
/// The resolver makes more when fewer than this are free.
const LOW: usize = 16;

/// Start and end event of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) start: Event,
    pub(crate) end: Event,
}

/// A context and its pool.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: sys::Context,
    /// The driver's number for it, which is never used again, where the driver has such numbers.
    id: Option<u64>,
    /// cudarc's owners seen so far; all gone means that the context may be gone. Empty for raw handles.
    owners: Mutex<Vec<Weak<CudaContext>>>,
    pub(crate) device: u32,
    free: ArrayQueue<Pair>,
    made: AtomicUsize,
    /// Pairs that graphs have: those that stand in one, and those of replays under way.
    pub(super) lent: AtomicUsize,
    /// A sticky error was met: every further call here would fail.
    broken: AtomicBool,
    /// What an empty pair reads here, ns; set by the resolver.
    pub(crate) floor_ns: OnceLock<u64>,
}

/// Why a span got no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPair {
    /// All are in flight.
    Exhausted,
    /// The driver would not make one.
    Failed,
}

impl Context {
    fn new(
        driver: &Driver,
        handle: sys::Context,
        owner: Option<&Arc<CudaContext>>,
    ) -> Result<Self, Failed> {
        let device = match owner {
            Some(owner) => u32::try_from(owner.ordinal()).unwrap_or(0),
            None => within(driver, handle, || driver.device())??
                .0
                .unsigned_abs(),
        };
        Ok(Self {
            handle,
            id: driver.context_id(handle),
            owners: Mutex::new(owner.map(Arc::downgrade).into_iter().collect()),
            device,
            free: ArrayQueue::new(PAIRS_CEILING),
            made: AtomicUsize::new(0),
            lent: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            floor_ns: OnceLock::new(),
        })
    }

    /// Whether any owner gpuprof knows is left; raw handles have none to ask. Holds nothing, not even for a moment: to let
    /// go of the last owner would tear the user's context down on this thread.
    pub(crate) fn is_alive(&self) -> bool {
        let owners = self.owners.lock();
        owners.is_empty() || owners.iter().any(|owner| owner.strong_count() > 0)
    }

    /// Holds the context as it is now. `Err` when every owner gpuprof knows is gone.
    pub(crate) fn hold(&self) -> Result<Option<Arc<CudaContext>>, Gone> {
        let owners = self.owners.lock();
        match owners.is_empty() {
            true => Ok(None),
            false => owners.iter().find_map(Weak::upgrade).map(Some).ok_or(Gone),
        }
    }

    fn belongs_to(&self, owner: &Arc<CudaContext>) -> bool {
        self.owners
            .lock()
            .iter()
            .any(|known| known.as_ptr() == Arc::as_ptr(owner))
    }

    fn add_owner(&self, owner: &Arc<CudaContext>) {
        let mut owners = self.owners.lock();
        owners.retain(|known| known.strong_count() > 0);
        owners.push(Arc::downgrade(owner));
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    /// Gives the context up if `failed` says that nothing works here any more.
    pub(crate) fn note(&self, failed: Failed) {
        if failed.is_sticky() {
            self.broken.store(true, Relaxed);
        }
    }

    /// Whether no event of it was ever made.
    pub(crate) fn is_fresh(&self) -> bool {
        self.made.load(Relaxed) == 0
    }

    /// A pair for a span; the context is current. Makes a batch on the spot when the pool is empty but not at its bound.
    pub(crate) fn take(&self, driver: &Driver) -> Result<Pair, NoPair> {
        if let Some(pair) = self.free.pop() {
            return Ok(pair);
        }
        if self.made.load(Relaxed) >= PAIRS_CEILING {
            return Err(NoPair::Exhausted);
        }
        let made = driver.relaxed(|| self.make(driver, BATCH));
        // Other threads may have taken all that were made.
        let lacking = made.map_or(NoPair::Failed, |()| NoPair::Exhausted);
        self.free.pop().ok_or(lacking)
    }

    /// Puts a pair back. Its events may still be pending: recording an event again is allowed at any time.
    pub(crate) fn give(&self, pair: Pair) {
        // There is room for every pair ever made.
        let _ = self.free.push(pair);
    }

    /// Makes up to `count` pairs; the context is current and the thread in RELAXED capture mode.
    fn make(&self, driver: &Driver, count: usize) -> Result<(), Failed> {
        for _ in 0..count {
            if self.made.fetch_add(1, Relaxed) >= PAIRS_CEILING || self.is_broken() {
                self.made.fetch_sub(1, Relaxed);
                break;
            }
            let pair = make_pair(driver).inspect_err(|&failed| {
                self.made.fetch_sub(1, Relaxed);
                self.note(failed);
            })?;
            self.give(pair);
        }
        Ok(())
    }

    /// Makes more pairs when few are left; on the resolver's thread.
    pub(crate) fn refill(&self, driver: &Driver) {
        let made = self.made.load(Relaxed);
        if made == 0 || made >= PAIRS_CEILING || self.free.len() >= LOW || self.is_broken() {
            return;
        }
        let Ok(_held) = self.hold() else { return };
        // As many again as there are, so that a burst is caught up with in a few rounds. A failure is counted, and the
        // next round tries again.
        let _ = within(driver, self.handle, || self.make(driver, made.max(BATCH)))
            .flatten()
            .map_err(|failed| self.note(failed));
    }
}

/// Every owner of the context is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

fn make_pair(driver: &Driver) -> Result<Pair, Failed> {
    let start = driver.create_event()?;
    match driver.create_event() {
        Ok(end) => Ok(Pair { start, end }),
        Err(failed) => {
            // If this fails too, it is counted, and one event is lost with the context that refuses it.
            let _ = driver.destroy_event(start);
            Err(failed)
        }
    }
}

/// Runs `f` with `context` current, pushed and popped again where it is not: the thread's own choice stays as it is.
/// `Err`: it could not be made current, so `f` did not run; in another context it would make events that fit nowhere.
pub(crate) fn within<R>(
    driver: &Driver,
    context: sys::Context,
    f: impl FnOnce() -> R,
) -> Result<R, Failed> {
    if driver.current() == Ok(context) {
        return Ok(f());
    }
    driver.push(context)?;
    let result = f();
    // A failure is counted; the thread then keeps a current context it did not have.
    let _ = driver.pop();
    Ok(result)
}

/// The contexts of the process, as spans meet them.
#[derive(Debug)]
pub(crate) struct Contexts {
    known: Mutex<Vec<Arc<Context>>>,
    /// New ones for the resolver, which must not wait for the lock.
    new: Mutex<Vec<Arc<Context>>>,
}

impl Contexts {
    pub(crate) const fn new() -> Self {
        Self {
            known: Mutex::new(Vec::new()),
            new: Mutex::new(Vec::new()),
        }
    }

    /// The context of `stream`, met now if it never was.
    pub(crate) fn of(
        &self,
        driver: &Driver,
        stream: &StreamRef<'_>,
    ) -> Result<Arc<Context>, Failed> {
        let handle = match stream.raw_context() {
            sys::Context::NULL => driver.context_of(stream.handle())?,
            context => context,
        };
        let id = driver.context_id(handle);
        if let Some(found) = self.find(handle, id, stream) {
            return Ok(found);
        }
        // Not under the lock: a driver that hangs must hang nobody else.
        let context = Arc::new(Context::new(driver, handle, stream.context())?);
        if let Some(found) = self.find(handle, id, stream) {
            return Ok(found);
        }
        self.known.lock().push(Arc::clone(&context));
        self.new.lock().push(Arc::clone(&context));
        Ok(context)
    }

    fn find(
        &self,
        handle: sys::Context,
        id: Option<u64>,
        stream: &StreamRef<'_>,
    ) -> Option<Arc<Context>> {
        let mut known = self.known.lock();
        // A context whose owners are gone is forgotten here, and its events with it.
        known.retain(|context| context.is_alive());
        let same = |context: &&Arc<Context>| context.handle == handle && context.id == id;
        // Without the driver's numbers two lives of one address look alike: then cudarc's owner tells them apart.
        let known_owner = |context: &&Arc<Context>| match stream.context() {
            Some(owner) => context.belongs_to(owner),
            None => context.owners.lock().is_empty(),
        };
        let found = known
            .iter()
            .find(|context| same(context) && (id.is_some() || known_owner(context)))?;
        if let Some(owner) = stream.context().filter(|owner| !found.belongs_to(owner)) {
            found.add_owner(owner);
        }
        Some(Arc::clone(found))
    }

    /// Contexts the resolver has not met yet. Never waits.
    pub(crate) fn take_new(&self) -> Vec<Arc<Context>> {
        self.new
            .try_lock()
            .map(|new| new.clone())
            .unwrap_or_default()
    }

    /// Takes a context off that list, once the resolver has done with it what it does at first.
    pub(crate) fn met(&self, context: &Arc<Context>) {
        self.new.lock().retain(|new| !Arc::ptr_eq(new, context));
    }

    /// Whether the resolver has yet to meet one.
    pub(crate) fn has_new(&self) -> bool {
        self.new.try_lock().is_none_or(|new| !new.is_empty())
    }

    /// The largest event floor measured so far, ns.
    pub(crate) fn floor_ns(&self, limit: Duration) -> Option<u64> {
        let known = self.known.try_lock_for(limit)?;
        let floors = known.iter().filter_map(|context| context.floor_ns.get());
        floors.copied().max()
    }
}
