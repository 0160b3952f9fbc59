//! The stream that a call without one of its own inherits, and until when it may be used.
//!
//! A span of `#[gpu_profile]` ends before the call around it, and so does one poll of a future. A
//! [`scope!`](crate::scope!) in a future may end later than the span that it inherits from, and a
//! future that is leaked never ends it. A stream that nothing keeps is therefore used only while
//! the call that it was given to is open.

use crate::gpu::frame::{Open, State};
use crate::gpu::frame_stack::FrameToken;
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::stream::resolve::Lanes;
use crate::stats::ended_call::{GpuOutcome, UntimedReason};

const STREAM_UNSAFE: GpuOutcome = GpuOutcome::Untimed(UntimedReason::StreamUnsafe);

/// An inherited stream.
pub(in crate::gpu) struct Inherited {
    /// One or none.
    pub(in crate::gpu) lanes: Lanes,
    /// The frame of the call that lends the stream; `None` if the lane owns it.
    pub(in crate::gpu) lender: Option<FrameToken>,
}

impl GpuThread {
    /// The enclosing span's first stream, if there is one.
    ///
    /// # Errors
    /// If the enclosing span cannot use its stream, or the stream may be destroyed before the call
    /// ends.
    pub(in crate::gpu) fn inherit(&self, is_async: bool) -> Result<Inherited, GpuOutcome> {
        for (position, open) in self.frames.gpu().rev() {
            if let State::Unusable(outcome) = open.state {
                return Err(outcome);
            }
            let Some(lane) = open.lanes.as_slice().first() else {
                continue;
            };
            let mut lender = None;
            if !lane.hold.is_owned() {
                lender = open.lender.or_else(|| self.frames.token(position));
                if !self.is_lent(lender) {
                    return Err(STREAM_UNSAFE);
                }
            }
            let lane = if is_async {
                // A future may outlive the span that it inherits from.
                lender = None;
                // SAFETY: the call that the stream was given to is open.
                unsafe { lane.owned() }.ok_or(STREAM_UNSAFE)?
            } else {
                lane.clone()
            };
            return Ok(Inherited {
                lanes: Lanes::One(lane),
                lender,
            });
        }
        Ok(Inherited {
            lanes: Lanes::NONE,
            lender: None,
        })
    }

    /// Whether the stream that the call inherited, if it did, still exists.
    ///
    /// # Errors
    /// If the call around it that lent the stream has ended.
    #[inline]
    pub(in crate::gpu) fn check_lender(&self, open: &Open) -> Result<(), GpuOutcome> {
        match open.lender.is_none() || self.is_lent(open.lender) {
            true => Ok(()),
            false => Err(STREAM_UNSAFE),
        }
    }

    fn is_lent(&self, lender: Option<FrameToken>) -> bool {
        lender.is_some_and(|lender| self.frames.is_open(lender))
    }
}
