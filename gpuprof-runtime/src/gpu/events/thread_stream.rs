//! One stream as used by one thread: the way of its spans to the resolver, and how the resolver
//! comes to own the context while times are to be read.
//!
//! Threads share no reference count: incrementing one for each span, from every thread, would cost
//! as much as recording an event.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

use crossbeam_queue::SegQueue;
use crossbeam_utils::CachePadded;
use cudarc::driver::CudaContext;
use parking_lot::Mutex;

use crate::driver::handles::Stream;
use crate::gpu::events::handshake::{ContextLease, Progress};
use crate::gpu::events::pair_stock::ReturnedPairs;
use crate::gpu::events::pool::{Context, EventPair};
use crate::gpu::events::span::{SpanEnd, SpanKey, SpanStep};
use crate::gpu::stream::context_guard::HeldHandle;
use crate::stats::thread_counters::ThreadCounters;

/// One stream as used by one thread.
#[derive(Debug)]
pub(crate) struct ThreadStream {
    /// No other one of the process has it.
    pub(in crate::gpu) id: u32,
    pub(in crate::gpu) thread: ThreadId,
    pub(in crate::gpu) stream: Stream,
    pub(in crate::gpu) context: Arc<Context>,
    /// cudarc's owner of the context; `None` where it was met by raw handles. The `Weak` keeps its
    /// address from being used again.
    owner: Option<Weak<CudaContext>>,
    /// The handle says which context it is of, and the context lives as long as the stream is lent
    /// or held: so the driver need not be asked for the current one.
    pub(in crate::gpu) names_context: bool,
    /// A record that takes long waits for other threads: several use the stream, and at the
    /// resolver's latest look the GPU had passed what had come at the look before, so that the
    /// queue is not full.
    pub(in crate::gpu) waits_for_threads: AtomicBool,
    /// Of the spans that ended on the thread; of those that ended or were cancelled elsewhere.
    pub(in crate::gpu) progress: Progress,
    pub(in crate::gpu) progress_elsewhere: Progress,
    /// The thread's counters.
    pub(in crate::gpu) counters: Option<&'static ThreadCounters>,
    /// Untimed calls of the thread that had begun before it used the stream.
    pub(in crate::gpu) untimed_before: u64,
    /// On a cache line of its own: each span writes it, and the resolver reads the fields around it
    /// for each span.
    lease: CachePadded<ContextLease>,
    pub(in crate::gpu) returned: ReturnedPairs,
    /// Handed to the resolver.
    handed_over: Mutex<Option<HeldHandle<CudaContext>>>,
    /// From other threads.
    pub(in crate::gpu) elsewhere: SegQueue<StepElsewhere>,
}

/// What goes through a ring, in the order of the stream.
#[derive(Debug)]
pub(in crate::gpu) enum RingMessage {
    Step(SpanStep),
    /// What follows comes through another ring.
    LargerRing(rtrb::Consumer<RingMessage>),
}

/// What has become of a span, from another thread than it began on.
#[derive(Debug)]
pub(in crate::gpu) enum StepElsewhere {
    /// With what is held until the time is read.
    End(SpanEnd, HeldHandle<CudaContext>),
    Cancel(SpanKey),
}

impl ThreadStream {
    pub(in crate::gpu) fn new(
        id: u32,
        thread: ThreadId,
        stream: Stream,
        context: Arc<Context>,
        owner: Option<Weak<CudaContext>>,
        counters: Option<&'static ThreadCounters>,
    ) -> Self {
        Self {
            id,
            thread,
            stream,
            context,
            names_context: owner.is_some() && !stream.is_of_current_context(),
            owner,
            waits_for_threads: AtomicBool::new(false),
            progress: Progress::default(),
            progress_elsewhere: Progress::default(),
            counters,
            untimed_before: counters.map_or(0, |known| known.untimed_begun.load(Relaxed)),
            lease: CachePadded::new(ContextLease::new()),
            returned: ReturnedPairs::new(),
            handed_over: Mutex::new(None),
            elsewhere: SegQueue::new(),
        }
    }

