//! One CUDA context: its pool of events, its device, and whether it still exists.
//!
//! gpuprof owns a context only while spans on it are open, or they or measurements are pending.
//! Otherwise it has `Weak` references to cudarc's owners of the context.

use std::convert::identity;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use crossbeam_queue::ArrayQueue;
use cudarc::driver::CudaContext;
use parking_lot::Mutex;

use crate::driver::current_context::with_current;
use crate::driver::handles::{self, Event};
use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::async_share::AsyncShare;
use crate::gpu::stream::stream_ref::StreamRef;

/// Most event pairs of one context; a call that finds all of them in flight goes untimed and is
/// counted.
pub(in crate::gpu) const PAIRS_CEILING: usize = 16_384;
/// The share of these for pending async calls.
const ASYNC_PAIRS: usize = PAIRS_CEILING / 2;
/// Pairs made at once: by the first span of a context, and later by the resolver.
const BATCH: usize = 32;
/// The resolver makes more when fewer than this are free.
const LOW: usize = 16;

/// The event overhead of a context that nothing has been read from.
const NOT_MEASURED: u64 = u64::MAX;

/// Start and end event of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventPair {
    pub(crate) start: Event,
    pub(crate) end: Event,
}

/// One life of a context: a primary context has the same handle each time it comes to life, and
/// nothing made in the life before may be touched any more. On an H200 (driver 580) that ended in a
/// crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Life {
    handle: handles::Context,
    /// The driver's number for it, which is never used again, where the driver has such numbers.
    id: Option<u64>,
}

impl Life {
    /// That of the stream's context.
    pub(crate) fn of(driver: &Driver, stream: &StreamRef<'_>) -> Result<Self, FailedCall> {
        let handle = match stream.raw_context() {
            handles::Context::NULL => driver.context_of(stream.handle())?,
            context => context,
        };
        let id = driver.context_id(handle);
        Ok(Self { handle, id })
    }

    /// Whether the driver can tell it from another life at the same address.
    pub(in crate::gpu) fn has_number(self) -> bool {
        self.id.is_some()
    }

    /// Whether `self` has ended, as `other` lives in its place.
    pub(in crate::gpu) fn ended_before(self, other: Self) -> bool {
        let differ = self.id.zip(other.id).is_some_and(|(mine, its)| mine != its);
        self.handle == other.handle && differ
    }
}

