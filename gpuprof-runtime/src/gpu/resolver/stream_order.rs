//! One stream at the resolver: puts what its threads have recorded there in the order of the
//! stream, and resolves the spans whose end the GPU has passed.
//!
//! What one thread records on a stream is in order. Where several threads use it, the GPU's own
//! times say in which order their events are; the resolver then takes an event one look after it
//! came, so that none is missing that was recorded before it and came a moment later.

use std::rc::Rc;
use std::sync::Arc;

use crate::driver::current_context::with_current;
use crate::driver::handles::{self, Event};
use crate::driver::table::{Driver, FailedCall, NOT_READY};
use crate::gpu::events::pool::EventPair;
use crate::gpu::events::span::{SpanEnd, SpanKey, SpanStart, SpanStep};
use crate::gpu::events::thread_stream::StepElsewhere;
use crate::gpu::resolver::complete::{self, EndedGpuSpan, PendingSpan, ResolverShared, SpanOfCall};
use crate::gpu::resolver::event_times::{self, EndedPair, HeldPair, duration};
use crate::gpu::resolver::open_spans::OpenSpans;
use crate::gpu::resolver::passed::{self, Next};
use crate::gpu::resolver::span_receiver::{self, EndElsewhere, SpanReceiver};
use crate::gpu::timing::NewStream;

/// An event that lies further than this before the latest one is late.
const LATE_NS: i64 = 1_000;

/// One stream, as all of its threads use it.
#[derive(Debug, Default)]
pub(super) struct StreamOrder {
    sources: Vec<SpanReceiver>,
    elsewhere: Vec<EndElsewhere>,
    /// Spans that another thread has cancelled.
    cancelled: Vec<SpanKey>,
    open: OpenSpans,
    /// The latest event in the stream's order, while several spans share the time after it.
    latest: Option<Latest>,
    /// More than one thread has used the stream.
    has_several_threads: bool,
    /// The resolver's latest look; 0 before the first one at this stream.
    look: u64,
    /// [`SpanReceiver::untimed_at`] of threads that use the stream no longer: the latest.
    untimed_at: u64,
}

#[derive(Debug)]
struct Latest {
    event: Event,
    /// What is kept from being recorded again.
    pair: Option<Rc<HeldPair>>,
}

/// The GPU has not passed the event after all: its stream was destroyed with work queued, and a
/// newer stream, which is ahead, has its address.
struct EventNotPassed;

impl StreamOrder {
    /// One more thread uses the stream.
    pub(super) fn add(&mut self, new: NewStream) {
        self.has_several_threads |= !self.sources.is_empty();
        self.sources.push(SpanReceiver::new(new));
    }

    /// Begins a look with each thread's untimed calls, before anything that has come is taken:
    /// starts that come at the next look were recorded after this.
    pub(super) fn poll_untimed(&mut self, look: u64) {
        self.look = look;
        let sources = self.sources.iter_mut();
        sources.for_each(|source| source.poll_untimed(look));
    }

    /// Takes what has come from each thread. Returns how many ends, and the most of one thread.
    pub(super) fn receive(&mut self) -> (u64, u64) {
        let (mut all, mut most) = (0, 0);
        for source in &mut self.sources {
            // Before the ring, which then has the starts of these.
            while let Some(step) = source.shared.elsewhere.pop() {
                match step {
                    StepElsewhere::Cancel(key) => self.cancelled.push(key),
                    StepElsewhere::End(end, context) => {
                        all += 1;
                        self.has_several_threads = true;
                        self.elsewhere.push(EndElsewhere::new(end, context));
                    }
                }
            }
            let received = source.receive(self.look);
            all += received;
            most = most.max(received);
        }
        (all, most)
    }

    pub(super) fn has_news(&self) -> bool {
        self.sources.iter().any(SpanReceiver::has_news)
    }

    /// The device of the stream, while threads use it.
    pub(super) fn device(&self) -> Option<u32> {
        Some(self.sources.first()?.shared.context.device)
    }

    /// Whether an end has come that is not resolved.
    pub(super) fn has_pending(&self) -> bool {
        !self.elsewhere.is_empty() || self.sources.iter().any(SpanReceiver::has_pending)
    }

    /// Resolves what the GPU has passed. Returns how many ends.
    pub(super) fn advance(&mut self, shared: &mut ResolverShared<'_>) -> u64 {
        let driver = shared.driver;
        // Made current once, and not for each call of the driver's. Where it cannot be, each call
        // fails and is counted.
        let resolved = self
            .living_context(driver)
            .and_then(|context| with_current(driver, context, || self.advance_pending(shared)).ok())
            .unwrap_or_else(|| self.advance_pending(shared));
        self.cancel_elsewhere();
        span_receiver::end_look(&mut self.sources, self.has_several_threads);
        let elsewhere = self.elsewhere.iter_mut();
        elsewhere.for_each(|ended| ended.is_older = true);
        resolved
    }

