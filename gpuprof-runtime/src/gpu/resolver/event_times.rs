//! What the events of spans read, and the pairs that are held for it.

use std::cell::OnceCell;
use std::convert::identity;
use std::rc::Rc;
use std::sync::Arc;

use crate::driver::current_context::with_current;
use crate::driver::handles::Event;
use crate::driver::table::{CONTEXT_IS_DESTROYED, Driver, FailedCall};
use crate::gpu::events::pool::EventPair;
use crate::gpu::events::thread_stream::ThreadStream;

/// An event pair that is given back when nothing needs its events any more.
#[derive(Debug)]
pub(super) struct HeldPair {
    pub(super) shared: Arc<ThreadStream>,
    pub(super) pair: EventPair,
}

impl Drop for HeldPair {
    fn drop(&mut self) {
        self.shared.give_back(self.pair);
    }
}

/// The event pair of a span that has ended. Most are given back at once; what needs one for longer
/// shares it, which takes an allocation.
#[derive(Debug)]
pub(super) struct EndedPair {
    pub(super) shared: Arc<ThreadStream>,
    pub(super) pair: EventPair,
    kept: OnceCell<Rc<HeldPair>>,
}

impl EndedPair {
    pub(super) fn new(shared: Arc<ThreadStream>, pair: EventPair) -> Self {
        Self {
            shared,
            pair,
            kept: OnceCell::new(),
        }
    }

    /// The pair, which is given back once no other span shares it.
    pub(super) fn share(&self) -> Rc<HeldPair> {
        let kept = self.kept.get_or_init(|| {
            Rc::new(HeldPair {
                shared: Arc::clone(&self.shared),
                pair: self.pair,
            })
        });
        Rc::clone(kept)
    }
}

impl Drop for EndedPair {
    fn drop(&mut self) {
        if self.kept.get().is_none() {
            self.shared.give_back(self.pair);
        }
    }
}

/// The time from the start event of one pair to the end event of another one, ns.
pub(super) fn elapsed(
    driver: &Driver,
    from: &EndedPair,
    to: &EndedPair,
) -> Result<u64, FailedCall> {
    let held = false;
    to.shared.context.check(driver, held)?;
    let offset = offset_ns(driver, &from.shared, held, from.pair.start, to.pair.end);
    offset.map(duration)
}

/// Whether the GPU has passed an event of this stream. `held`: its context is.
pub(super) fn has_passed(
    driver: &Driver,
    shared: &ThreadStream,
    held: bool,
    event: Event,
) -> Result<bool, FailedCall> {
    let context = &shared.context;
    let query = || driver.is_complete(event);
    let lives = context.check(driver, held);
    let answer =
        lives.and_then(|()| with_current(driver, context.handle, query).and_then(identity));
    answer.inspect_err(|&failed| context.count_failure(failed))
}

/// The time from one event to another of the same context, ns. `held`: the context is.
pub(super) fn offset_ns(
    driver: &Driver,
    shared: &ThreadStream,
    held: bool,
    from: Event,
    event: Event,
) -> Result<i64, FailedCall> {
    let context = &shared.context;
    let read = || driver.offset_ns(from, event);
    let lives = context.check(driver, held);
    if lives == Err(FailedCall(CONTEXT_IS_DESTROYED)) {
        driver.count_ended_context();
    }
    let answer = lives.and_then(|()| with_current(driver, context.handle, read).and_then(identity));
    answer.inspect_err(|&failed| context.count_failure(failed))
}

/// The time between two events of which the second is later.
pub(super) fn duration(offset_ns: i64) -> u64 {
    offset_ns.max(0).unsigned_abs()
}
