//! GPU timing as spans use it: decides whether to time a call, records its two events, and tells
//! the resolver.
//!
//! Runs on the program's threads: nothing here waits for the GPU or for the resolver.

use crate::clock;
use crate::driver::table::Driver;
use crate::gpu::events::record;
use crate::gpu::events::span::SpanEnd;
use crate::gpu::thread::call_streams::CallStreams;
use crate::gpu::thread::gpu_thread::GpuThread;
use crate::gpu::thread::open_gpu_span::{GpuCallState, OpenGpuSpan};
use crate::gpu::thread::recent_costs::Doing;
use crate::gpu::thread::span_streams::{SpanStream, TimedSpan};
use crate::gpu::thread::start_events::{SiteAndPath, UNAVAILABLE, start_on_one, start_on_several};
use crate::gpu::timing::Timing;
use crate::stats::adaptive_sampling::{CallCosts, OVERHEADS_PER_PAIR};
use crate::stats::call_outcome::{CallRecord, GpuOutcome, UntimedReason};
use crate::stats::sampling_decisions::{CallSampling, FunctionRate, SamplingDecision};
use crate::stats::window_epoch;

impl Timing {
    /// Decides whether a call is timed, and if so records its start event. `None`: it has no
    /// stream.
    #[inline]
    pub(crate) fn begin(
        &'static self,
        thread: &mut GpuThread,
        streams: CallStreams,
        sampling: CallSampling<'_>,
        place: SiteAndPath,
        is_async: bool,
    ) -> Option<Box<OpenGpuSpan>> {
        let inherits = matches!(streams, CallStreams::Inherit | CallStreams::Default(_));
        let mut open = match streams {
            CallStreams::Own(open) | CallStreams::Default(open) => open,
            CallStreams::Inherit => inheriting(thread, is_async),
            CallStreams::Refused(outcome) => {
                let mut open = thread.blank();
                open.state = GpuCallState::Unusable(outcome);
                open
            }
        };
        open.path = place.path;
        open.epoch = window_epoch::current();
        if let GpuCallState::Unusable(outcome) = open.state {
            let decision = sampling.decide();
            open.decision = Some(decision);
            open.state = GpuCallState::Unusable(outcome.standing_for(decision.stands_for));
        }
        if !matches!(open.state, GpuCallState::None) {
            return Some(open);
        }
        if is_async || inherits {
            // Those of a future may have been met on another thread.
            for stream in &mut open.streams {
                if thread.streams.get_mut(&stream.shared).is_none() {
                    stream.shared = self.local(thread, &stream.shared);
                }
            }
        }
        let Some(first) = open.streams.first() else {
            thread.recycle(open);
            return None;
        };
        thread.note_set_up(first.shared.context.is_fresh());
        let decision = sampling.decide();
        open.decision = Some(decision);
        open.is_async = is_async;
        let rate = sampling.rate.function;
        open.state = match self.start_or_leave_out(thread, &mut open, place, &decision, rate) {
            Ok(()) => GpuCallState::Started,
            Err(outcome) => GpuCallState::Untimed(outcome.standing_for(decision.stands_for)),
        };
        if inherits {
            open.inherited_at = Some(clock::now());
        }
        Some(open)
    }

    #[inline]
    fn start_or_leave_out(
        &'static self,
        thread: &mut GpuThread,
        open: &mut OpenGpuSpan,
        place: SiteAndPath,
        decision: &SamplingDecision,
        rate: FunctionRate,
    ) -> Result<(), GpuOutcome> {
        if decision.is_timed {
            self.start(thread, open, place, decision)
        } else {
            Err(leave_out(thread, open, rate))
        }
    }

