//! Event pairs that graphs record, and what happens to them when nothing refers to them any more.
//!
//! Replay pairs are read and returned to the pool. A pair that some graph may still record at any
//! time, because it was captured or because the driver refused to replace it, is poisoned: it is
//! reused for captures only and never read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::gpu::driver::table::Driver;
use crate::gpu::events::pool::{Context, NoPair, PAIRS_CEILING, Pair};

/// Most pairs of one context that captured calls can have, and as many that their replays can:
/// spans outside always find the other half.
const CEILING: usize = PAIRS_CEILING / 4;

/// A pair that a graph records.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(in crate::gpu) context: Arc<Context>,
    pub(in crate::gpu) pair: Pair,
    /// Replays that it is not meant for may record it, now and later: it must never be read.
    spoilt: AtomicBool,
}

impl Lent {
    /// A pair of the pool, for a replay; the context is current. It goes back when nothing refers
    /// to it any more.
    pub(in crate::gpu) fn take(
        driver: &Driver,
        context: &Arc<Context>,
    ) -> Result<Arc<Self>, NoPair> {
        let pair = Self::counted(driver, context, &context.in_replays)?;
        Ok(Self::new(context, pair, false))
    }

    /// A pair for a captured call, which nobody reads; the context is current.
    pub(in crate::gpu) fn park(
        driver: &Driver,
        context: &Arc<Context>,
    ) -> Result<Arc<Self>, NoPair> {
        let parked = context.parked.lock().pop();
        let pair = match parked {
            Some(pair) => pair,
            None => Self::counted(driver, context, &context.in_captures)?,
        };
        Ok(Self::new(context, pair, true))
    }

    fn new(context: &Arc<Context>, pair: Pair, spoilt: bool) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            pair,
            spoilt: AtomicBool::new(spoilt),
        })
    }

    /// A pair of the pool, one of those that `taken` counts.
    fn counted(driver: &Driver, context: &Context, taken: &AtomicUsize) -> Result<Pair, NoPair> {
        if taken.fetch_add(1, Relaxed) >= CEILING {
            taken.fetch_sub(1, Relaxed);
            return Err(NoPair::Exhausted);
        }
        context.take(driver).inspect_err(|_| {
            taken.fetch_sub(1, Relaxed);
        })
    }

    pub(in crate::gpu) fn spoil(&self) {
        self.spoilt.store(true, Relaxed);
    }

    pub(in crate::gpu) fn is_spoilt(&self) -> bool {
        self.spoilt.load(Relaxed)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.is_spoilt() {
            // It stays counted where it is.
            self.context.parked.lock().push(self.pair);
        } else {
            self.context.in_replays.fetch_sub(1, Relaxed);
            self.context.give(self.pair);
        }
    }
}
