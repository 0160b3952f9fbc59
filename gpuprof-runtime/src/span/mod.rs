//! A span: one call of an annotated function, from the creation of its guard to its drop.
//!
//! In order: NVTX push, start event, clock; the body; clock, end event, NVTX pop.

mod call_in_progress;
mod call_timer;
pub(crate) mod default_stream;
mod deferred_streams;
pub(crate) mod future;
pub(crate) mod instrumented;
#[cfg(any(feature = "tracing", feature = "inject"))]
pub(crate) mod nested_calls;
mod node_cache;
pub(crate) mod overhead;
mod position;
mod recording;
mod thread_sampling;
pub(crate) mod thread_state;
pub(crate) mod time_line;

use std::marker::PhantomData;

use self::call_timer::{BesidesCpuTime, CallTimer};
use self::recording::{begin_gpu_timing, begin_profiled_call, count_dropped, measure_overhead};
use self::thread_state::{ThreadState, with_thread};
use crate::clock;
use crate::collector::collector;
use crate::gpu::Streams;
use crate::nvtx::{OpenRange, Payload};
use crate::recorder::CallArguments;
use crate::site::labels::LabelNumber;
use crate::site::{Site, SiteFlags};
use crate::stats::call_outcome::StatedWork;
use crate::stats::sampling_decisions::CallSampling;

/// The guard that `#[gpu_profile]` puts at the top of a function.
#[derive(Debug)]
#[must_use]
pub struct Span {
    /// `None`: it does nothing, which takes one store to state and one load to find out.
    active: Option<ActiveSpan>,
    /// A span ends on the thread that began it.
    _not_send: PhantomData<*mut ()>,
}

#[derive(Debug)]
struct ActiveSpan {
    /// `None`: only an NVTX range.
    call: Option<CallTimer>,
    range: OpenRange,
}

impl Span {
    /// A span that does nothing.
    #[inline]
    pub const fn off() -> Self {
        Self {
            active: None,
            _not_send: PhantomData,
        }
    }

    /// Begins a call of `site`, in a span that is [`off`](Self::off). A closure runs only if its
    /// result is used.
    #[inline]
    pub fn enter<'a>(
        &mut self,
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
        arguments: impl FnOnce() -> CallArguments,
    ) {
        let flags = site.flags();
        let measures = flags.contains(SiteFlags::MEASURE);
        // The user's expressions come first: they may open spans of their own, or panic.
        let mut streams = if flags.contains(SiteFlags::TIME_GPU) {
            streams()
        } else {
            Streams::Untimed
        };
        let work = if measures { work() } else { StatedWork::NONE };
        let work = (!work.is_none()).then_some(&work);
        let label = label();
        let recorded = flags.contains(SiteFlags::RECORD).then(arguments);
        let active = self.active.insert(ActiveSpan {
            call: None,
            range: OpenRange::None,
        });
        if flags.contains(SiteFlags::EMIT_NVTX) {
            active.range = site.push_range(label, payload);
        }
        if measures {
            with_thread(|thread| active.open(thread, site, label, &mut streams, work));
        }
        if let Some(arguments) = recorded {
            active.record_at_end(arguments);
        }
        // They own nothing here. Code that drops them would be in every annotated function.
        std::mem::forget(streams);
    }
}

// Not inlined: these would be repeated in every annotated function.
impl ActiveSpan {
    /// Begins a call. Afterwards the streams own nothing.
    #[inline(never)]
    fn open(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        streams: &mut Streams<'_>,
        work: Option<&StatedWork>,
    ) {
        let has_stream = match streams {
            Streams::Untimed => false,
            Streams::Inherit => thread.may_inherit_stream(),
            Streams::One(_) | Streams::Many(_) => true,
        };
        if has_stream || site.flags().contains(SiteFlags::CORRELATE) {
            self.open_on_gpu(thread, site, label, streams, work);
        } else if let Some(call) = self.enter_node(thread, site, label, work) {
            call.started = clock::now();
            call.node.begin(call.started);
        }
    }

    /// Begins a call that has a stream, or that CUPTI's records are attributed to.
    #[inline(never)]
    fn open_on_gpu(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        streams: &mut Streams<'_>,
        work: Option<&StatedWork>,
    ) {
        let call = self.enter_node(thread, site, label, work);
        if let Some(node) = call.map(|call| call.node) {
            // CUPTI's records are attributed to all calls.
            let has_frame = site.flags().contains(SiteFlags::CORRELATE);
            let may_be_timed = has_frame || !thread.is_left_out();
            let rate = may_be_timed.then(|| thread.rate(site, node));
            match rate.and_then(|rate| thread.sampling.begin(rate, has_frame)) {
                Some(sampling) => self.open_with_frame(thread, site, streams, sampling),
                None => self.open_left_out(thread, site, streams),
            }
        }
        *streams = Streams::Untimed;
    }

