//! Books a call whose times are read. Runs on the resolver's thread.

use std::rc::Rc;

use cudarc::driver::CudaContext;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::clock;
use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::pool::Context;
use crate::gpu::events::span::{SpanEnd, SpanKey, SpanStart};
use crate::gpu::events::thread_stream::ThreadStream;
use crate::gpu::resolver::context_clocks::{ContextClocks, SharedDevices};
use crate::gpu::resolver::event_times::{EndedPair, elapsed};
use crate::gpu::resolver::open_spans::Closed;
use crate::gpu::resolver::recorded_spans::SpanRecorder;
use crate::gpu::stream::context_guard::HeldHandle;
use crate::gpu::timing::Timing;
use crate::stats::adaptive_sampling::ObservedCall;
use crate::stats::busy_union::SpanPlace;
use crate::stats::gpu_totals::{SummedTime, SummedTimes, TimedCall};
use crate::stats::path_ids::ROOT;

/// What the resolver lends to each of its streams.
pub(super) struct ResolverShared<'a> {
    pub(super) timing: &'a Timing,
    pub(super) driver: &'a Driver,
    pub(super) calls: &'a mut MultiStreamCalls,
    pub(super) clocks: &'a mut ContextClocks,
    pub(super) devices: &'a SharedDevices,
    pub(super) recorded: &'a mut SpanRecorder,
}

impl ResolverShared<'_> {
    /// Puts a span on the time line, if there is one. `held`: its context is.
    fn record(&mut self, span: &EndedGpuSpan, pair: &EndedPair, held: bool) {
        let recorder = &self.timing.recorder;
        if recorder.takes_gpu_events()
            && let Ok(ns) = span.measured_ns
            && let SpanPlace::At { clock, start_ns } =
                self.clocks.start_on_context_clock(self.driver, pair, held)
        {
            let stream = &pair.shared;
            self.recorded
                .record(recorder, &span.start, stream, clock, start_ns, ns);
        }
    }

    /// The place of a span. `held`: its context is.
    fn span_start(&mut self, span: &EndedGpuSpan, pair: &EndedPair, held: bool) -> SpanPlace {
        let (start, closed) = (&span.start, &span.closed);
        let is_nested = closed.parent_path != ROOT;
        let is_drawn = start.draw.weight > 1;
        // If so, the spans around it are, too: none of them is in the sum of spans.
        let is_beside_others = closed.is_beside_others;
        let devices = self.devices;
        let was_alone = devices.was_alone(self.timing, span.device, start.came_at);
        let is_in_sum = if is_nested {
            is_drawn || !is_beside_others
        } else {
            !is_beside_others && !closed.is_undivided
        };
        if was_alone && is_in_sum {
            SpanPlace::Alone
        } else if is_drawn || span.measured_ns.is_err() || (is_nested && !is_beside_others) {
            SpanPlace::Unknown
        } else {
            self.clocks.start_on_context_clock(self.driver, pair, held)
        }
    }
}

/// A span of a call on one of its streams, whose end the GPU has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedGpuSpan {
    pub(super) start: SpanStart,
    pub(super) end: SpanEnd,
    pub(super) device: u32,
    /// Between its two events.
    pub(super) measured_ns: Result<u64, FailedCall>,
    pub(super) closed: Closed,
}

impl EndedGpuSpan {
    /// Its exclusive time. Under sampling it can be less than 0: only sums have a meaning then.
    fn own_ns(&self) -> i64 {
        let ns = self.closed.ns.cast_signed();
        // Rounded up, so that the parts of a whole are never more than the whole; but not what is
        // a sum of fractions and should be a whole number.
        let lost = (self.closed.lost_ns - 1e-3).ceil().max(0.0) as u64;
        let nested_ns = self
            .closed
            .nested_ns
            .saturating_sub(self.closed.nested_again_ns);
        let own = ns
            .saturating_sub_unsigned(nested_ns)
            .saturating_sub_unsigned(lost);
        if self.closed.is_sampled {
            own
        } else {
            own.max(0)
        }
    }

    /// Its exclusive time with that of the spans nested in it.
    fn with_nested_ns(&self) -> u64 {
        let nested_ns = self.closed.nested_ns as f64 - self.closed.nested_lost_ns;
        let with_nested = self.own_ns() as f64 + (nested_ns + 1e-3).floor();
        with_nested.clamp(0.0, self.closed.ns as f64) as u64
    }

    fn call(&self, place: SpanPlace) -> TimedCall {
        TimedCall {
            path: self.start.path,
            site: self.start.site,
            device: self.device,
            counts: true,
            own_ns: self.own_ns(),
            is_outermost: self.closed.is_outermost,
            parent: self.closed.parent_path,
            with_nested_ns: self.with_nested_ns(),
            overhead_ns: self.closed.overhead_ns,
            measured_ns: self.measured_ns.unwrap_or(0),
            is_divided: self.closed.lost_ns > 0.0,
            is_undivided: self.closed.is_undivided,
            inherits: self.end.inherited_host_ticks.is_some(),
            may_be_host: self.closed.may_be_host,
            place,
            draw: self.start.draw,
        }
    }
}

