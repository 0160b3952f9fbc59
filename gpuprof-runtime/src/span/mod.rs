//! A span: one call of an annotated function, from the creation of its guard to its drop.
//!
//! In order: NVTX push, start event, clock; the body; clock, end event, NVTX pop.

pub(crate) mod default_stream;
mod deferred_streams;
pub(crate) mod future;
pub(crate) mod instrumented;
pub(crate) mod overhead;
mod position;
mod recording;
pub(crate) mod thread_state;

use std::marker::PhantomData;

use self::position::ParentPosition;
use self::recording::{
    begin_gpu_timing, count_dropped, measure_overhead, record_with_frame, valid_work,
};
use self::thread_state::{Draw, NodeError, ThreadState, with_thread};
use crate::clock;
use crate::collector::{self, collector};
use crate::gpu::Streams;
use crate::gpu::frame_stack::FrameToken;
use crate::nvtx::{OpenRange, Payload};
use crate::site::labels::LabelNumber;
use crate::site::{Site, SiteFlags};
use crate::stats::ended_call::{CallRecord, GpuOutcome, StatedWork, UntimedReason};
use crate::stats::path_counters::PathCounters;

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

/// An open call.
#[derive(Debug)]
struct CallTimer {
    node: &'static PathCounters,
    parent: ParentPosition,
    started: u64,
    /// `None`: it has no stream, and CUPTI is off.
    frame: Option<FrameToken>,
    /// `None`: no work is stated.
    work: Option<StatedWork>,
    /// Sampling left it out before its stream was looked at.
    is_left_out: bool,
    /// It has a stream and is not timed.
    is_untimed: bool,
}

impl Span {
    /// A span that does nothing.
    #[inline]
    pub fn off() -> Self {
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
    ) {
        let flags = site.flags();
        let measures = flags.contains(SiteFlags::MEASURE);
        // The user's expressions come first: they may open spans of their own, or panic.
        let mut streams = match flags.contains(SiteFlags::TIME_GPU) {
            true => streams(),
            false => Streams::Untimed,
        };
        let work = match measures {
            true => work(),
            false => StatedWork::NONE,
        };
        let work = (!work.is_none()).then_some(&work);
        let label = label();
        let active = self.active.insert(ActiveSpan {
            call: None,
            range: OpenRange::None,
        });
        if flags.contains(SiteFlags::EMIT_NVTX) {
            active.range = site.push_range(label, payload);
        }
        if measures {
            with_thread(|thread| {
                let has_stream = match &streams {
                    Streams::Untimed => false,
                    Streams::Inherit => thread.has_gpu() || collector::has_default_stream(),
                    Streams::One(_) | Streams::Many(_) => true,
                };
                let correlates = flags.contains(SiteFlags::CORRELATE);
                let draw = match has_stream && !correlates {
                    true => thread.draw(site),
                    false => Draw::None,
                };
                if draw == Draw::LeftOut {
                    active.open_left_out(thread, site, label, work);
                } else if has_stream || correlates {
                    active.open_with_frame(thread, site, label, (&mut streams, draw), work);
                } else {
                    active.open(thread, site, label, work);
                }
            });
        }
        // They own nothing here. Code that drops them would be in every annotated function.
        std::mem::forget(streams);
    }
}

// Not inlined: these would be repeated in every annotated function.
impl ActiveSpan {
    #[inline(never)]
    fn open(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        work: Option<&StatedWork>,
    ) {
        if let Some(call) = self.enter_node(thread, site, label, work) {
            call.started = clock::now();
            call.node.begin(call.started);
        }
    }

    /// Begins a call that sampling leaves out, with all calls inside it.
    #[inline(never)]
    fn open_left_out(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        work: Option<&StatedWork>,
    ) {
        if let Some(call) = self.enter_node(thread, site, label, work) {
            (call.is_left_out, call.is_untimed) = (true, true);
            thread.set_left_out(true);
            thread.begin_untimed();
            call.started = clock::now();
            call.node.begin(call.started);
        }
    }

