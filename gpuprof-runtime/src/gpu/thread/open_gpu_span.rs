//! A span that is open on a thread: its streams and its sampling decision.

use std::thread::{self, ThreadId};

use smallvec::SmallVec;

use crate::driver::handles::Stream;
use crate::gpu::events::span::SpanKey;
use crate::gpu::events::thread_stream::ThreadStream;
use crate::gpu::thread::frame_stack::FrameToken;
use crate::gpu::thread::span_streams::{SpanStream, SpanStreams};
use crate::stats::call_outcome::{GpuOutcome, UntimedReason};
use crate::stats::path_ids::ROOT;
use crate::stats::sampling_decisions::SamplingDecision;

/// A span that is open on this thread, or a `with_stream`.
#[derive(Debug)]
pub(crate) struct OpenGpuSpan {
    pub(super) path: u32,
    /// The window it began in.
    pub(super) epoch: u32,
    /// Spans inside inherit the first.
    pub(super) streams: SpanStreams,
    /// For a call that inherits a stream without owning it: the frame of the call that the stream
    /// comes from.
    pub(super) lender: Option<FrameToken>,
    /// What sampling decided; spans inside follow. `None`: it had nothing to decide.
    pub(super) decision: Option<SamplingDecision>,
    pub(super) state: GpuCallState,
    /// Where it began.
    pub(super) thread: Option<ThreadId>,
    /// When it began, in ticks, if it inherits its stream and is timed.
    pub(super) inherited_at: Option<u64>,
    /// The host time from then to its end event.
    pub(super) host_ticks: Option<u64>,
    /// It ends in another window than it began in: it has its share of the stream's time, and is
    /// booked in no window.
    pub(super) is_crossed: bool,
    /// Its event pairs are of the share for async calls.
    pub(super) is_async: bool,
    /// The thread on which the last poll ended, and how many untimed calls had begun there.
    paused: Option<(ThreadId, u64)>,
    /// Untimed calls ran between its polls.
    pub(super) has_untimed_between: bool,
}

/// What became of the call so far.
#[derive(Debug)]
pub(super) enum GpuCallState {
    /// No call at all: a default stream, or a future's part between its polls.
    None,
    Untimed(GpuOutcome),
    /// Untimed because its own stream cannot be used. Spans inside must not inherit one from
    /// further out instead.
    Unusable(GpuOutcome),
    /// Its start events are recorded.
    Started,
}

/// A span that is dropped before it ended, for example while a thread destroys its thread-locals,
/// gets no end event: it is cancelled.
impl Drop for OpenGpuSpan {
    fn drop(&mut self) {
        self.cancel(ThreadStream::cancel_elsewhere);
    }
}

impl OpenGpuSpan {
    #[cold]
    pub(super) fn boxed() -> Box<Self> {
        Box::new(Self {
            path: ROOT,
            epoch: 0,
            streams: SmallVec::new(),
            lender: None,
            decision: None,
            state: GpuCallState::None,
            thread: None,
            inherited_at: None,
            host_ticks: None,
            is_crossed: false,
            is_async: false,
            paused: None,
            has_untimed_between: false,
        })
    }

    /// Clears the per-call fields, keeps the streams.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.state = GpuCallState::None;
        self.decision = None;
        (self.inherited_at, self.host_ticks) = (None, None);
        self.is_crossed = false;
        self.is_async = false;
        self.thread = None;
        self.lender = None;
        (self.paused, self.has_untimed_between) = (None, false);
    }

    /// The number of the call on the time line: that of its span on the first stream; 0 if it is
    /// not timed, or in no window.
    #[inline]
    pub(crate) fn call_number(&self) -> u64 {
        let first = self
            .streams
            .first()
            .filter(|_| !self.is_crossed)
            .and_then(|stream| stream.timed);
        first.map_or(0, |timed| timed.key.call_number())
    }

    /// What became of the call, once its end events are recorded.
    #[inline]
    pub(crate) fn outcome(&self) -> GpuOutcome {
        if self.is_crossed {
            GpuOutcome::Untimed(UntimedReason::CrossedReset)
        } else {
            GpuOutcome::Submitted
        }
    }

    /// Why the call goes untimed, unless it is captured.
    #[inline]
    pub(crate) fn untimed_reason(&self) -> Option<UntimedReason> {
        match self.state {
            GpuCallState::Untimed(GpuOutcome::Untimed(reason))
            | GpuCallState::Unusable(GpuOutcome::Untimed(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Notes that a poll ended on this thread, where `untimed_begun` untimed calls have begun so
    /// far.
    pub(crate) fn pause(&mut self, untimed_begun: u64) {
        self.paused = Some((thread::current().id(), untimed_begun));
    }

    /// Notes that the next poll begins.
    pub(crate) fn resume(&mut self, untimed_begun: u64) {
        let now = Some((thread::current().id(), untimed_begun));
        let is_here = self.paused.map(|(thread, _)| thread) == now.map(|(thread, _)| thread);
        self.has_untimed_between |= is_here && self.paused != now;
    }

    /// Whether its start events are recorded.
    pub(crate) fn is_started(&self) -> bool {
        matches!(self.state, GpuCallState::Started)
    }

    /// Cancels a span that started, as it will have no end event: calls `tell` for each of its
    /// streams.
    #[inline]
    pub(super) fn cancel(&mut self, mut tell: impl FnMut(&ThreadStream, SpanKey)) {
        if !matches!(self.state, GpuCallState::Started) {
            return;
        }
        self.state = GpuCallState::None;
        self.end_async();
        for stream in &self.streams {
            if let Some(timed) = stream.timed {
                tell(&stream.shared, timed.key);
            }
        }
    }

    /// What an async call occupied of its contexts' shares is free again.
    #[inline]
    pub(super) fn end_async(&self) {
        if self.is_async {
            let streams = self.streams.iter();
            streams.for_each(|stream| stream.shared.context.async_share.release());
        }
    }

    /// Makes this entry, which is blank, one for a poll of `future`: what spans inside need to
    /// know, without the call itself.
    pub(super) fn set_to_poll_of(&mut self, future: &Self, here: ThreadId) {
        self.path = future.path;
        self.epoch = future.epoch;
        self.streams = future.streams.clone();
        self.decision = future.decision;
        if future.is_on_another_stream(here) {
            self.streams
                .iter_mut()
                .for_each(|stream| stream.timed = None);
        }
        if let GpuCallState::Unusable(outcome) = future.state {
            self.state = GpuCallState::Unusable(outcome);
        }
    }

    /// Whether its stream's handle stands for another stream on this thread, so that nothing here
    /// is in its time.
    pub(super) fn is_on_another_stream(&self, here: ThreadId) -> bool {
        let mut streams = self.streams.iter();
        self.thread.is_some_and(|thread| thread != here)
            && streams.any(|stream| stream.shared.stream == Stream::PER_THREAD)
    }

    /// The stream on which this span is timed that is the same as `other`.
    #[inline]
    pub(super) fn timed_on(&self, other: &ThreadStream) -> Option<&SpanStream> {
        let mut streams = self.streams.iter();
        streams.find(|stream| stream.timed.is_some() && stream.shared.is_same_stream(other))
    }
}
