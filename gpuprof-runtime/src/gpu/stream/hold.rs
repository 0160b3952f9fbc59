//! What a span has of its stream, so that the stream exists when the end event is recorded.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::gpu::stream::context_guard::HeldHandle;

/// What a span has of its stream.
#[derive(Clone, Debug)]
pub(in crate::gpu) enum Hold {
    /// Nothing. The stream outlasts the call that it was given to.
    Nothing,
    /// Nothing either. The stream was given as a reference to an `Arc` that outlasts the call.
    Lent(LentStream),
    /// The stream, and with it the context, until the end event.
    Owned(#[expect(dead_code, reason = "held, not read")] HeldHandle<CudaStream>),
}

impl Hold {
    pub(in crate::gpu) fn is_owned(&self) -> bool {
        matches!(self, Self::Owned(_))
    }

    pub(in crate::gpu) fn lent(stream: &Arc<CudaStream>) -> Self {
        Self::Lent(LentStream(Arc::as_ptr(stream)))
    }

    /// The same for a call that may outlast the one that the stream was given to. `None`: the
    /// stream cannot be owned.
    ///
    /// # Safety
    /// The call that the stream was given to must not have ended.
    pub(in crate::gpu) unsafe fn owned(self) -> Option<Self> {
        match self {
            Self::Nothing => None,
            // SAFETY: passed on to the caller.
            Self::Lent(lent) => Some(unsafe { lent.own() }),
            Self::Owned(_) => Some(self),
        }
    }

    pub(in crate::gpu) fn hold_owned(stream: &Arc<CudaStream>) -> Self {
        Self::Owned(HeldHandle::new(Arc::clone(stream)))
    }
}

/// A stream in an `Arc` that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct LentStream(*const CudaStream);

// SAFETY: it is a reference to an `Arc<CudaStream>`, which is `Sync`, without its lifetime.
unsafe impl Send for LentStream {}
// SAFETY: the same.
unsafe impl Sync for LentStream {}

impl LentStream {
    /// Another owner of the stream.
    ///
    /// # Safety
    /// The call that it was lent to must not have ended.
    unsafe fn own(self) -> Hold {
        // SAFETY: the pointer is that of an `Arc`, whose owner outlasts the call. The `Arc` made
        // here is not dropped.
        let lent = ManuallyDrop::new(unsafe { Arc::from_raw(self.0) });
        Hold::hold_owned(&lent)
    }
}