    /// Begins a call that may have a stream, or that CUPTI's records are attributed to. Takes the
    /// streams out.
    #[inline(never)]
    fn open_with_frame(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        (streams, draw): (&mut Streams<'_>, Draw),
        work: Option<&StatedWork>,
    ) {
        let streams = std::mem::replace(streams, Streams::Untimed);
        let Some(call) = self.enter_node(thread, site, label, work) else {
            return;
        };
        let before = clock::now();
        let is_untimed = &mut call.is_untimed;
        let pushed = measure_overhead(thread, before, |gpu| {
            let open = match &streams {
                Streams::Untimed => None,
                streams => {
                    let timing = &collector().gpu;
                    let streams = timing.hold(gpu, streams, false);
                    begin_gpu_timing(timing, gpu, (streams, draw), site, call.node.path, false)
                }
            };
            if open.as_ref().is_some_and(|open| open.is_untimed()) {
                *is_untimed = true;
                thread.begin_untimed();
            }
            let correlates = site.flags().contains(SiteFlags::CORRELATE);
            let profiled = correlates
                .then(|| gpu.begin_call(site, call.node.path))
                .flatten();
            let is_needed = open.is_some() || profiled.is_some();
            is_needed.then(|| gpu.push(open, profiled))
        });
        (call.frame, call.started) = pushed.unwrap_or((None, before));
        call.node.begin(call.started);
    }

    #[inline(never)]
    fn close(&self) {
        if let Some(call) = &self.call {
            with_thread(|thread| call.close(thread));
        }
        self.range.close();
    }

    /// Enters the call's node of the call tree. `None`: the call is counted as dropped.
    #[inline]
    fn enter_node(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        label: LabelNumber,
        work: Option<&StatedWork>,
    ) -> Option<&mut CallTimer> {
        match thread.node(thread.path(), site, label) {
            Ok(node) => Some(self.call.insert(CallTimer {
                node,
                parent: thread.enter(node.path),
                started: 0,
                frame: None,
                work: work.map(|work| valid_work(thread, work)),
                is_left_out: false,
                is_untimed: false,
            })),
            Err(error) => {
                count_dropped(thread, error);
                None
            }
        }
    }
}

impl CallTimer {
    // Inlined, it would be too much for `with_thread` to be.
    #[inline(never)]
    fn close(&self, thread: &ThreadState) {
        let ended = clock::now();
        // The clocks of two processors may differ.
        let cpu_ticks = ended.saturating_sub(self.started);
        let nested_ticks = thread.leave(self.parent, cpu_ticks);
        let recorded = if self.frame.is_none() && self.work.is_none() && !self.is_left_out {
            self.node
                .record_time(cpu_ticks, nested_ticks, thread.writer())
        } else {
            self.record_all(thread, ended, cpu_ticks, nested_ticks)
        };
        if !recorded {
            count_dropped(thread, NodeError::ThreadEnded);
        }
    }

    #[inline(never)]
    fn record_all(
        &self,
        thread: &ThreadState,
        ended: u64,
        cpu_ticks: u64,
        nested_ticks: u64,
    ) -> bool {
        if self.is_untimed {
            thread.end_untimed();
        }
        let call = CallRecord {
            started: self.started,
            cpu_ticks,
            nested_ticks,
            wall_ticks: None,
            outcome: match self.is_left_out {
                true => GpuOutcome::Untimed(UntimedReason::LeftOut),
                false => GpuOutcome::NoStream,
            },
            work: self.work.as_ref().unwrap_or(&StatedWork::NONE),
        };
        match self.frame {
            Some(frame) => record_with_frame(thread, self.node, call, ended, |gpu| gpu.take(frame)),
            None => self.node.record(&call, thread.writer()),
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(active) = &self.active {
            active.close();
        }
    }
}
