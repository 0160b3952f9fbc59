//! What one thread keeps: where in the call tree it is, its counters, and its part of GPU timing.
//!
//! Two thread-locals: one without a destructor, which can be had at any time in a couple of instructions, and one with, for
//! what must be given back. Only the owning thread writes. Must not import span or report.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;

use crate::collector::collector;
use crate::gpu::GpuThread;
use crate::site::Site;
use crate::stats;
use crate::stats::memory_limit::COUNTER_MEMORY;
use crate::stats::path_counters::{PathCounters, WriterEpoch};
use crate::stats::path_ids::ROOT;
use crate::stats::thread_counters::ThreadCounters;
use crate::sync::AtomicU64;

thread_local! {
    static THREAD: ThreadState = const { ThreadState::new() };
    static EXIT_GUARD: ThreadExitGuard = ThreadExitGuard { gpu: RefCell::new(GpuThread::new()) };
}

/// Nodes that a thread finds without a lock: one for each of these many (parent, site) pairs, the last one met. What a
/// program spends its time in is far less.
const CACHE_SLOTS: usize = 64;

/// Where a thread is in the call tree.
#[derive(Debug)]
pub(crate) struct ThreadState {
    /// `None` before the first span and after the thread has handed its counters on.
    shared: Cell<Option<&'static ThreadCounters>>,
    /// The thread's number as [`WriterEpoch::owner`] makes it; 0 while `shared` is `None`.
    owner: Cell<u64>,
    pub(crate) position: Cell<Position>,
    /// Nanoseconds that spans inside the current one have taken so far.
    pub(crate) nested: Cell<u64>,
    /// Whether something is open that spans inside could inherit a stream from.
    pub(crate) has_gpu: Cell<bool>,
    cache: [Cell<CachedNode>; CACHE_SLOTS],
}

/// The innermost open span. In one word, as it is stored and loaded again within nanoseconds: two halves stored apart and
/// loaded together would cost as much as half a clock read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position(u64);

impl Position {
    /// Outside every span.
    pub(crate) const OUTSIDE: Self = Self(ROOT as u64);

    /// One level below this, at `path`.
    #[inline]
    pub(crate) fn below(self, path: u32) -> Self {
        Self((self.0 >> 32).wrapping_add(1) << 32 | u64::from(path))
    }

    /// Its path in the call tree.
    #[inline]
    pub(crate) fn path(self) -> u32 {
        self.0 as u32
    }

    /// How many spans are open.
    #[inline]
    pub(crate) fn depth(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A node, and what it is found by.
#[derive(Clone, Copy, Debug)]
struct CachedNode {
    key: u64,
    node: Option<&'static PathCounters>,
}

impl CachedNode {
    const NONE: Self = Self {
        key: u64::MAX,
        node: None,
    };
}

/// Why a call finds no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeError {
    /// The thread is taking its thread-locals down.
    ThreadEnded,
    /// There are too many paths, or counters.
    LimitReached,
}

/// What the thread gives back when it ends.
#[derive(Debug)]
struct ThreadExitGuard {
    gpu: RefCell<GpuThread>,
}

impl Drop for ThreadExitGuard {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.owner.set(0);
            if let Some(shared) = thread.shared.take() {
                collector().detach_thread(shared);
            }
        });
    }
}

/// Runs `f` on this thread's state.
#[inline]
pub(crate) fn with_thread<R>(f: impl FnOnce(&ThreadState) -> R) -> R {
    THREAD.with(f)
}

/// Runs `f` on this thread's GPU state; `None` when the thread is taking its thread-locals down, or `f` would run inside of
/// itself, which only a broken nesting does.
#[inline]
pub(crate) fn with_gpu<R>(f: impl FnOnce(&mut GpuThread) -> R) -> Option<R> {
    let run = |guard: &ThreadExitGuard| {
        let mut gpu = guard.gpu.try_borrow_mut().ok()?;
        let result = f(&mut gpu);
        with_thread(|thread| thread.has_gpu.set(gpu.has_open()));
        Some(result)
    };
    EXIT_GUARD.try_with(run).ok().flatten()
}

impl ThreadState {
    const fn new() -> Self {
        Self {
            shared: Cell::new(None),
            owner: Cell::new(0),
            position: Cell::new(Position::OUTSIDE),
            nested: Cell::new(0),
            has_gpu: Cell::new(false),
            cache: [const { Cell::new(CachedNode::NONE) }; CACHE_SLOTS],
        }
    }

    /// The node of `site` called from `parent`.
    #[inline]
    pub(crate) fn node(
        &self,
        parent: u32,
        site: &Site,
    ) -> Result<&'static PathCounters, NodeError> {
        let id = site.number();
        // Neighbouring sites and neighbouring parents stay apart.
        let slot = (parent.wrapping_mul(11) ^ id) as usize % CACHE_SLOTS;
        if let Some(cell) = self.cache.get(slot) {
            let cached = cell.get();
            if cached.key == key(parent, id)
                && let Some(node) = cached.node
            {
                return Ok(node);
            }
            return self.find(cell, parent, site);
        }
        Err(NodeError::LimitReached)
    }

    #[cold]
    #[inline(never)]
    fn find(
        &self,
        cell: &Cell<CachedNode>,
        parent: u32,
        site: &Site,
    ) -> Result<&'static PathCounters, NodeError> {
        let id = site.id().ok_or(NodeError::LimitReached)?;
        let shared = self.shared().ok_or(NodeError::ThreadEnded)?;
        let (paths, is_async) = (&collector().paths, site.meta.is_async);
        let node = shared
            .node(paths, &COUNTER_MEMORY, parent, id, is_async)
            .ok_or(NodeError::LimitReached)?;
        cell.set(CachedNode {
            key: key(parent, id),
            node: Some(node),
        });
        Ok(node)
    }

    /// The thread's counters; taken over now if this is its first span.
    pub(crate) fn shared(&self) -> Option<&'static ThreadCounters> {
        if let Some(shared) = self.shared.get() {
            return Some(shared);
        }
        // From here on they are given back.
        EXIT_GUARD.try_with(|_| ()).ok()?;
        let (shared, number) = collector().attach_thread();
        self.shared.set(Some(shared));
        self.owner.set(WriterEpoch::owner(number));
        Some(shared)
    }

    /// What this thread books under now.
    #[inline]
    pub(crate) fn writer(&self) -> WriterEpoch {
        WriterEpoch::new(self.owner.get(), stats::epoch())
    }

    /// Adds to a counter that only this thread writes.
    pub(crate) fn count(&self, counter: impl FnOnce(&ThreadCounters) -> &AtomicU64, more: u64) {
        if let Some(shared) = self.shared.get() {
            let counter = counter(shared);
            counter.store(counter.load(Relaxed) + more, Relaxed);
        }
    }
}

#[inline]
fn key(parent: u32, site: u32) -> u64 {
    u64::from(parent) << 32 | u64::from(site)
}
