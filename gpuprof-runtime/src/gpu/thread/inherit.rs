//! The stream that a call without one of its own inherits, and until when it may be used.
//!
//! A span of `#[gpu_profile]` ends before the call around it, and so does one poll of a future. A
//! [`scope!`](crate::scope!) in a future may end later than the span that it inherits from, and a
//! future that is leaked never ends it. A stream that nothing keeps is therefore used only while
//! the call that it was given to is open.

use std::sync::Arc;

use crate::gpu::thread::frame_stack::FrameToken;
use crate::gpu::thread::gpu_thread::GpuThread;
use crate::gpu::thread::open_gpu_span::{GpuCallState, OpenGpuSpan};
use crate::gpu::thread::span_streams::SpanStream;
use crate::stats::call_outcome::{GpuOutcome, UntimedReason};

const STREAM_UNSAFE: GpuOutcome = GpuOutcome::Untimed(UntimedReason::StreamUnsafe);

/// An inherited stream.
pub(in crate::gpu) struct Inherited {
    pub(in crate::gpu) stream: SpanStream,
    /// The frame of the call that lends the stream; `None` if `stream` owns it.
    pub(in crate::gpu) lender: Option<FrameToken>,
}

impl GpuThread {
    /// The enclosing span's first stream, if there is one. That of a future may be as another
    /// thread uses it.
    ///
    /// # Errors
    /// If the enclosing span cannot use its stream, or the stream may be destroyed before the call
    /// ends.
    pub(in crate::gpu) fn inherit(&self, is_async: bool) -> Result<Option<Inherited>, GpuOutcome> {
        for (position, open) in self.frames.gpu().rev() {
            if let GpuCallState::Unusable(outcome) = open.state {
                return Err(outcome);
            }
            let Some(first) = open.streams.first() else {
                continue;
            };
            let mut lender = None;
            let mut hold = first.hold.clone();
            if !hold.is_owned() {
                lender = open.lender.or_else(|| self.frames.token(position));
                if !self.is_lent(lender) {
                    return Err(STREAM_UNSAFE);
                }
                if is_async {
                    // A future may outlive the span that it inherits from.
                    lender = None;
                    // SAFETY: the call that the stream was given to is open.
                    hold = unsafe { hold.owned() }.ok_or(STREAM_UNSAFE)?;
                }
            }
            let stream = SpanStream::new(Arc::clone(&first.shared), hold);
            return Ok(Some(Inherited { stream, lender }));
        }
        Ok(None)
    }

    /// Whether the stream that the call inherited, if it did, still exists.
    ///
    /// # Errors
    /// If the call around it that lent the stream has ended.
    #[inline]
    pub(in crate::gpu) fn check_lender(&self, open: &OpenGpuSpan) -> Result<(), GpuOutcome> {
        if open.lender.is_none() || self.is_lent(open.lender) {
            Ok(())
        } else {
            Err(STREAM_UNSAFE)
        }
    }

    fn is_lent(&self, lender: Option<FrameToken>) -> bool {
        lender.is_some_and(|lender| self.frames.is_open(lender))
    }
}