    /// The stream's context, if it is held for what is pending and lives.
    fn living_context(&self, driver: &Driver) -> Option<handles::Context> {
        if !self.has_pending() {
            return None;
        }
        let held = self.sources.iter().find(|source| source.is_held())?;
        let context = &held.shared.context;
        // A primary context can be reset although it is held.
        let count = |failed| context.count_failure(failed);
        context.check(driver, false).map_err(count).ok()?;
        Some(context.handle)
    }

    fn advance_pending(&mut self, shared: &mut ResolverShared<'_>) -> u64 {
        if !self.has_several_threads {
            self.advance_in_order(shared)
        } else {
            self.advance_by_time(shared)
        }
    }

    /// On a stream of one thread.
    fn advance_in_order(&mut self, shared: &mut ResolverShared<'_>) -> u64 {
        let Some(source) = self.sources.first() else {
            return 0;
        };
        let mut passed = passed::in_order(source, shared.driver);
        let mut resolved = 0;
        while let Some(source) = self.sources.first()
            && let Some(&step) = source.steps.front()
        {
            let is_end = matches!(step, SpanStep::End(_));
            if is_end && passed == 0 {
                break;
            }
            let next = Next::new(0, step, source.is_held());
            if self.apply(shared, next).is_err() {
                break;
            }
            passed = passed.saturating_sub(1);
            resolved += u64::from(is_end);
            self.take_step(next);
        }
        resolved
    }

    /// On a stream of several threads.
    fn advance_by_time(&mut self, shared: &mut ResolverShared<'_>) -> u64 {
        let mut resolved = 0;
        let mut before: Option<i64> = None;
        for (at_ns, mut next) in passed::by_time(&self.sources, &self.elsewhere, shared.driver) {
            let since = at_ns.zip(before);
            next.since_ns = since.map(|(at, before)| duration(at.saturating_sub(before)));
            if self.apply(shared, next).is_err() {
                break;
            }
            before = at_ns;
            resolved += u64::from(matches!(next.step, SpanStep::End(_)));
            self.take_step(next);
        }
        resolved
    }

    /// A step that is applied waits no longer.
    fn take_step(&mut self, next: Next) {
        if next.is_elsewhere {
            self.elsewhere.retain(|ended| !ended.is(next.step));
        } else if let Some(source) = self.sources.get_mut(next.source) {
            source.take_step();
        }
    }

    fn apply(&mut self, shared: &mut ResolverShared<'_>, next: Next) -> Result<(), EventNotPassed> {
        match next.step {
            SpanStep::Start(start) => {
                self.pass(shared, next, start.pair.start)?;
                self.open.open(start);
                self.note_latest(start.pair.start, None);
                Ok(())
            }
            SpanStep::End(end) => self.end(shared, next, end),
            SpanStep::Cancel(key) => {
                self.cancel(next.source, key);
                Ok(())
            }
        }
    }

    /// The time since the latest event is over.
    fn pass(
        &mut self,
        shared: &ResolverShared<'_>,
        next: Next,
        event: Event,
    ) -> Result<(), EventNotPassed> {
        let (true, Some(latest)) = (self.open.is_shared(), &self.latest) else {
            return Ok(());
        };
        if let Some(ns) = next.since_ns {
            self.open.pass(Some(ns));
        } else if let Some(source) = self.sources.get(next.source) {
            let (driver, stream) = (shared.driver, &source.shared);
            match event_times::offset_ns(driver, stream, next.is_held, latest.event, event) {
                Err(FailedCall(NOT_READY)) => return Err(EventNotPassed),
                // Before the latest: it came late.
                Ok(ns) if ns < -LATE_NS => self.open.pass(None),
                offset => self.open.pass(offset.ok().map(duration)),
            }
        }
        Ok(())
    }

    fn note_latest(&mut self, event: Event, pair: Option<&EndedPair>) {
        // Only where the time after it is shared need it be known.
        self.latest = self.open.is_shared().then(|| Latest {
            event,
            pair: pair.map(EndedPair::share),
        });
    }

