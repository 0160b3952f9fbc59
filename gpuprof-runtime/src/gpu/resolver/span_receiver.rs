//! The resolver's end of a [`ThreadStream`]: the spans that have come to it and are not resolved.

use std::collections::VecDeque;
use std::rc::Weak;
use std::sync::Arc;
use std::sync::atomic::{
    Ordering::{Acquire, Relaxed},
    fence,
};

use cudarc::driver::CudaContext;

use crate::gpu::events::span::{SpanEnd, SpanStep};
use crate::gpu::events::thread_stream::{RingMessage, ThreadStream};
use crate::gpu::resolver::complete::PendingSpan;
use crate::gpu::stream::context_guard::HeldHandle;
use crate::gpu::timing::NewStream;

/// The resolver's end of a thread's stream.
#[derive(Debug)]
pub(super) struct SpanReceiver {
    pub(super) shared: Arc<ThreadStream>,
    ring: rtrb::Consumer<RingMessage>,
    /// What has come and is not resolved, in the order in which it was recorded.
    pub(super) steps: VecDeque<SpanStep>,
    /// How many of them were there at the look before: most likely passed since. After a look:
    /// those that the GPU has not passed.
    pub(super) older: usize,
    /// Ends that have come, and those of them that are resolved.
    received: u64,
    resolved: u64,
    /// Spans that have come, and those of them that have not ended.
    started: u32,
    open: u32,
    /// Held while spans are open or not resolved.
    held: Option<HeldHandle<CudaContext>>,
    /// Ends resolved since waiters were last told.
    untold: u64,
    pub(super) untold_elsewhere: u64,
    /// Its thread's untimed calls that have begun, at the latest look.
    untimed_begun: u64,
    /// One of them had not ended then.
    is_untimed_open: bool,
    /// The latest look since whose predecessor an untimed call of the thread ran; 0 for none.
    pub(super) untimed_at: u64,
    /// Spans of calls on several streams that are not booked, and whether they ended elsewhere.
    of_calls: Vec<(Weak<PendingSpan>, bool)>,
}

/// The end of a span on another thread than it began on.
#[derive(Debug)]
pub(super) struct EndElsewhere {
    pub(super) end: SpanEnd,
    /// Held until its time is read.
    pub(super) context: Option<HeldHandle<CudaContext>>,
    /// It had come before this look.
    pub(super) is_older: bool,
}

impl EndElsewhere {
    /// One that has come in this look.
    pub(super) fn new(end: SpanEnd, context: HeldHandle<CudaContext>) -> Self {
        Self {
            end,
            context: Some(context),
            is_older: false,
        }
    }

    /// Whether its context is held.
    pub(super) fn is_held(&self) -> bool {
        self.context.as_ref().is_some_and(HeldHandle::is_some)
    }

    pub(super) fn is(&self, step: SpanStep) -> bool {
        matches!(step, SpanStep::End(end) if end.key == self.end.key)
    }
}

/// Ends a look at a stream, and tells its threads what a long record waits for: each other, or the
/// GPU, which has not passed what had come at the look before.
pub(super) fn end_look(sources: &mut [SpanReceiver], has_several_threads: bool) {
    let is_behind = sources.iter().any(|source| source.older > 0);
    let for_threads = has_several_threads && !is_behind;
    for source in sources {
        source.older = source.steps.len();
        let known = &source.shared.waits_for_threads;
        // The line is read for each span, and so not written without need.
        if known.load(Relaxed) != for_threads {
            known.store(for_threads, Relaxed);
        }
    }
}

impl SpanReceiver {
    pub(super) fn new(new: NewStream) -> Self {
        let untimed_begun = new.shared.untimed_before;
        Self {
            shared: new.shared,
            ring: new.ring,
            steps: VecDeque::new(),
            older: 0,
            received: 0,
            resolved: 0,
            started: 0,
            open: 0,
            held: None,
            untold: 0,
            untold_elsewhere: 0,
            untimed_begun,
            is_untimed_open: false,
            untimed_at: 0,
            of_calls: Vec::new(),
        }
    }

