//! How a span's thread and the resolver agree without a lock: when the resolver sleeps, and how
//! long it holds the context that pending spans need.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};

/// Whether the resolver has nothing to do and may be asleep.
///
/// A span looks at the flag after its end is in the ring; the resolver looks at the rings after it
/// has set the flag. There is no fence between the two, which would be a locked instruction in
/// every span: both may see the earlier state, and the resolver then sleeps on until its park times
/// out.
#[derive(Debug)]
pub(in crate::gpu) struct SleepFlag(AtomicBool);

impl SleepFlag {
    pub(in crate::gpu) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// On the resolver's thread: calls `park` unless there is something to do.
    pub(in crate::gpu) fn sleep_unless(
        &self,
        has_work: impl FnOnce() -> bool,
        park: impl FnOnce(),
    ) {
        self.0.store(true, Relaxed);
        if !has_work() {
            park();
        }
        self.0.store(false, Relaxed);
    }

    /// On any other thread, after there is something to do: calls `wake` if the resolver is parked.
    pub(in crate::gpu) fn wake_if_asleep(&self, wake: impl FnOnce()) {
        if self.0.load(Relaxed) {
            wake();
        }
    }
}

/// The resolver does not hold it.
const WITHOUT: u8 = 0;
/// It does, and would let go.
const OFFERED: u8 = 1;
/// It does.
const CLAIMED: u8 = 2;

/// Whether the resolver holds the context that a thread's spans need.
///
/// Before a span's start event is recorded, the thread announces the span, claims the hold, and
/// sends the context if the claim asks for it. The resolver offers the hold back, checks that it
/// has received all that was announced, and releases the context only if no claim has come since.
///
/// The claim is a locked instruction, which waits until the processor has delivered what the driver
/// last wrote to the device. Just before the driver's own locks that wait costs nothing; at a
/// span's end everything after it would come later.
#[derive(Debug)]
pub(in crate::gpu) struct ContextLease {
    state: AtomicU8,
    /// The number of spans announced so far.
    announced: AtomicU32,
}

impl ContextLease {
    pub(in crate::gpu) fn new() -> Self {
        Self {
            state: AtomicU8::new(WITHOUT),
            announced: AtomicU32::new(0),
        }
    }

    /// On the thread, before its span of this number, from 1, starts: whether the context has to go
    /// before it.
    #[inline]
    pub(in crate::gpu) fn claim(&self, span: u32) -> bool {
        self.announced.store(span, Relaxed);
        self.state.swap(CLAIMED, AcqRel) == WITHOUT
    }

    /// On the thread: the span after so many does not start.
    pub(in crate::gpu) fn retract(&self, spans: u32) {
        self.announced.store(spans, Relaxed);
    }

    /// On the thread: there was nothing to hold, or no span that needs it.
    pub(in crate::gpu) fn withdraw(&self) {
        self.state.store(WITHOUT, Release);
    }

    /// On the resolver, which holds it and has nothing open or pending: whether it may let go.
    /// `received`: the spans that have come so far.
    pub(in crate::gpu) fn try_release(&self, received: u32) -> bool {
        // A failure means that it is still offered: no span has claimed it since.
        let _ = self
            .state
            .compare_exchange(CLAIMED, OFFERED, AcqRel, Acquire);
        self.announced.load(Relaxed) == received
            && self
                .state
                .compare_exchange(OFFERED, WITHOUT, AcqRel, Acquire)
                .is_ok()
    }
}

/// How many spans one thread has ended on a stream, and how many of them are resolved.
#[derive(Debug, Default)]
pub(in crate::gpu) struct Progress {
    submitted: CachePadded<AtomicU64>,
    resolved: CachePadded<AtomicU64>,
}

impl Progress {
    /// One more is on its way, or will be in a moment. Only for the thread whose spans they are.
    #[inline]
    pub(in crate::gpu) fn submit(&self) {
        let submitted = self.submitted.load(Relaxed);
        self.submitted.store(submitted + 1, Release);
    }

    /// The same where several threads may do so.
    pub(in crate::gpu) fn submit_shared(&self) {
        self.submitted.fetch_add(1, Release);
    }

    pub(in crate::gpu) fn submitted(&self) -> u64 {
        self.submitted.load(Acquire)
    }

    pub(in crate::gpu) fn resolved(&self) -> u64 {
        self.resolved.load(Acquire)
    }

    pub(in crate::gpu) fn resolve(&self, spans: u64) {
        self.resolved.fetch_add(spans, AcqRel);
    }
}
