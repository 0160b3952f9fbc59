//! The state of one thread: its position in the call tree, its counters, and its part of GPU
//! timing.
//!
//! There are two thread-locals: one without a destructor, which is available at any time at the
//! cost of a few instructions, and one with a destructor, for what must be returned when the thread
//! ends. Only the owning thread writes.

pub(crate) mod current_span;

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;

use super::call_in_progress::NamedPosition;
use super::deferred_streams::DeferredStreams;
use super::node_cache::NodeCache;
use super::position::{ParentPosition, TreePosition};
use super::thread_sampling::ThreadSampling;
use super::time_line::ThreadRecorder;
use crate::clock;
use crate::collector::{collector, has_default_stream};
use crate::gpu::frame_stack::FrameToken;
use crate::gpu::{GpuThread, StreamRef};
use crate::os::fork;
use crate::os::own_work::OwnWork;
use crate::site::Site;
use crate::site::labels::LabelNumber;
use crate::stats::memory_limit::COUNTER_MEMORY;
use crate::stats::path_counters::PathCounters;
use crate::stats::path_ids::PathKey;
use crate::stats::sampling_decisions::CallRate;
use crate::stats::thread_counters::ThreadCounters;
use crate::stats::window_epoch::{self, WriterEpoch};
use crate::sync::AtomicU64;

thread_local! {
    static THREAD: ThreadState = const { ThreadState::new() };
    static EXIT_GUARD: ThreadExitGuard = ThreadExitGuard {
        streams: RefCell::new(ThreadStreams {
            deferred: DeferredStreams::default(),
            gpu: GpuThread::new(),
        }),
        recorder: const { RefCell::new(ThreadRecorder::new()) },
        named: const { RefCell::new(None) },
    };
}

/// See the module.
#[derive(Debug)]
pub(crate) struct ThreadState {
    /// `None` before the first span and after the thread has detached from its counters.
    counters: Cell<Option<&'static ThreadCounters>>,
    /// The thread's number as [`WriterEpoch::owner`] makes it; 0 while `counters` is `None`.
    owner: Cell<u64>,
    position: Cell<TreePosition>,
    /// Time that the spans nested in the current one have taken so far.
    nested_ticks: Cell<u64>,
    /// Whether a frame is open that a span could inherit a stream from.
    has_gpu: Cell<bool>,
    pub(super) sampling: ThreadSampling,
    /// The depth of the guard's `named`, or 0.
    named_depth: Cell<u32>,
    nodes: NodeCache,
}

/// Why a call cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeError {
    /// The thread is ending and has detached from its counters.
    ThreadEnded,
    /// There are too many call paths, or the counters take too much memory.
    LimitReached,
}

/// Returns what the thread holds when it ends.
#[derive(Debug)]
struct ThreadExitGuard {
    streams: RefCell<ThreadStreams>,
    recorder: RefCell<ThreadRecorder>,
    named: RefCell<Option<NamedPosition>>,
}

/// A thread's part of GPU timing, and the default streams that are not part of it yet.
#[derive(Debug)]
struct ThreadStreams {
    deferred: DeferredStreams,
    gpu: GpuThread,
}

impl ThreadStreams {
    /// Whether a span without a stream of its own could inherit one.
    #[inline]
    fn has_any(&self) -> bool {
        self.gpu.has_open() || self.deferred.is_waiting()
    }
}

impl Drop for ThreadExitGuard {
    fn drop(&mut self) {
        let _own = OwnWork::begin();
        THREAD.with(|thread| {
            thread.owner.set(0);
            thread.sampling.set_outermost(None);
            // The next owner writes the nodes: no span may find one here any more.
            thread.nodes.clear();
            if let Some(counters) = thread.counters.take() {
                // A span that is still open does not count its end.
                let begun = counters.untimed_begun.load(Relaxed);
                counters.untimed_ended.store(begun, Relaxed);
                collector().detach_thread(counters);
            }
        });
    }
}

/// Makes the spans that are open on this thread do nothing when they end. To be called once, in a
/// forked child; it takes no lock.
pub(crate) fn forget_in_forked_child() {
    let is_unused = THREAD.with(|thread| {
        let is_unused = thread.counters.get().is_none() && !thread.has_gpu.get();
        // Nothing is recorded without an owner.
        thread.owner.set(0);
        thread.counters.set(None);
        thread.has_gpu.set(false);
        thread.nodes.clear();
        is_unused
    });
    // To ask for state that the thread does not have would make it, which allocates.
    if is_unused {
        return;
    }
    // What the thread holds would be returned to pools when it ends. If the state is in use, that
    // is further up this thread's stack.
    let forget = |guard: &ThreadExitGuard| {
        if let Ok(mut streams) = guard.streams.try_borrow_mut() {
            std::mem::forget(std::mem::replace(&mut streams.gpu, GpuThread::new()));
            std::mem::forget(std::mem::take(&mut streams.deferred));
        }
        if let Ok(mut recorder) = guard.recorder.try_borrow_mut() {
            std::mem::forget(std::mem::replace(&mut *recorder, ThreadRecorder::new()));
        }
    };
    let _ = EXIT_GUARD.try_with(forget);
}