/// Books a call on one stream, unless it has crossed into another window. `held`: its context is.
///
/// Returns what it adds to the sum of spans.
pub(super) fn book_span(
    shared: &mut ResolverShared<'_>,
    pair: &EndedPair,
    held: bool,
    span: &EndedGpuSpan,
    booked: &SummedTimes,
) -> Option<SummedTime> {
    if span.end.is_crossed {
        return None;
    }
    shared.record(span, pair, held);
    let call = span.call(shared.span_start(span, pair, held));
    let ns = span.measured_ns.map(|_| span.closed.ns);
    let times = ns.map(|ns| smallvec![(call, ns)]);
    add_to_totals(shared.timing, shared.driver, span, booked, times);
    let ns = ns.ok()?;
    report_to_sampling(shared.timing, &pair.shared, span, ns, 1);
    Some(call.summed())
}

/// More than that between the two records on the host and the GPU's time, and they differ.
const HOST_TIME_MARGIN_NS: u64 = 10_000;
/// One part in so many of the host time is added to that: the GPU's clock and the host's run at
/// slightly different rates.
const HOST_TIME_MARGIN: u64 = 2_000;
/// Of the event overhead: what is longer was not an empty pair.
const EMPTY_PAIRS: u64 = 2;

/// Whether the stream may have had nothing to do in a span that inherited it: then its events are
/// as far apart as they were recorded, or follow one another.
pub(super) fn looks_empty(ns: u64, end: &SpanEnd, context: &Context) -> bool {
    let Some(host_ticks) = end.inherited_host_ticks else {
        return false;
    };
    let host_ns = clock::rough_ns(host_ticks);
    let overhead_ns = context.event_overhead_ns();
    let is_empty = overhead_ns.is_some_and(|overhead_ns| ns <= EMPTY_PAIRS * overhead_ns);
    is_empty || ns.abs_diff(host_ns) <= HOST_TIME_MARGIN_NS + host_ns / HOST_TIME_MARGIN
}

/// Times by device. Almost always one, which then takes no allocation.
type Times = SmallVec<[(TimedCall, u64); 1]>;

fn add_to_totals(
    timing: &Timing,
    driver: &Driver,
    span: &EndedGpuSpan,
    booked: &SummedTimes,
    times: Result<Times, FailedCall>,
) {
    let mut totals = timing.totals().lock();
    // Under the lock, so that a reset between the check and the booking is impossible.
    match (times, totals.get_mut(span.start.epoch)) {
        (Ok(times), Some(stats)) => {
            for (call, ns) in times {
                stats.add(&call, &span.end.work, ns);
            }
            stats.cover(booked);
        }
        (Err(_), Some(stats)) if !driver.has_ended() => stats.fail(span.start.path, span.device),
        _ => {}
    }
}

/// How long the calls of a function are decides how many are timed.
fn report_to_sampling(
    timing: &Timing,
    shared: &ThreadStream,
    span: &EndedGpuSpan,
    gpu_ns: u64,
    pairs: usize,
) {
    let Some(event_overhead_ns) = shared.context.event_overhead_ns() else {
        return;
    };
    let observed = ObservedCall {
        site: span.start.site,
        epoch: span.start.epoch,
        thread: shared
            .counters
            .map_or(0, |counters| std::ptr::from_ref(counters).addr()),
        device: span.device,
        gpu_ns,
        cpu_ns: clock::rough_ns(span.end.cpu_ticks),
        weight: span.start.draw.weight,
        pairs,
        event_overhead_ns,
        costs: span.end.costs,
    };
    timing
        .sampling
        .observe(&observed, clock::rough_ns(clock::now()));
}

/// Calls on several streams, of which not all spans have ended.
#[derive(Debug, Default)]
pub(super) struct MultiStreamCalls(FxHashMap<SpanKey, Vec<SpanOfCall>>);

/// A span of a call on several streams.
#[derive(Debug)]
pub(super) struct SpanOfCall {
    pub(super) pair: EndedPair,
    pub(super) span: EndedGpuSpan,
    /// The booked spans that were nested in it.
    pub(super) booked: SummedTimes,
    /// Held until the call is booked.
    #[expect(dead_code, reason = "held, not read")]
    pub(super) pending: Rc<PendingSpan>,
}

/// A span whose call is not booked, with what has to be held until then beside what the
/// [`SpanReceiver`](super::span_receiver::SpanReceiver) holds.
pub(super) type PendingSpan = Option<HeldHandle<CudaContext>>;