    /// Takes what has come at this look. Returns how many ends.
    pub(super) fn receive(&mut self, look: u64) -> u64 {
        let (started, before) = (self.started, self.received);
        while let Ok(message) = self.ring.pop() {
            match message {
                RingMessage::Step(mut step) => {
                    match &mut step {
                        SpanStep::Start(start) => {
                            start.came_at = look;
                            self.started = self.started.wrapping_add(1);
                            self.open += 1;
                        }
                        SpanStep::End(_) => self.received += 1,
                        SpanStep::Cancel(_) => {}
                    }
                    self.steps.push_back(step);
                }
                RingMessage::LargerRing(ring) => self.ring = ring,
            }
        }
        if self.started != started && self.held.is_none() {
            self.held = self.shared.take_handed_over();
        }
        self.received - before
    }

    /// The first step waits no longer.
    pub(super) fn take_step(&mut self) {
        self.steps.pop_front();
        self.older = self.older.saturating_sub(1);
    }

    pub(super) fn poll_untimed(&mut self, look: u64) {
        let (begun, ended) = self.shared.untimed_calls();
        let was_open = std::mem::replace(&mut self.is_untimed_open, begun != ended);
        let has_begun = begun != std::mem::replace(&mut self.untimed_begun, begun);
        if was_open || has_begun {
            self.untimed_at = look;
        }
    }

    pub(super) fn has_news(&self) -> bool {
        !self.ring.is_empty() || !self.shared.elsewhere.is_empty()
    }

    /// Whether an end has come that is not resolved.
    pub(super) fn has_pending(&self) -> bool {
        self.resolved < self.received || !self.of_calls.is_empty()
    }

    /// Whether the context is held, so that it need not be asked whether it lives.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some() && !self.shared.context.is_broken()
    }

    /// An end is resolved.
    pub(super) fn count_resolved(&mut self, is_elsewhere: bool) {
        if is_elsewhere {
            self.untold_elsewhere += 1
        } else {
            self.resolved += 1;
            self.untold += 1;
        }
    }

    /// An end is resolved once the call that it is part of is booked.
    pub(super) fn count_when_booked(&mut self, pending: Weak<PendingSpan>, is_elsewhere: bool) {
        self.of_calls.push((pending, is_elsewhere));
    }

    fn count_booked(&mut self) {
        let mut of_calls = std::mem::take(&mut self.of_calls);
        of_calls.retain(|(pending, is_elsewhere)| {
            let is_booked = pending.strong_count() == 0;
            if is_booked {
                self.count_resolved(*is_elsewhere);
            }
            !is_booked
        });
        self.of_calls = of_calls;
    }

    /// A span is over, one way or the other.
    pub(super) fn count_closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Releases the context if nothing is pending, then tells waiters what is resolved: by then
    /// gpuprof no longer holds the last reference.
    pub(super) fn notify(&mut self) {
        self.count_booked();
        let is_idle = self.open == 0 && !self.has_pending();
        if self.held.is_some() && is_idle && self.shared.may_let_go(self.started) {
            self.held = None;
        }
        if self.untold > 0 {
            self.shared
                .progress
                .resolve(std::mem::take(&mut self.untold));
        }
        if self.untold_elsewhere > 0 {
            let untold = std::mem::take(&mut self.untold_elsewhere);
            self.shared.progress_elsewhere.resolve(untold);
        }
    }

    /// Whether its thread has ended, or keeps the stream no longer, and nothing is left of it.
    pub(super) fn is_over(&self) -> bool {
        if !self.ring.is_abandoned() {
            return false;
        }
        // What the thread sent before it let go of the ring is seen from here on.
        fence(Acquire);
        !self.has_news()
            && self.steps.is_empty()
            && self.open == 0
            && self.of_calls.is_empty()
            && self.held.is_none()
    }
}