/// Runs `f` on this thread's state.
#[inline]
pub(super) fn with_thread<R>(f: impl FnOnce(&ThreadState) -> R) -> R {
    THREAD.with(f)
}

/// Makes this thread's counters, so that they outlast thread-locals that are made from now on:
/// calls that end with these are counted.
#[cfg(any(feature = "tracing", feature = "inject"))]
pub(crate) fn prepare_thread() {
    with_thread(|thread| thread.counters().is_some());
}

impl ThreadState {
    const fn new() -> Self {
        Self {
            counters: Cell::new(None),
            owner: Cell::new(0),
            position: Cell::new(TreePosition::OUTSIDE),
            nested_ticks: Cell::new(0),
            has_gpu: Cell::new(false),
            sampling: ThreadSampling::new(),
            named_depth: Cell::new(0),
            nodes: NodeCache::new(),
        }
    }

    /// The path of the innermost open span.
    #[inline]
    pub(super) fn path(&self) -> u32 {
        self.position.get().path()
    }

    /// Moves one level deeper, to `path`.
    #[inline]
    pub(super) fn enter(&self, path: u32) -> ParentPosition {
        let position = self.position.get();
        self.position.set(position.deeper(path));
        ParentPosition {
            position,
            nested_ticks: self.nested_ticks.replace(0),
        }
    }

    /// Moves back after `took_ticks`. Returns the part of it that nested spans took.
    pub(super) fn leave(&self, to: ParentPosition, took_ticks: u64) -> u64 {
        self.leave_in_order(to, took_ticks)
            .unwrap_or_else(|| self.leave_out_of_order(to, took_ticks))
    }

    /// The same if the innermost span ends. `None`: another one does, and nothing has changed.
    #[inline]
    pub(super) fn leave_in_order(&self, to: ParentPosition, took_ticks: u64) -> Option<u64> {
        let is_innermost = self.position.get().is_right_inside(to.position);
        is_innermost.then(|| self.set_left(to, took_ticks))
    }

    /// The same if another span than the innermost ends.
    #[cold]
    pub(super) fn leave_out_of_order(&self, to: ParentPosition, took_ticks: u64) -> u64 {
        self.count(|counters| &counters.misnested, 1);
        // An enclosing span has already ended and left to a position further out than this one.
        if self.position.get().depth() <= to.position.depth() {
            return 0;
        }
        self.set_left(to, took_ticks)
    }

    #[inline]
    fn set_left(&self, to: ParentPosition, took_ticks: u64) -> u64 {
        self.position.set(to.position);
        let nested_ticks = self.nested_ticks.replace(to.nested_ticks + took_ticks);
        nested_ticks.min(took_ticks)
    }

    /// Whether a span without a stream of its own could inherit one.
    #[inline]
    pub(super) fn may_inherit_stream(&self) -> bool {
        self.has_gpu.get() || self.is_left_out() || has_default_stream()
    }

    /// Whether sampling left out a span around this.
    #[inline]
    pub(super) fn is_left_out(&self) -> bool {
        self.position.get().is_left_out()
    }

    /// Sampling leaves out the innermost open span, and what is inside it, or it does not.
    #[inline]
    pub(super) fn set_left_out(&self, is_left_out: bool) {
        self.position
            .set(self.position.get().with_left_out(is_left_out));
    }

    /// At what rate sampling takes a call of `site` that begins on `node`.
    #[inline(always)]
    pub(super) fn rate(&self, site: &Site, node: &'static PathCounters) -> CallRate {
        let (counters, is_outermost) = (self.counters.get(), self.is_outside());
        self.sampling
            .rate(site, node, self.writer(), counters, is_outermost)
    }

    /// Whether sampling has decided on no call around one that begins now.
    #[inline]
    pub(super) fn is_outside(&self) -> bool {
        !self.sampling.decisions.is_inside() && !self.is_left_out()
    }

    /// One call with a stream begins that is not timed on the GPU, or one poll of such a future.
    pub(super) fn begin_untimed(&self) {
        self.count(|counters| &counters.untimed_begun, 1);
    }

    /// How many of these have begun.
    pub(super) fn untimed_begun(&self) -> u64 {
        let counters = self.counters.get();
        counters.map_or(0, |counters| counters.untimed_begun.load(Relaxed))
    }

    /// It ends.
    pub(super) fn end_untimed(&self) {
        self.count(|counters| &counters.untimed_ended, 1);
    }

