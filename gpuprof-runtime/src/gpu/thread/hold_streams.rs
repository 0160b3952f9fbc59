//! Resolves what a caller passes to what events need: streams with their contexts, and what keeps
//! them alive.

use std::convert::identity;
use std::sync::{Arc, Weak};

use crate::driver::handles;
use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::pool::{Context, Life};
use crate::gpu::events::thread_stream::ThreadStream;
use crate::gpu::stream::stream_ref::StreamRef;
use crate::gpu::thread::call_streams::CallStreams;
use crate::gpu::thread::gpu_thread::GpuThread;
use crate::gpu::thread::local_streams::LocalStream;
use crate::gpu::thread::open_gpu_span::OpenGpuSpan;
use crate::gpu::thread::span_streams::SpanStream;
use crate::gpu::timing::Timing;
use crate::stats::call_outcome::{GpuOutcome, UntimedReason};

/// The stream or streams of one call, as the attribute's `stream = …` or the search among the
/// parameters gave them.
#[derive(Debug)]
pub enum Streams<'a> {
    /// Not to be timed on the GPU.
    Untimed,
    /// None of its own: the enclosing span's.
    Inherit,
    /// One.
    One(StreamRef<'a>),
    /// Several: timed from the first start to the last end, per device.
    Many(Vec<StreamRef<'a>>),
}

impl Timing {
    /// Takes hold of a call's streams. `later`: the call begins when nothing that was borrowed here
    /// need live any more.
    #[inline]
    pub(crate) fn hold(
        &self,
        thread: &mut GpuThread,
        streams: &Streams<'_>,
        later: bool,
    ) -> CallStreams {
        match streams {
            Streams::Untimed | Streams::Inherit => CallStreams::Inherit,
            Streams::One(stream) => match self.hold_one(thread, stream, later) {
                Ok(open) => CallStreams::Own(open),
                Err(outcome) => CallStreams::Refused(outcome),
            },
            Streams::Many(streams) => self.hold_several(thread, streams, later),
        }
    }

    /// The same for the default stream of all threads.
    pub(crate) fn hold_default(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> CallStreams {
        let open = self.hold_one(thread, stream, false);
        open.map_or_else(CallStreams::Refused, CallStreams::Default)
    }

    /// Each stream once.
    #[cold]
    fn hold_several(
        &self,
        thread: &mut GpuThread,
        streams: &[StreamRef<'_>],
        later: bool,
    ) -> CallStreams {
        let mut open = thread.blank();
        for stream in streams {
            match self.hold_one(thread, stream, later) {
                Ok(mut one) => {
                    let known = &open.streams;
                    let is_new = |new: &SpanStream| {
                        let mut known = known.iter();
                        !known.any(|known| known.shared.is_same_stream(&new.shared))
                    };
                    let new = one.streams.pop().filter(is_new);
                    open.streams.extend(new);
                }
                Err(outcome) => {
                    thread.keep_open(open);
                    return CallStreams::Refused(outcome);
                }
            }
        }
        CallStreams::Own(open)
    }

    /// An entry for a default stream without a span, as `with_stream` sets it. `None`: the stream
    /// cannot be used.
    pub(crate) fn default_stream(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> Option<Box<OpenGpuSpan>> {
        self.hold_one(thread, stream, false).ok()
    }

    /// An entry for a call on one stream.
    #[inline(always)]
    fn hold_one(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
        later: bool,
    ) -> Result<Box<OpenGpuSpan>, GpuOutcome> {
        let unsafe_stream = GpuOutcome::Untimed(UntimedReason::StreamUnsafe);
        let hold = stream.hold(later).ok_or(unsafe_stream)?;
        if let Some((handle, owner)) = stream.handle_and_owner() {
            let owner = Arc::as_ptr(owner);
            let is_it = |known: &ThreadStream| known.stream == handle && known.is_of(owner);
            if let Some(local) = thread.streams.find_mut(is_it) {
                return Ok(local.blank(hold));
            }
        }
        let shared = self.register_stream(thread, stream)?;
        let mut open = thread.blank();
        open.streams.push(SpanStream::new(shared, hold));
        Ok(open)
    }

    /// The stream of another thread as this thread uses it.
    pub(in crate::gpu) fn local(
        &self,
        thread: &mut GpuThread,
        other: &Arc<ThreadStream>,
    ) -> Arc<ThreadStream> {
        let is_it = |known: &ThreadStream| known.is_same_use(other);
        match thread.streams.find(is_it) {
            Some(known) => Arc::clone(known),
            None => {
                let (context, owner) = (Arc::clone(&other.context), other.owner().cloned());
                self.keep_stream(thread, other.stream, context, owner)
            }
        }
    }

    fn keep_stream(
        &self,
        thread: &mut GpuThread,
        stream: handles::Stream,
        context: Arc<Context>,
        owner: Option<Weak<cudarc::driver::CudaContext>>,
    ) -> Arc<ThreadStream> {
        thread.note_set_up(true);
        let id = self.next_stream_id();
        let counters = thread.counters;
        let shared = ThreadStream::new(id, thread.id, stream, context, owner, counters);
        let (local, ring) = LocalStream::new(shared);
        let shared = Arc::clone(&local.shared);
        self.add_stream(&shared, ring);
        thread.streams.insert(local);
        shared
    }

    #[cold]
    #[inline(never)]
    fn register_stream(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> Result<Arc<ThreadStream>, GpuOutcome> {
        let driver = Driver::get();
        let owner = stream.context();
        if let Some(owner) = owner
            && let Some(known) = thread.streams.find(|known| known.is_of(Arc::as_ptr(owner)))
        {
            let (context, owner) = (Arc::clone(&known.context), Arc::downgrade(owner));
            return Ok(self.keep_stream(thread, stream.handle(), context, Some(owner)));
        }
        let unusable = |failed: FailedCall| {
            if failed.is_missing() || driver.has_ended() {
                GpuOutcome::Untimed(UntimedReason::Unavailable)
            } else {
                GpuOutcome::Untimed(UntimedReason::CudaError)
            }
        };
        // A stream that is being captured must not be asked for its context.
        if stream.raw_context() == handles::Context::NULL
            && driver.is_capturing(stream.handle()).map_err(unusable)?
        {
            return Err(GpuOutcome::CAPTURED);
        }
        // RELAXED: another stream of this thread may be captured, and which of these calls count as
        // unsafe is undocumented.
        let met = driver.relaxed(|| {
            let life = Life::of(driver, stream)?;
            // Of a stream that is not cudarc's, only this tells whether it is still the context met
            // before.
            let is_it = |known: &ThreadStream| {
                let is_same = known.stream == stream.handle() && known.context.life() == life;
                is_same && known.owner().is_none() && owner.is_none()
            };
            if let Some(known) = thread.streams.find(is_it) {
                return Ok(Arc::clone(known));
            }
            let context = self.contexts.find_or_add(driver, life, stream)?;
            (self.meet_device)(context.device);
            let owner = owner.map(Arc::downgrade);
            Ok(self.keep_stream(thread, stream.handle(), context, owner))
        });
        met.and_then(identity).map_err(unusable)
    }
}
