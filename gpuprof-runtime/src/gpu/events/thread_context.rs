//! A context as used by one thread, and how the resolver comes to own it while samples of that
//! thread are pending.
//!
//! Threads share no reference count: incrementing one for each span, from every thread, would cost
//! as much as recording an event.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use cudarc::driver::CudaContext;

use crate::gpu::events::pool::Context;
use crate::gpu::resolver::handshake::Handover;

/// One context, met by one thread through one of its owners.
#[derive(Debug)]
pub(crate) struct ThreadContext {
    context: Arc<Context>,
    /// cudarc's owner; `None` where it was met by raw handles. The `Weak` keeps its address from
    /// being used again.
    owner: Option<Weak<CudaContext>>,
    pub(in crate::gpu) handover: Handover,
    /// Samples of the thread that the resolver has and has not resolved. It alone uses this and the
    /// next.
    pending: AtomicUsize,
    held: AtomicBool,
}

impl ThreadContext {
    pub(in crate::gpu) fn new(context: Arc<Context>, owner: Option<Weak<CudaContext>>) -> Self {
        Self {
            context,
            owner,
            handover: Handover::new(),
            pending: AtomicUsize::new(0),
            held: AtomicBool::new(false),
        }
    }

    pub(in crate::gpu) fn shared(&self) -> &Arc<Context> {
        &self.context
    }

    /// Whether both are the same context.
    #[inline]
    pub(in crate::gpu) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
    }

    #[inline]
    pub(in crate::gpu) fn owner(&self) -> Option<&Weak<CudaContext>> {
        self.owner.as_ref()
    }

    #[inline]
    pub(in crate::gpu) fn is_of(&self, owner: *const CudaContext) -> bool {
        self.owner
            .as_ref()
            .is_some_and(|mine| mine.as_ptr() == owner)
    }

    /// The owner, where the resolver must be given it before the next sample. Only for the thread
    /// whose this is, and after the sample is announced.
    #[inline]
    pub(in crate::gpu) fn hand_over(&self) -> Option<Arc<CudaContext>> {
        let owner = self.owner.as_ref()?;
        if !self.handover.claim() {
            return None;
        }
        let owner = owner.upgrade();
        if owner.is_none() {
            self.handover.withdraw();
        }
        owner
    }

    /// Whether the resolver holds it.
    pub(in crate::gpu) fn is_held(&self) -> bool {
        self.held.load(Relaxed)
    }

    pub(in crate::gpu) fn set_held(&self, held: bool) {
        self.held.store(held, Relaxed);
    }

    pub(in crate::gpu) fn has_pending(&self) -> bool {
        self.pending.load(Relaxed) > 0
    }

    pub(in crate::gpu) fn expect(&self) {
        self.pending.store(self.pending.load(Relaxed) + 1, Relaxed);
    }

    pub(in crate::gpu) fn resolve(&self) {
        let pending = self.pending.load(Relaxed);
        self.pending.store(pending.saturating_sub(1), Relaxed);
    }
}

impl Deref for ThreadContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