    #[inline(always)]
    fn start(
        &'static self,
        thread: &mut GpuThread,
        open: &mut OpenGpuSpan,
        place: SiteAndPath,
        decision: &SamplingDecision,
    ) -> Result<(), GpuOutcome> {
        let driver = Driver::get();
        if driver.lacks().is_some() || !self.has_resolver() {
            return Err(UNAVAILABLE);
        }
        for stream in &open.streams {
            if !stream.shared.context.is_measured() {
                check(&open.streams)?;
                let context = &stream.shared.context;
                self.probes.measure_before_first_call(driver, context);
            }
        }
        if open.is_async {
            occupy_async_share(open)?;
        }
        let started = match &mut *open.streams {
            [stream] => start_on_one(driver, thread, stream, (place, open.epoch, decision)),
            streams => start_on_several(driver, thread, streams, (place, open.epoch, decision)),
        };
        match started {
            Ok(()) => {
                open.thread = Some(thread.id);
                thread.costs.doing = Doing::Recording;
                self.charge(thread, open);
            }
            Err(_) => open.end_async(),
        }
        started
    }

    /// Takes what timing a call costs from the thread's allowance, in automatic sampling.
    #[inline]
    fn charge(&self, thread: &GpuThread, open: &OpenGpuSpan) {
        let (Some((share, session)), Some(counters)) = (self.sampling.budget(), thread.counters)
        else {
            return;
        };
        let overhead_ns = |stream: &SpanStream| stream.shared.context.event_overhead_ns();
        let gpu_ns: u64 = open.streams.iter().filter_map(overhead_ns).sum();
        let cpu_ns = f64::from(thread.costs.get().timed_ns);
        let cost_ns = cpu_ns.max(OVERHEADS_PER_PAIR * gpu_ns as f64);
        let now = clock::rough_ns(clock::now());
        counters.spent.spend(session, now, cost_ns, share);
    }

    /// Records the end event: [`submit`](Self::submit) sends the call to the resolver once it is
    /// recorded in the counters, with [`OpenGpuSpan::outcome`].
    ///
    /// # Errors
    /// If the call has no time. The entry is used again.
    #[inline]
    pub(crate) fn end(
        &'static self,
        thread: &mut GpuThread,
        mut open: Box<OpenGpuSpan>,
        epoch: u32,
    ) -> Result<Box<OpenGpuSpan>, GpuOutcome> {
        match record_end(thread, &mut open, epoch) {
            Ok(()) => {
                thread.costs.doing = Doing::Recording;
                Ok(open)
            }
            Err(outcome) => {
                let weight = open.decision.map_or(1, |made| made.stands_for);
                let was_started = matches!(open.state, GpuCallState::Started);
                thread.recycle(open);
                Err(if was_started {
                    outcome.standing_for(weight)
                } else {
                    outcome
                })
            }
        }
    }

    /// Sends a call that has its end events to the resolver.
    #[inline]
    pub(crate) fn submit(
        &self,
        thread: &mut GpuThread,
        mut open: Box<OpenGpuSpan>,
        call: &CallRecord<'_>,
    ) {
        open.end_async();
        let costs = thread.costs.get();
        if let [stream] = &*open.streams
            && let Some(timed) = stream.timed
            && let Some(local) = thread.streams.get_mut(&stream.shared)
        {
            local.send_end(span_end(timed, &open, call, costs));
            open.reset();
            local.keep(open);
        } else {
            submit_several(thread, open, call, costs);
        }
        self.sleep_flag.wake_if_asleep(|| self.wake());
    }
}

/// What the resolver is told of a call that has ended.
#[inline(always)]
fn span_end(
    timed: TimedSpan,
    open: &OpenGpuSpan,
    call: &CallRecord<'_>,
    costs: CallCosts,
) -> SpanEnd {
    SpanEnd {
        key: timed.key,
        event: timed.end,
        work: *call.work,
        inherited_host_ticks: open.host_ticks,
        cpu_ticks: call.cpu_ticks,
        costs,
        is_crossed: open.is_crossed,
        has_untimed_between: open.has_untimed_between,
    }
}