/// A context and its pool.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: handles::Context,
    life: Life,
    /// A primary one lives on where somebody else holds it, and can be met again under another
    /// owner.
    primary: bool,
    /// Met by raw handles, whose owner has promised that it lasts.
    lent: AtomicBool,
    /// cudarc's owners seen so far; all gone means that the context may be gone.
    owners: Mutex<Vec<Weak<CudaContext>>>,
    pub(crate) device: u32,
    free: ArrayQueue<EventPair>,
    made: AtomicUsize,
    pub(in crate::gpu) async_share: AsyncShare,
    /// A sticky error was met: every further call here would fail.
    broken: AtomicBool,
    /// The least that an empty pair has read here, ns; [`NOT_MEASURED`] at first.
    event_overhead_ns: AtomicU64,
    is_measured: AtomicBool,
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
    pub(in crate::gpu) fn new(
        driver: &Driver,
        life: Life,
        owner: Option<&Arc<CudaContext>>,
    ) -> Result<Self, FailedCall> {
        let handle = life.handle;
        let device = match owner {
            Some(owner) => u32::try_from(owner.ordinal()).unwrap_or(0),
            None => with_current(driver, handle, || driver.device())??
                .0
                .unsigned_abs(),
        };
        Ok(Self {
            handle,
            life,
            primary: owner.is_some_and(|owner| owner.is_primary()),
            lent: AtomicBool::new(owner.is_none()),
            owners: Mutex::new(owner.map(Arc::downgrade).into_iter().collect()),
            device,
            free: ArrayQueue::new(PAIRS_CEILING),
            made: AtomicUsize::new(0),
            async_share: AsyncShare::new(ASYNC_PAIRS),
            broken: AtomicBool::new(false),
            event_overhead_ns: AtomicU64::new(NOT_MEASURED),
            is_measured: AtomicBool::new(false),
        })
    }

    /// Whether any owner gpuprof knows is left, or has promised that it lasts and it works still.
    /// Holds nothing, not even for a moment: to let go of the last owner would tear the user's
    /// context down on this thread.
    pub(crate) fn is_alive(&self) -> bool {
        let is_lent = self.lent.load(Relaxed) && !self.is_broken();
        is_lent || self.owners.lock().iter().any(|one| one.strong_count() > 0)
    }

    /// Holds the context as it is now. `Err` when every owner gpuprof knows is gone.
    pub(crate) fn hold(&self) -> Result<Option<Arc<CudaContext>>, Gone> {
        let held = self.owners.lock().iter().find_map(Weak::upgrade);
        match held {
            None if !self.lent.load(Relaxed) => Err(Gone),
            held => Ok(held),
        }
    }

    /// Whether what was made in it may be touched. `held`: an owner is, and that is all there is to
    /// ask.
    pub(crate) fn check(&self, driver: &Driver, held: bool) -> Result<(), FailedCall> {
        match self.life.id {
            Some(id) if !held => driver.check_life(self.handle, id),
            _ => Ok(()),
        }
    }

    pub(crate) fn life(&self) -> Life {
        self.life
    }

    pub(in crate::gpu) fn belongs_to(&self, owner: &Arc<CudaContext>) -> bool {
        self.owners
            .lock()
            .iter()
            .any(|known| known.as_ptr() == Arc::as_ptr(owner))
    }

    /// Whether it was met by raw handles.
    pub(in crate::gpu) fn is_lent(&self) -> bool {
        self.lent.load(Relaxed)
    }

    /// Notes another owner of the context.
    pub(in crate::gpu) fn add_owner(&self, owner: Option<&Arc<CudaContext>>) {
        let Some(owner) = owner else {
            self.lent.store(true, Relaxed);
            return;
        };
        if !self.belongs_to(owner) {
            let mut owners = self.owners.lock();
            owners.retain(|known| known.strong_count() > 0);
            owners.push(Arc::downgrade(owner));
        }
    }

    /// Whether it may be met again although every owner is gone. Its events are then kept for that:
    /// they cannot be destroyed, as it may have ended, and only its number tells.
    pub(in crate::gpu) fn may_return(&self) -> bool {
        self.primary && self.life.id.is_some()
    }

    #[inline]
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    /// Gives the context up if `failed` says that nothing works here any more.
    pub(crate) fn count_failure(&self, failed: FailedCall) {
        if failed.is_sticky() {
            self.broken.store(true, Relaxed);
        }
    }

    /// Whether its event overhead has been measured once, or is being measured.
    #[inline]
    pub(in crate::gpu) fn is_measured(&self) -> bool {
        self.is_measured.load(Relaxed)
    }

    /// Whether the caller is to measure the event overhead of this context: true once.
    pub(in crate::gpu) fn claim_first_measurement(&self) -> bool {
        !self.is_measured.swap(true, Relaxed)
    }

    /// An empty pair has read `ns` here. Other work on the device lengthens that and nothing
    /// shortens it, so the least is the event overhead.
    pub(in crate::gpu) fn note_event_overhead(&self, ns: u64) {
        self.event_overhead_ns.fetch_min(ns, Relaxed);
    }

    /// The event overhead in ns; `None` before it has been measured.
    pub(crate) fn event_overhead_ns(&self) -> Option<u64> {
        let least = self.event_overhead_ns.load(Relaxed);
        (least != NOT_MEASURED).then_some(least)
    }

    /// Whether no event of it was ever made.
    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        self.made.load(Relaxed) == 0
    }

    /// A pair for a span. Makes a batch on the spot when the pool is empty but not at its bound.
    #[inline]
    pub(crate) fn take(&self, driver: &Driver) -> Result<EventPair, NoPair> {
        if let Some(pair) = self.free.pop() {
            return Ok(pair);
        }
        if self.made.load(Relaxed) >= PAIRS_CEILING {
            return Err(NoPair::Exhausted);
        }
        let make = || {
            // This call's own: other threads may take all that go into the pool.
            let first = self.make_one(driver);
            if matches!(first, Ok(Some(_))) {
                // A failure is counted, and the next call that lacks a pair tries again.
                let _ = self.make(driver, BATCH - 1);
            }
            first
        };
        let made = with_current(driver, self.handle, || driver.relaxed(make))
            .and_then(identity)
            .and_then(identity);
        let lacking = made.map_or(NoPair::Failed, |_| NoPair::Exhausted);
        let first = made.ok().flatten();
        first.or_else(|| self.free.pop()).ok_or(lacking)
    }

    /// Moves up to `count` free pairs to a thread's `stock`.
    pub(in crate::gpu) fn take_free(&self, stock: &mut Vec<EventPair>, count: usize) {
        let free = std::iter::from_fn(|| self.free.pop());
        stock.extend(free.take(count));
    }

    /// Whether so many pairs are made that threads must not keep any for themselves.
    pub(in crate::gpu) fn is_short_of_pairs(&self) -> bool {
        self.made.load(Relaxed) >= PAIRS_CEILING / 2
    }

    /// Puts a pair back. Its events may still be pending: recording an event again is allowed at
    /// any time.
    #[inline]
    pub(crate) fn return_pair(&self, pair: EventPair) {
        // There is room for every pair ever made.
        let _ = self.free.push(pair);
    }

    /// Makes up to `count` pairs; the context is current and the thread in RELAXED capture mode.
    fn make(&self, driver: &Driver, count: usize) -> Result<(), FailedCall> {
        for _ in 0..count {
            let Some(pair) = self.make_one(driver)? else {
                break;
            };
            self.return_pair(pair);
        }
        Ok(())
    }

    /// Makes a pair; the context is current and the thread in RELAXED capture mode. `None`: the
    /// pool is at its bound, or the context is broken.
    fn make_one(&self, driver: &Driver) -> Result<Option<EventPair>, FailedCall> {
        if self.made.fetch_add(1, Relaxed) >= PAIRS_CEILING || self.is_broken() {
            self.made.fetch_sub(1, Relaxed);
            return Ok(None);
        }
        let pair = make_pair(driver).inspect_err(|&failed| {
            self.made.fetch_sub(1, Relaxed);
            self.count_failure(failed);
        })?;
        Ok(Some(pair))
    }

    /// Makes more pairs when few are left; on the resolver's thread. Returns whether they were few.
    pub(crate) fn refill(&self, driver: &Driver) -> bool {
        let made = self.made.load(Relaxed);
        if made == 0 || made >= PAIRS_CEILING || self.free.len() >= LOW || self.is_broken() {
            return false;
        }
        let Ok(held) = self.hold() else { return false };
        if let Err(failed) = self.check(driver, held.is_some()) {
            self.count_failure(failed);
            return false;
        }
        // As many again as there are, so that a burst is caught up with in a few rounds. A failure
        // is counted, and the next round tries again.
        let _ = with_current(driver, self.handle, || self.make(driver, made.max(BATCH)))
            .and_then(identity)
            .map_err(|failed| self.count_failure(failed));
        true
    }
}

/// Every owner of the context is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

fn make_pair(driver: &Driver) -> Result<EventPair, FailedCall> {
    let start = driver.create_event()?;
    match driver.create_event() {
        Ok(end) => Ok(EventPair { start, end }),
        Err(failed) => {
            // If this fails too, it is counted, and one event is lost with the context that refuses
            // it.
            let _ = driver.destroy_event(start);
            Err(failed)
        }
    }
}