    fn end(
        &mut self,
        shared: &mut ResolverShared<'_>,
        next: Next,
        end: SpanEnd,
    ) -> Result<(), EventNotPassed> {
        let Some(source) = self.sources.get_mut(next.source) else {
            return Ok(());
        };
        let Some(&start) = self.open.get(end.key) else {
            source.count_resolved(next.is_elsewhere);
            return Ok(());
        };
        let (held, driver) = (next.is_held, shared.driver);
        let stream = Arc::clone(&source.shared);
        let since = |event| {
            let offset = event_times::offset_ns(driver, &stream, held, event, end.event);
            offset.map(duration)
        };
        let ns = since(start.pair.start);
        if ns == Err(FailedCall(NOT_READY)) {
            return Err(EventNotPassed);
        }
        self.pass(shared, next, end.event)?;
        for child in self.open.children(end.key) {
            let ns = since(child.pair.start).unwrap_or(0);
            self.open.leave_parent(child.key, ns);
        }
        let overlaps_untimed = end.has_untimed_between || self.has_untimed_beside(next, &start);
        let looks_empty = ns.is_ok_and(|ns| complete::looks_empty(ns, &end, &stream.context));
        let overhead_ns = stream.context.event_overhead_ns().unwrap_or(0);
        let closed = (self.open).close(end.key, ns.ok(), overhead_ns, looks_empty);
        let Some((start, mut closed, booked)) = closed else {
            return Ok(());
        };
        closed.is_undivided |= overlaps_untimed;
        let span = EndedGpuSpan {
            start,
            end,
            device: stream.context.device,
            measured_ns: ns,
            closed,
        };
        let pair = EndedPair::new(stream, start.pair);
        if start.streams == 1 || end.is_crossed {
            let summed = complete::book_span(shared, &pair, held, &span, &booked);
            if let (Some(summed), Some(around)) = (summed, start.parent) {
                let key = (start.path, span.device);
                self.open.note_booked(around, start.epoch, key, &summed);
            }
            self.note_latest(end.event, Some(&pair));
            if let Some(source) = self.sources.get_mut(next.source) {
                source.count_resolved(next.is_elsewhere);
            }
        } else {
            let pending = Rc::new(self.take_context(next));
            self.note_latest(end.event, Some(&pair));
            if let Some(source) = self.sources.get_mut(next.source) {
                source.count_when_booked(Rc::downgrade(&pending), next.is_elsewhere);
            }
            let added = SpanOfCall {
                pair,
                span,
                booked,
                pending,
            };
            complete::add(shared, added);
        }
        self.count_closed(next.source);
        Ok(())
    }

    /// Whether another thread of the stream had untimed calls while this span was open: since the
    /// look before the one at which its start came. They have no events, so the span may have their
    /// time.
    fn has_untimed_beside(&self, next: Next, start: &SpanStart) -> bool {
        let others = self
            .sources
            .iter()
            .enumerate()
            .filter(|(source, _)| *source != next.source);
        let latest = others.map(|(_, source)| source.untimed_at).max();
        latest.unwrap_or(0).max(self.untimed_at) >= start.came_at.max(1)
    }

    /// What is held for a span that ended elsewhere.
    fn take_context(&mut self, next: Next) -> PendingSpan {
        let mut elsewhere = self.elsewhere.iter_mut();
        let ended = elsewhere.find(|ended| next.is_elsewhere && ended.is(next.step));
        ended.and_then(|ended| ended.context.take())
    }

    fn count_closed(&mut self, source: usize) {
        if let Some(source) = self.sources.get_mut(source) {
            source.count_closed();
        }
    }

    /// Closes an open span that will have no end event.
    fn cancel(&mut self, source: usize, key: SpanKey) {
        for child in self.open.children(key) {
            self.open.leave_parent(child.key, 0);
        }
        // Not known when: it counts as part of its parent.
        if let Some((start, ..)) = self.open.close(key, None, 0, false) {
            self.give_back(source, start.pair);
            self.count_closed(source);
        }
    }

    fn give_back(&mut self, source: usize, pair: EventPair) {
        let Some(source) = self.sources.get(source) else {
            return;
        };
        let shared = Arc::clone(&source.shared);
        let held = HeldPair { shared, pair };
        if let Some(latest) = &mut self.latest
            && latest.event == pair.start
        {
            latest.pair = Some(Rc::new(held));
        }
    }

    /// Closes the spans that another thread has cancelled and that are open by now.
    fn cancel_elsewhere(&mut self) {
        for key in std::mem::take(&mut self.cancelled) {
            let mut sources = self.sources.iter();
            let at = sources.position(|source| source.shared.id == key.thread_stream);
            let Some(at) = at.filter(|_| self.open.get(key).is_some()) else {
                self.cancelled.push(key);
                continue;
            };
            self.cancel(at, key);
            if let Some(source) = self.sources.get_mut(at) {
                source.count_resolved(true);
            }
        }
    }

    /// Releases what is not needed any more, and tells waiters what is resolved.
    pub(super) fn notify(&mut self) {
        self.sources.iter_mut().for_each(SpanReceiver::notify);
        self.sources.retain_mut(|source| {
            let is_over = source.is_over();
            if is_over {
                // Untimed calls since the latest look are those of the next.
                source.poll_untimed(self.look.saturating_add(1));
                self.untimed_at = self.untimed_at.max(source.untimed_at);
            }
            !is_over
        });
    }

    /// Whether no thread uses the stream, and none can come that used it beside untimed calls.
    pub(super) fn is_over(&self) -> bool {
        self.sources.is_empty() && self.untimed_at <= self.look
    }
}