/// Sends a call on several streams, or one that began on another thread.
#[cold]
fn submit_several(
    thread: &mut GpuThread,
    mut open: Box<OpenGpuSpan>,
    call: &CallRecord<'_>,
    costs: CallCosts,
) {
    // It is the resolver's from here on.
    open.state = GpuCallState::None;
    for stream in &open.streams {
        let Some(timed) = stream.timed else { continue };
        let end = span_end(timed, &open, call, costs);
        match thread.streams.get_mut(&stream.shared) {
            Some(local) => local.send_end(end),
            // Only a future may have begun on another thread.
            None => stream.shared.end_elsewhere(end),
        }
    }
    thread.keep_open(open);
}

/// An entry for a call that inherits a stream, if there is one.
fn inheriting(thread: &mut GpuThread, is_async: bool) -> Box<OpenGpuSpan> {
    let inherited = thread.inherit(is_async);
    let mut open = thread.blank();
    match inherited {
        Ok(Some(inherited)) => {
            open.streams.push(inherited.stream);
            open.lender = inherited.lender;
        }
        Ok(None) => {}
        Err(outcome) => open.state = GpuCallState::Untimed(outcome),
    }
    open
}

/// A call that sampling leaves out. An estimate speaks for calls that could have been timed, so the
/// driver is asked whether this one could.
fn leave_out(thread: &mut GpuThread, open: &OpenGpuSpan, rate: FunctionRate) -> GpuOutcome {
    if !rate.asks() {
        return GpuOutcome::Untimed(UntimedReason::LeftOutUnasked);
    }
    thread.costs.doing = Doing::LeavingOut;
    match check(&open.streams) {
        Ok(()) => GpuOutcome::Untimed(UntimedReason::LeftOutAsked),
        Err(outcome) => outcome,
    }
}

/// Whether events can be recorded on all streams now.
fn check(streams: &[SpanStream]) -> Result<(), GpuOutcome> {
    let driver = Driver::get();
    let mut streams = streams.iter();
    streams.try_for_each(|stream| record::check(driver, &stream.shared))
}

/// Occupies a pair of the share for async calls of each stream's context, until the call ends.
fn occupy_async_share(open: &OpenGpuSpan) -> Result<(), GpuOutcome> {
    let streams = open.streams.iter();
    let occupied = streams
        .take_while(|stream| stream.shared.context.async_share.occupy())
        .count();
    if occupied == open.streams.len() {
        return Ok(());
    }
    let occupied = open.streams.iter().take(occupied);
    occupied.for_each(|stream| stream.shared.context.async_share.release());
    // A captured call is counted as captured.
    check(&open.streams).and(Err(GpuOutcome::Untimed(UntimedReason::PoolExhausted)))
}

/// Records the end events of a call.
#[inline]
fn record_end(thread: &GpuThread, open: &mut OpenGpuSpan, epoch: u32) -> Result<(), GpuOutcome> {
    match &open.state {
        GpuCallState::None => return Err(GpuOutcome::NoStream),
        GpuCallState::Untimed(outcome) | GpuCallState::Unusable(outcome) => return Err(*outcome),
        GpuCallState::Started => {}
    }
    if open.is_on_another_stream(thread.id) {
        return Err(GpuOutcome::Untimed(UntimedReason::StreamUnsafe));
    }
    // Its time, and that of the spans inside it, would belong to both windows. It ends at the
    // resolver, as others may share the stream's time with it.
    open.is_crossed = open.epoch != epoch;
    record_end_events(thread, open).map_err(|outcome| {
        if open.is_crossed {
            GpuOutcome::Untimed(UntimedReason::CrossedReset)
        } else {
            outcome
        }
    })
}

fn record_end_events(thread: &GpuThread, open: &mut OpenGpuSpan) -> Result<(), GpuOutcome> {
    thread.check_lender(open)?;
    let inherited_at = open.inherited_at;
    open.host_ticks = inherited_at.map(|began| clock::now().saturating_sub(began));
    let driver = Driver::get();
    for stream in &open.streams {
        let timed = stream.timed.ok_or(UNAVAILABLE)?;
        record::end(driver, &stream.shared, timed.end)?;
    }
    Ok(())
}
