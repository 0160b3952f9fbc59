//! The event pairs that a thread has at hand for a stream, and those that the resolver gives back.
//!
//! The driver writes to an event when it is recorded, under a lock that all threads of a stream
//! wait for. An event that another thread recorded last is in the cache of another processor. So a
//! pair returns to its thread, and the thread uses few pairs, again and again: first the one that
//! came back last. On an H200 (driver 580) a launch between two records took 1.00 times as long for
//! eight threads on one stream that used 25 pairs each, 1.10 with 512 pairs each, and 1.18 with
//! 4,096 pairs that all shared.

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::driver::table::Driver;
use crate::gpu::events::pool::{Context, EventPair, NoPair};

/// Pairs that a thread takes from the pool at once.
const HANDFUL: usize = 8;
/// Pairs that a thread has at hand, and as many that wait for it; past these they go to the pool of
/// the context.
const KEPT: usize = 256;
/// Spans from one look for returned pairs to the next: few pairs are used meanwhile, and the line
/// that the resolver writes is seldom read.
const SPANS_PER_LOOK: u32 = 8;

/// Event pairs for the next spans of a thread on a stream, the next one last.
#[derive(Debug, Default)]
pub(in crate::gpu) struct PairStock(Vec<EventPair>);

impl PairStock {
    /// A pair for the next span after `started` ones.
    #[inline]
    pub(in crate::gpu) fn take(
        &mut self,
        context: &Context,
        returned: &ReturnedPairs,
        started: u32,
        driver: &Driver,
    ) -> Result<EventPair, NoPair> {
        if started.is_multiple_of(SPANS_PER_LOOK) {
            self.take_returned(context, returned);
        }
        match self.0.pop() {
            Some(pair) => Ok(pair),
            None => self.refill(context, returned, started, driver),
        }
    }

    #[inline(never)]
    fn refill(
        &mut self,
        context: &Context,
        returned: &ReturnedPairs,
        started: u32,
        driver: &Driver,
    ) -> Result<EventPair, NoPair> {
        self.take_returned(context, returned);
        if self.0.is_empty() {
            // Several, so that threads seldom meet at the pool, but none before they are of use,
            // and none that other threads lack.
            let handful = if context.is_short_of_pairs() {
                1
            } else {
                HANDFUL.min(started as usize)
            };
            context.take_free(&mut self.0, handful);
        }
        self.0.pop().map_or_else(|| context.take(driver), Ok)
    }

    #[inline(never)]
    fn take_returned(&mut self, context: &Context, returned: &ReturnedPairs) {
        returned.take_all(&mut self.0);
        // Those that were not needed for the longest time.
        let surplus = self.0.len().saturating_sub(KEPT);
        self.0
            .drain(..surplus)
            .for_each(|pair| context.return_pair(pair));
    }

    /// Empties it.
    pub(in crate::gpu) fn drain(&mut self) -> impl Iterator<Item = EventPair> {
        self.0.drain(..)
    }
}

/// Pairs on their way back to a thread. On a cache line of its own, because the resolver writes
/// there for each span.
#[derive(Debug)]
pub(in crate::gpu) struct ReturnedPairs(CachePadded<Mutex<Option<Vec<EventPair>>>>);

impl ReturnedPairs {
    pub(in crate::gpu) fn new() -> Self {
        Self(CachePadded::new(Mutex::new(Some(Vec::new()))))
    }

    /// On the resolver's thread.
    ///
    /// # Errors
    /// The pair, if enough wait, or the thread uses the stream no longer.
    pub(in crate::gpu) fn push(&self, pair: EventPair) -> Result<(), EventPair> {
        match &mut *self.0.lock() {
            Some(pairs) if pairs.len() < KEPT => {
                pairs.push(pair);
                Ok(())
            }
            _ => Err(pair),
        }
    }

    /// On the thread: adds all that wait to `stock`. It never waits for the resolver.
    pub(in crate::gpu) fn take_all(&self, stock: &mut Vec<EventPair>) {
        if let Some(mut pairs) = self.0.try_lock()
            && let Some(pairs) = &mut *pairs
        {
            stock.append(pairs);
        }
    }

    /// On the thread, which uses the stream no longer. Returns what waits.
    pub(in crate::gpu) fn close(&self) -> Vec<EventPair> {
        self.0.lock().take().unwrap_or_default()
    }
}
