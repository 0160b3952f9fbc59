//! The contexts that one thread has used, with event pairs of each for its next spans.
//!
//! A span finds its context here without a lock.

use std::sync::Arc;

use cudarc::driver::CudaContext;

use crate::gpu::driver::table::Driver;
use crate::gpu::events::pool::{Context, Life, NoPair, Pair};
use crate::gpu::events::thread_context::ThreadContext;

/// Contexts of raw handles that a thread finds without a lock.
const LENT_KEPT: usize = 8;

/// What one thread has met.
#[derive(Debug, Default)]
pub(in crate::gpu) struct MetContexts {
    /// cudarc's.
    owned: Vec<Met>,
    /// Those met by raw handles, the latest last.
    lent: Vec<Arc<ThreadContext>>,
}

#[derive(Debug)]
struct Met {
    context: Arc<ThreadContext>,
    stock: Vec<Pair>,
}

impl Met {
    fn new(context: &Arc<ThreadContext>) -> Self {
        Self {
            context: Arc::clone(context),
            stock: Vec::new(),
        }
    }
}

impl Drop for Met {
    fn drop(&mut self) {
        self.stock.iter().for_each(|pair| self.context.give(*pair));
    }
}

impl MetContexts {
    /// The one that belongs to `owner`.
    #[inline]
    pub(in crate::gpu) fn known(&self, owner: &Arc<CudaContext>) -> Option<Arc<ThreadContext>> {
        self.known_of(Arc::as_ptr(owner)).map(Arc::clone)
    }

    #[inline]
    fn known_of(&self, owner: *const CudaContext) -> Option<&Arc<ThreadContext>> {
        let mut contexts = self.owned.iter().map(|met| &met.context);
        contexts.find(|known| known.is_of(owner))
    }

    /// A pair for a span on `context`; the context is current.
    #[inline]
    pub(in crate::gpu) fn pair(
        &mut self,
        context: &ThreadContext,
        driver: &Driver,
    ) -> Result<Pair, NoPair> {
        let mut contexts = self.owned.iter_mut();
        match contexts.find(|met| std::ptr::eq(&raw const *met.context, context)) {
            Some(met) => context.take_from(&mut met.stock, driver),
            None => context.take(driver),
        }
    }

    /// The same context as this thread has met it, where that is not how it is known to it: a
    /// future may have begun on another.
    #[inline]
    pub(in crate::gpu) fn own(
        &mut self,
        context: &Arc<ThreadContext>,
    ) -> Option<Arc<ThreadContext>> {
        let owner = context.owner()?;
        if let Some(known) = self.known_of(owner.as_ptr()) {
            return (!Arc::ptr_eq(known, context)).then(|| Arc::clone(known));
        }
        let mine = ThreadContext::new(Arc::clone(context.shared()), Some(owner.clone()));
        let mine = Arc::new(mine);
        self.owned.push(Met::new(&mine));
        Some(mine)
    }

    /// The context met by raw handles in this life of it.
    pub(in crate::gpu) fn known_life(&self, life: Life) -> Option<Arc<ThreadContext>> {
        let mut lent = self.lent.iter().rev();
        lent.find(|context| context.life() == life).map(Arc::clone)
    }

    /// Keeps what was met just now.
    pub(in crate::gpu) fn remember(
        &mut self,
        owner: Option<&Arc<CudaContext>>,
        context: Arc<Context>,
    ) -> Arc<ThreadContext> {
        let met = Arc::new(ThreadContext::new(context, owner.map(Arc::downgrade)));
        if owner.is_some() {
            let is_left =
                |known: &ThreadContext| known.owner().is_some_and(|owner| owner.strong_count() > 0);
            self.owned.retain(|known| is_left(&known.context));
            self.owned.push(Met::new(&met));
        } else {
            if self.lent.len() == LENT_KEPT {
                self.lent.remove(0);
            }
            self.lent.push(Arc::clone(&met));
        }
        met
    }
}