    /// Begins a call that sampling leaves out, with all calls inside it.
    #[inline]
    fn open_left_out(&mut self, thread: &ThreadState, site: &Site, streams: &Streams<'_>) {
        if let Some(call) = &mut self.call {
            thread.sampling.miss(site, call.node);
            if call.node.is_first_of(thread.writer()) {
                announce_streams(thread, streams);
            }
            call.more.change(|details| {
                (details.is_left_out, details.is_untimed) = (true, true);
            });
            thread.set_left_out(true);
            thread.begin_untimed();
            call.started = clock::now();
            call.node.begin(call.started);
        }
    }

    /// Begins a call that may be timed on the GPU, or that CUPTI's records are attributed to.
    #[inline(never)]
    fn open_with_frame(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        streams: &Streams<'_>,
        sampling: CallSampling<'_>,
    ) {
        let Some(call) = &mut self.call else {
            return;
        };
        let before = clock::now();
        let mut is_untimed = false;
        let pushed = measure_overhead(thread, before, |gpu| {
            let open = match streams {
                Streams::Untimed => None,
                streams => {
                    let timing = &collector().gpu;
                    let streams = timing.hold(gpu, streams, false);
                    begin_gpu_timing(timing, gpu, streams, sampling, site, call.node.path, false)
                }
            };
            if let Some(reason) = open.as_ref().and_then(|open| open.untimed_reason()) {
                is_untimed = true;
                if reason.is_by_sampling() {
                    thread.sampling.miss(site, call.node);
                }
                thread.begin_untimed();
            }
            let correlates = site.flags().contains(SiteFlags::CORRELATE);
            let profiled = correlates
                .then(|| begin_profiled_call(gpu, site, call.node.path))
                .flatten();
            let is_needed = open.is_some() || profiled.is_some();
            is_needed.then(|| gpu.push(open, profiled))
        });
        let (frame, started) = pushed.unwrap_or((None, before));
        if frame.is_some() {
            call.more.change(|details| {
                (details.frame, details.is_untimed) = (frame, is_untimed);
            });
        }
        call.started = started;
        call.node.begin(started);
    }

    /// Records the call, if there is one, on the time line when it ends.
    #[cold]
    #[inline(never)]
    fn record_at_end(&mut self, arguments: CallArguments) {
        let Some(call) = &mut self.call else {
            return;
        };
        match &mut call.more {
            more @ BesidesCpuTime::Nothing if arguments.is_empty() => *more = BesidesCpuTime::Event,
            more => {
                let keep = |thread: &ThreadState| {
                    thread.with_recorder(|recorder| recorder.keep_arguments(arguments))
                };
                let recorded = with_thread(keep);
                more.change(|details| details.recorded = recorded);
            }
        }
    }

    #[inline(never)]
    fn close(&self, thread: &ThreadState) {
        match &self.call {
            Some(call) if self.range.is_none() => call.close(thread),
            _ => self.close_with_range(thread),
        }
    }

    #[inline(never)]
    fn close_with_range(&self, thread: &ThreadState) {
        if let Some(call) = &self.call {
            call.close(thread);
        }
        self.range.close();
    }

    /// Enters the call's node of the call tree. `None`: the call is counted as dropped.
    #[inline(always)]
    fn enter_node(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        work: Option<&StatedWork>,
    ) -> Option<&mut CallTimer> {
        match thread.node(thread.path(), site, label) {
            Ok(node) => {
                let call = self.call.insert(CallTimer {
                    node,
                    parent: thread.enter(node.path),
                    started: 0,
                    more: BesidesCpuTime::Nothing,
                });
                if let Some(work) = work {
                    call.set_work(thread, work);
                }
                Some(call)
            }
            Err(error) => {
                count_dropped(thread, error);
                None
            }
        }
    }
}

/// Tells the resolver which streams this thread uses, as calls on them may be timed on other
/// threads.
#[cold]
fn announce_streams(thread: &ThreadState, streams: &Streams<'_>) {
    if matches!(streams, Streams::One(_) | Streams::Many(_)) {
        measure_overhead(thread, clock::now(), |gpu| {
            let held = collector().gpu.hold(gpu, streams, false);
            gpu.recycle_streams(held);
        });
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(active) = &self.active {
            with_thread(|thread| active.close(thread));
        }
    }
}