/// Adds a span of a call on several streams, and books the call if it is the last one.
pub(super) fn add(shared: &mut ResolverShared<'_>, added: SpanOfCall) {
    let held = false;
    shared.record(&added.span, &added.pair, held);
    let (timing, driver) = (shared.timing, shared.driver);
    shared.calls.add(timing, driver, shared.clocks, added);
}

impl MultiStreamCalls {
    fn add(
        &mut self,
        timing: &Timing,
        driver: &Driver,
        clocks: &mut ContextClocks,
        added: SpanOfCall,
    ) {
        let start = added.span.start;
        let Some(first) = start.first else {
            return;
        };
        let spans = self.0.entry(first).or_default();
        spans.push(added);
        if spans.len() < start.streams as usize {
            return;
        }
        let Some(mut spans) = self.0.remove(&first) else {
            return;
        };
        // The first stream's device is the one that the call is counted on.
        let at = spans.iter().position(|one| one.span.start.key == first);
        if let Some(until_first) = at.and_then(|at| spans.get_mut(..=at)) {
            until_first.rotate_right(1);
        }
        let Some(on_first) = spans.first() else {
            return;
        };
        let times = times(driver, clocks, &spans);
        if let Ok(times) = &times
            && let Some((_, ns)) = times.first()
        {
            report_to_sampling(
                timing,
                &on_first.pair.shared,
                &on_first.span,
                *ns,
                spans.len(),
            );
        }
        let mut booked = SummedTimes::default();
        for (key, time) in spans.iter().flat_map(|one| &one.booked) {
            booked.entry(*key).or_default().add(time);
        }
        add_to_totals(timing, driver, &on_first.span, &booked, times);
    }
}

/// First start to last end on each device; all of them or none.
fn times(
    driver: &Driver,
    clocks: &mut ContextClocks,
    spans: &[SpanOfCall],
) -> Result<Times, FailedCall> {
    let mut times = Times::new();
    for device in spans.iter().map(|one| one.span.device) {
        if times.iter().any(|(call, _)| call.device == device) {
            continue;
        }
        let here = || spans.iter().filter(move |one| one.span.device == device);
        let mut ns = 0;
        for from in here() {
            for to in here() {
                ns = ns.max(elapsed(driver, &from.pair, &to.pair)?);
            }
        }
        let Some(first) = here().next() else {
            continue;
        };
        let closed = || here().map(|one| &one.span.closed);
        let sum = |field: fn(&Closed) -> u64| closed().map(field).sum::<u64>();
        let nested_ns = sum(|closed| closed.nested_ns);
        let nested_again_ns = sum(|closed| closed.nested_again_ns);
        let longest = here().map(|one| one.span.own_ns()).max().unwrap_or(0);
        // Its own time is that on the stream where it has the most. What is nested on one of the
        // streams is no time of the call's, however idle the others are.
        let once_ns = nested_ns.saturating_sub(nested_again_ns);
        let own = ns.cast_signed().saturating_sub_unsigned(once_ns);
        let merged = Closed {
            // With the pairs nested in it: the other streams do not wait for them.
            ns,
            nested_ns,
            nested_again_ns,
            nested_lost_ns: closed().map(|closed| closed.nested_lost_ns).sum(),
            is_sampled: closed().any(|closed| closed.is_sampled),
            lost_ns: (own - longest).max(0) as f64,
            is_undivided: closed().any(|closed| closed.is_undivided),
            is_outermost: closed().all(|closed| closed.is_outermost),
            ..first.span.closed
        };
        let span = EndedGpuSpan {
            measured_ns: Ok(ns),
            closed: merged,
            ..first.span
        };
        let call = TimedCall {
            counts: times.is_empty(),
            // On any device: the call is counted on the first one.
            is_divided: spans.iter().any(|one| one.span.closed.lost_ns > 0.0),
            ..span.call(first_place(driver, clocks, here()))
        };
        times.push((call, ns));
    }
    Ok(times)
}

/// The place of the first start of a call's spans on one device.
fn first_place<'a>(
    driver: &Driver,
    clocks: &mut ContextClocks,
    spans: impl Iterator<Item = &'a SpanOfCall>,
) -> SpanPlace {
    let mut first = None;
    for one in spans {
        if one.span.start.draw.weight > 1 {
            return SpanPlace::Unknown;
        }
        let held = false;
        let SpanPlace::At { clock, start_ns } =
            clocks.start_on_context_clock(driver, &one.pair, held)
        else {
            return SpanPlace::Unknown;
        };
        let earlier = first.filter(|(_, known)| *known <= start_ns);
        first = earlier.or(Some((clock, start_ns)));
    }
    match first {
        Some((clock, start_ns)) => SpanPlace::At { clock, start_ns },
        None => SpanPlace::Unknown,
    }
}