    /// Runs `f` on the thread's GPU state. `None`: the thread is ending, or `f` would run inside
    /// itself, which only broken nesting can cause.
    #[inline]
    pub(super) fn with_gpu<R>(&self, f: impl FnOnce(&mut GpuThread) -> R) -> Option<R> {
        if fork::is_child() {
            return None;
        }
        let _own = OwnWork::begin();
        let run = |guard: &ThreadExitGuard| {
            let streams = &mut *guard.streams.try_borrow_mut().ok()?;
            if streams.deferred.is_waiting() {
                streams.deferred.set(&mut streams.gpu);
            }
            streams.gpu.set_counters(self.counters.get());
            let result = f(&mut streams.gpu);
            self.has_gpu.set(streams.has_any());
            let around = streams.gpu.decision_around();
            self.sampling.decisions.set_around(around);
            Some(result)
        };
        EXIT_GUARD.try_with(run).ok().flatten()
    }

    /// Has `stream` become the default when GPU times are measured. Returns its number, or `None`
    /// if the thread is ending.
    pub(super) fn defer(&self, stream: &StreamRef<'_>) -> Option<u64> {
        let _own = OwnWork::begin();
        let push = |guard: &ThreadExitGuard| {
            let number = guard.streams.try_borrow_mut().ok()?.deferred.push(stream);
            // So that a span without a stream of its own looks for one.
            self.has_gpu.set(true);
            Some(number)
        };
        EXIT_GUARD.try_with(push).ok().flatten()
    }

    /// Removes the default stream of this number and returns its frame, if it was set.
    pub(super) fn take_deferred(&self, number: u64) -> Option<FrameToken> {
        let _own = OwnWork::begin();
        let take = |guard: &ThreadExitGuard| {
            let mut streams = guard.streams.try_borrow_mut().ok()?;
            let frame = streams.deferred.take(number);
            self.has_gpu.set(streams.has_any());
            frame
        };
        EXIT_GUARD.try_with(take).ok().flatten()
    }

    /// The node of `site` called with a label from the path `parent`.
    #[inline]
    pub(super) fn node(
        &self,
        parent: u32,
        site: &Site,
        label: LabelNumber,
    ) -> Result<&'static PathCounters, NodeError> {
        let key = PathKey::new(parent, site.number(), label);
        match self.nodes.get(key) {
            Some(node) => Ok(node),
            None => self.find_node(key, site).ok_or_else(|| self.node_error()),
        }
    }

    #[cold]
    fn node_error(&self) -> NodeError {
        match self.counters.get() {
            Some(_) => NodeError::LimitReached,
            None => NodeError::ThreadEnded,
        }
    }

    #[cold]
    #[inline(never)]
    fn find_node(&self, key: PathKey, site: &Site) -> Option<&'static PathCounters> {
        let _own = OwnWork::begin();
        let counters = self.counters()?;
        site.id()?;
        let (paths, is_async) = (&collector().paths, site.meta.is_async);
        let node = counters.node(paths, &COUNTER_MEMORY, key, is_async)?;
        self.nodes.insert(key, node);
        Some(node)
    }

    /// The thread's counters, attached now if this is its first span. `None`: the thread is ending.
    pub(super) fn counters(&self) -> Option<&'static ThreadCounters> {
        if let Some(counters) = self.counters.get() {
            return Some(counters);
        }
        if fork::is_child() {
            return None;
        }
        let _own = OwnWork::begin();
        // Makes the guard, whose destructor detaches them.
        EXIT_GUARD.try_with(|_| ()).ok()?;
        let (counters, number) = collector().attach_thread();
        counters.spent.begin_thread(clock::rough_ns(clock::now()));
        self.counters.set(Some(counters));
        self.owner.set(WriterEpoch::owner(number));
        Some(counters)
    }

    /// This thread as the writer of a record in the current window.
    #[inline]
    pub(super) fn writer(&self) -> WriterEpoch {
        WriterEpoch::new(self.owner.get(), window_epoch::current())
    }

    /// Runs `f` on the thread's part of the recorder. `None`: the thread is ending, or this is a
    /// forked child.
    #[inline]
    pub(super) fn with_recorder<R>(&self, f: impl FnOnce(&mut ThreadRecorder) -> R) -> Option<R> {
        if fork::is_child() {
            return None;
        }
        let _own = OwnWork::begin();
        let run = |guard: &ThreadExitGuard| Some(f(&mut *guard.recorder.try_borrow_mut().ok()?));
        EXIT_GUARD.try_with(run).ok().flatten()
    }

    /// Adds to a counter that only this thread writes.
    pub(super) fn count(&self, counter: impl FnOnce(&ThreadCounters) -> &AtomicU64, more: u64) {
        if let Some(counters) = self.counters.get() {
            let counter = counter(counters);
            counter.store(counter.load(Relaxed) + more, Relaxed);
        }
    }
}
