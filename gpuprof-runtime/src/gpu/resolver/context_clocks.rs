//! Where spans are among those of the other streams of their device: whether there is another
//! stream, and if so, when they started by a clock that all streams of the context share.
//!
//! The clock is the time since one event of the context. It takes one more call of the driver for a
//! span that is nested in none, and none at all while a device has one stream.

use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::driver::table::Driver;
use crate::gpu::resolver::event_times::{self, EndedPair, HeldPair};
use crate::gpu::timing::Timing;
use crate::stats::busy_union::SpanPlace;

/// Elapsed times come in single precision: one of 100 ms is exact to 8 ns. Beyond that another
/// event is taken.
const MAX_FROM_EVENT_NS: i64 = 100_000_000;

/// The clocks of all contexts.
#[derive(Debug, Default)]
pub(super) struct ContextClocks {
    clocks: Vec<ContextClock>,
    next: u32,
}

#[derive(Debug)]
struct ContextClock {
    number: u32,
    /// Its start event was at `event_ns`.
    event: Rc<HeldPair>,
    event_ns: i64,
}

/// The devices that have had several streams, and the resolver's latest look at which they had.
#[derive(Debug, Default)]
pub(super) struct SharedDevices(SmallVec<[(u32, u64); 2]>);

impl SharedDevices {
    /// Notes a look, by the device of each stream.
    pub(super) fn add_poll(&mut self, look: u64, streams: impl Iterator<Item = u32>) {
        let mut devices: SmallVec<[u32; 8]> = streams.collect();
        devices.sort_unstable();
        for streams in devices.chunk_by(|a, b| a == b) {
            let &[device, _, ..] = streams else { continue };
            match self.0.iter_mut().find(|(known, _)| *known == device) {
                Some((_, latest)) => *latest = look,
                None => self.0.push((device, look)),
            }
        }
    }

    /// Whether no span of another stream of the device can have been open beside one that has ended
    /// by now. `came_at`: the look at which its start came.
    ///
    /// A stream is announced before its first event is recorded, and is there until all of its
    /// spans are resolved. What came two looks later started after that.
    pub(super) fn was_alone(&self, timing: &Timing, device: u32, came_at: u64) -> bool {
        let mut known = self.0.iter().filter(|(known, _)| *known == device);
        let latest = known.next().map(|(_, look)| *look);
        latest.is_none_or(|look| came_at > look + 1) && !timing.has_new_streams()
    }
}

impl ContextClocks {
    /// Lets go of contexts that have ended.
    pub(super) fn retain_living(&mut self) {
        let is_alive = |clock: &ContextClock| clock.event.shared.context.is_alive();
        self.clocks.retain(is_alive);
    }

    /// Of each clock its number, an event pair, and the time of the pair's start.
    pub(super) fn origins(&self) -> impl Iterator<Item = (u32, &HeldPair, i64)> {
        let clocks = self.clocks.iter();
        clocks.map(|clock| (clock.number, &*clock.event, clock.event_ns))
    }

    /// When a span started whose event pair this is. `held`: its context is.
    pub(super) fn start_on_context_clock(
        &mut self,
        driver: &Driver,
        span: &EndedPair,
        held: bool,
    ) -> SpanPlace {
        let context = &span.shared.context;
        let mut clocks = self.clocks.iter_mut();
        let clock = clocks.find(|clock| Arc::ptr_eq(&clock.event.shared.context, context));
        let Some(clock) = clock else {
            return self.begin(span);
        };
        let (from, event) = (clock.event.pair.start, span.pair.start);
        let Ok(since_ns) = event_times::offset_ns(driver, &span.shared, held, from, event) else {
            return SpanPlace::Unknown;
        };
        let start_ns = clock.event_ns.saturating_add(since_ns);
        if since_ns > MAX_FROM_EVENT_NS {
            (clock.event, clock.event_ns) = (span.share(), start_ns);
        }
        SpanPlace::At {
            clock: clock.number,
            start_ns,
        }
    }

    fn begin(&mut self, span: &EndedPair) -> SpanPlace {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.clocks.push(ContextClock {
            number,
            event: span.share(),
            event_ns: 0,
        });
        SpanPlace::At {
            clock: number,
            start_ns: 0,
        }
    }
}
