//! One thread's part of GPU timing: its open frames and the streams that it has used.

use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, ThreadId};

use crate::clock;
use crate::gpu::events::span::SpanKey;
use crate::gpu::events::thread_stream::ThreadStream;
use crate::gpu::thread::call_streams::CallStreams;
use crate::gpu::thread::frame_stack::{FrameStack, FrameToken, SpanFrame};
use crate::gpu::thread::local_streams::LocalStreams;
use crate::gpu::thread::open_gpu_span::OpenGpuSpan;
use crate::gpu::thread::recent_costs::RecentCosts;
use crate::site::Site;
use crate::stats::profiled_call::{ProfiledCall, ReservedIds};
use crate::stats::sampling_decisions::SamplingDecision;
use crate::stats::thread_counters::ThreadCounters;

/// Entries that a thread keeps for calls to come that are not on one stream of its own.
const SPARE_KEPT: usize = 64;

/// One thread's part of GPU timing.
#[derive(Debug)]
pub(crate) struct GpuThread {
    pub(super) frames: FrameStack<Box<OpenGpuSpan>>,
    /// For calls that CUPTI's records are attributed to.
    ids: ReservedIds,
    /// Used again, so that a call neither allocates nor is copied about: what is moved is the box.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<OpenGpuSpan>>,
    pub(super) streams: LocalStreams,
    /// Something was met for the first time since this was last asked.
    set_up: bool,
    /// The thread's counters; `None` before its first span.
    pub(super) counters: Option<&'static ThreadCounters>,
    /// What its driver calls cost lately.
    pub(super) costs: RecentCosts,
    /// The thread's id. Kept, because `thread::current()` changes a reference count.
    pub(super) id: ThreadId,
}

impl GpuThread {
    pub(crate) fn new() -> Self {
        Self {
            frames: FrameStack::new(),
            ids: ReservedIds::default(),
            spare: Vec::new(),
            streams: LocalStreams::default(),
            set_up: false,
            counters: None,
            costs: RecentCosts::default(),
            id: thread::current().id(),
        }
    }

    #[inline]
    pub(crate) fn set_counters(&mut self, counters: Option<&'static ThreadCounters>) {
        self.counters = counters;
    }

    /// Whether a record that took long on the stream used last waited for other threads.
    pub(crate) fn waits_for_threads(&self) -> bool {
        let last = self.streams.last_used();
        last.is_some_and(|stream| stream.waits_for_threads.load(Relaxed))
    }

    /// What was done last took so many clock ticks. One long wait does not outweigh all others.
    #[inline]
    pub(crate) fn count_cost(&mut self, ticks: u64, is_unusual: bool) {
        self.costs.count(ticks.min(clock::long_ticks()), is_unusual);
    }

    /// On the innermost open call that sampling has decided on. `None`: there is none.
    #[inline]
    pub(crate) fn decision_around(&self) -> Option<SamplingDecision> {
        if !self.has_open() {
            return None;
        }
        self.frames.gpu().rev().find_map(|(_, open)| open.decision)
    }

    /// Whether the work since the last call was partly set-up, done once.
    pub(crate) fn take_set_up(&mut self) -> bool {
        std::mem::take(&mut self.set_up)
    }

    pub(super) fn note_set_up(&mut self, set_up: bool) {
        self.set_up |= set_up;
    }

    /// Whether any open frame has a GPU part, so that spans inside could inherit its stream.
    #[inline]
    pub(crate) fn has_open(&self) -> bool {
        self.frames.is_on_gpu()
    }

    /// Pushes a frame for the spans inside to see.
    #[inline]
    pub(crate) fn push(
        &mut self,
        gpu: Option<Box<OpenGpuSpan>>,
        call: Option<ProfiledCall>,
    ) -> FrameToken {
        self.frames.push(SpanFrame { gpu, call })
    }

    /// Pushes a frame for one poll of a future.
    pub(crate) fn push_poll(
        &mut self,
        future: Option<&OpenGpuSpan>,
        call: Option<ProfiledCall>,
    ) -> FrameToken {
        let gpu = future.map(|future| {
            let mut open = self.blank();
            open.set_to_poll_of(future, self.id);
            open
        });
        self.push(gpu, call)
    }

    /// Removes a frame. `None`: it is gone already, because spans ended out of order.
    #[inline]
    pub(crate) fn take(&mut self, token: FrameToken) -> Option<SpanFrame<Box<OpenGpuSpan>>> {
        self.frames.take(token)
    }

    /// Removes the frame of a `with_stream` or of a future's poll.
    pub(crate) fn close(&mut self, token: FrameToken) {
        if let Some(open) = self.take(token).and_then(|frame| frame.gpu) {
            self.recycle(open);
        }
    }

    /// A call of `site` on `path` that CUPTI's records can be attributed to.
    pub(crate) fn begin_call(&mut self, site: &Site, path: u32) -> Option<ProfiledCall> {
        self.frames.begin_call(site, path, &mut self.ids)
    }

    /// An entry with nothing in it.
    #[inline]
    pub(super) fn blank(&mut self) -> Box<OpenGpuSpan> {
        self.spare.pop().unwrap_or_else(OpenGpuSpan::boxed)
    }

    /// Recycles the streams of a call that is not timed.
    pub(crate) fn recycle_streams(&mut self, streams: CallStreams) {
        if let CallStreams::Own(open) | CallStreams::Default(open) = streams {
            self.recycle(open);
        }
    }

    /// Takes an entry for another call.
    pub(super) fn recycle(&mut self, mut open: Box<OpenGpuSpan>) {
        open.cancel(|stream, key| match self.streams.get_mut(stream) {
            Some(local) => local.send_cancel(key),
            None => stream.cancel_elsewhere(key),
        });
        self.keep_open(open);
    }

    /// The same for one that has nothing to give back.
    #[inline]
    pub(super) fn keep_open(&mut self, mut open: Box<OpenGpuSpan>) {
        open.reset();
        let local = match &*open.streams {
            [only] => self.streams.get_mut(&only.shared),
            _ => None,
        };
        if let Some(local) = local {
            local.keep(open);
        } else if self.spare.len() < SPARE_KEPT {
            open.streams.clear();
            self.spare.push(open);
        }
    }

    /// The nearest open span that is timed on this stream, and the product of the weights of the
    /// spans between.
    #[inline]
    pub(super) fn timed_around(&self, stream: &ThreadStream) -> (Option<SpanKey>, u32) {
        let mut weight = 1_u32;
        for (_, open) in self.frames.gpu().rev() {
            if let Some(timed) = open.timed_on(stream).and_then(|around| around.timed) {
                return (Some(timed.key), weight);
            }
            let own_weight = open.decision.map_or(1, |decision| decision.own_weight);
            weight = weight.saturating_mul(own_weight);
        }
        (None, 1)
    }
}