    /// Whether both are the same stream of the same context.
    #[inline]
    pub(in crate::gpu) fn is_same_stream(&self, other: &Self) -> bool {
        self.stream == other.stream && Arc::ptr_eq(&self.context, &other.context)
    }

    /// Whether both are the same, by the same owner of the context.
    pub(in crate::gpu) fn is_same_use(&self, other: &Self) -> bool {
        let owner = |shared: &Self| shared.owner.as_ref().map(Weak::as_ptr);
        self.is_same_stream(other) && owner(self) == owner(other)
    }

    /// How many untimed calls of the thread have begun and ended.
    pub(in crate::gpu) fn untimed_calls(&self) -> (u64, u64) {
        self.counters.map_or((0, 0), |counters| {
            // An end is read before the beginnings, so that a call may seem open and none is
            // missed.
            let ended = counters.untimed_ended.load(Acquire);
            (counters.untimed_begun.load(Acquire), ended)
        })
    }

    pub(in crate::gpu) fn owner(&self) -> Option<&Weak<CudaContext>> {
        self.owner.as_ref()
    }

    /// Whether cudarc's owner of the context is this one.
    #[inline]
    pub(in crate::gpu) fn is_of(&self, owner: *const CudaContext) -> bool {
        let mine = self.owner.as_ref();
        mine.is_some_and(|mine| mine.as_ptr() == owner)
    }

    /// Whether its context is gone, so that no thread can use it again.
    pub(in crate::gpu) fn is_over(&self) -> bool {
        match &self.owner {
            Some(owner) => owner.strong_count() == 0,
            None => !self.context.is_alive(),
        }
    }

    /// Announces the thread's span of this number, from 1, and leaves the context to the resolver
    /// unless it holds it already. Only for the thread whose this is, before the start event is
    /// recorded. Returns whether the context was handed over for this span.
    #[inline]
    pub(in crate::gpu) fn announce(&self, span: u32) -> bool {
        match &self.owner {
            Some(owner) if self.lease.claim(span) => self.hand_over(owner),
            _ => false,
        }
    }

    #[cold]
    fn hand_over(&self, owner: &Weak<CudaContext>) -> bool {
        match owner.upgrade() {
            Some(owner) => *self.handed_over.lock() = Some(HeldHandle::new(owner)),
            None => self.lease.withdraw(),
        }
        true
    }

    /// A span that was announced after so many does not start.
    #[cold]
    pub(in crate::gpu) fn retract(&self, spans: u32, was_handed_over: bool) {
        self.lease.retract(spans);
        if was_handed_over {
            // Nothing else needs it: the resolver held nothing, so it had everything.
            let unneeded = self.handed_over.lock().take();
            self.lease.withdraw();
            drop(unneeded);
        }
    }

    /// What was handed over since. Only for the resolver.
    pub(in crate::gpu) fn take_handed_over(&self) -> Option<HeldHandle<CudaContext>> {
        self.handed_over.lock().take()
    }

    /// Whether the resolver, which has nothing open or pending and holds the context, may let go of
    /// it. `received`: the spans that have come to it.
    pub(in crate::gpu) fn may_let_go(&self, received: u32) -> bool {
        self.lease.try_release(received)
    }

    /// Gives a pair back whose events are not needed any more: to the thread, unless pairs are
    /// scarce. Only for the resolver.
    pub(in crate::gpu) fn give_back(&self, pair: EventPair) {
        let refused = if self.context.is_short_of_pairs() {
            Err(pair)
        } else {
            self.returned.push(pair)
        };
        if let Err(pair) = refused {
            self.context.return_pair(pair);
        }
    }

    /// Tells the resolver of the end of a span from another thread than it began on.
    #[cold]
    pub(in crate::gpu) fn end_elsewhere(&self, end: SpanEnd) {
        let owner = self.owner.as_ref().and_then(Weak::upgrade);
        self.progress_elsewhere.submit_shared();
        self.elsewhere
            .push(StepElsewhere::End(end, HeldHandle::new(owner)));
    }

    /// The same for a span that will have no end event.
    #[cold]
    pub(in crate::gpu) fn cancel_elsewhere(&self, key: SpanKey) {
        self.progress_elsewhere.submit_shared();
        self.elsewhere.push(StepElsewhere::Cancel(key));
    }
}
