//! Moments on both the clock of a context and the host's, by which the time line puts GPU spans
//! beside calls.
//!
//! An event is recorded on an idle stream of gpuprof's own and asked for until the GPU has passed
//! it: it did so between the last two questions. Clocks drift apart by 10 to 100 ppm, so a moment
//! is good for about a second.

use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::driver::current_context::with_current;
use crate::driver::handles::Stream;
use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::pool::{Context, EventPair};
use crate::gpu::resolver::event_times::HeldPair;
use crate::gpu::stream::context_guard::HeldHandle;
use crate::recorder::{GpuClockAnchor, Recorder};

/// Attempts at one moment, of which the closest counts: the thread may be interrupted.
const ATTEMPTS: u32 = 4;
/// How long an attempt waits for the GPU, which is at work on other streams.
const LONGEST_ATTEMPT: Duration = Duration::from_micros(200);
/// The first moments of a clock follow one another sooner, so that short programs have several.
const SHORTEST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// What moments are measured with, by context.
#[derive(Debug, Default)]
pub(super) struct AnchorsByContext(Vec<ContextAnchors>);

#[derive(Debug)]
struct ContextAnchors {
    /// Number of the context's clock.
    clock: u32,
    context: Arc<Context>,
    stream: Stream,
    pair: EventPair,
    /// When the first moment was measured, and the last one, in ticks.
    first: Option<u64>,
    last: u64,
}

impl AnchorsByContext {
    /// Measures a moment of each clock for which one is due: its number, and an event of its
    /// context with that event's time.
    pub(super) fn renew<'a>(
        &mut self,
        driver: &Driver,
        recorder: &Recorder,
        clocks: impl Iterator<Item = (u32, &'a HeldPair, i64)>,
    ) {
        if !recorder.takes_gpu_events() {
            self.0.drain(..).for_each(|own| own.destroy_events(driver));
            return;
        }
        self.0.retain(|own| own.context.is_alive());
        let now = clock::now();
        for (clock, origin, origin_ns) in clocks {
            let Some(own) = self.find_or_add_clock(driver, clock, &origin.shared.context) else {
                continue;
            };
            if !own.is_due(now) {
                continue;
            }
            own.first.get_or_insert(now);
            own.last = now;
            match own.measure(driver, origin) {
                Ok(Some((offset_ns, ticks, error))) => {
                    // Elapsed times come in single precision.
                    let rounding_ns = offset_ns.unsigned_abs() >> 23;
                    let anchor = GpuClockAnchor {
                        at_ns: origin_ns.saturating_add(offset_ns),
                        ticks,
                        error_ns: clock::rough_ns(error).saturating_add(rounding_ns),
                    };
                    recorder.add_anchor(clock, anchor);
                }
                Ok(None) => {}
                Err(failed) => own.context.count_failure(failed),
            }
        }
    }

    fn find_or_add_clock(
        &mut self,
        driver: &Driver,
        clock: u32,
        context: &Arc<Context>,
    ) -> Option<&mut ContextAnchors> {
        if !self.0.iter().any(|own| own.clock == clock) {
            self.0.push(ContextAnchors::new(driver, clock, context)?);
        }
        self.0.iter_mut().find(|own| own.clock == clock)
    }
}

impl ContextAnchors {
    /// `None` if the driver refuses, which is counted, or the context is gone.
    fn new(driver: &Driver, clock: u32, context: &Arc<Context>) -> Option<Self> {
        let _held = HeldHandle::new(context.hold().ok()?);
        context.check(driver, false).ok()?;
        let made = with_current(driver, context.handle, || {
            let pair = context.take(driver).ok()?;
            let Ok(stream) = driver.create_stream() else {
                context.return_pair(pair);
                return None;
            };
            Some(Self {
                clock,
                context: Arc::clone(context),
                stream,
                pair,
                first: None,
                last: 0,
            })
        });
        made.inspect_err(|failed| context.count_failure(*failed))
            .ok()?
    }

    fn is_due(&self, now: u64) -> bool {
        let Some(first) = self.first else { return true };
        let since = |ticks| Duration::from_nanos(clock::rough_ns(now.saturating_sub(ticks)));
        let known_for = since(first).saturating_sub(since(self.last));
        since(self.last) >= known_for.clamp(SHORTEST_WAIT, LONGEST_WAIT)
    }

    /// The time of a moment since the event `origin`, ns, the moment in ticks, and by how many of
    /// these it may be wrong. `None` if the GPU was busy.
    fn measure(
        &self,
        driver: &Driver,
        origin: &HeldPair,
    ) -> Result<Option<(i64, u64, u64)>, FailedCall> {
        let Ok(held) = self.context.hold() else {
            return Ok(None);
        };
        let _held = HeldHandle::new(held);
        self.context.check(driver, false)?;
        let attempts = || {
            let mut closest: Option<(i64, u64, u64)> = None;
            for _ in 0..ATTEMPTS {
                let Some((after, before)) = self.attempt(driver)? else {
                    continue;
                };
                let error = before.saturating_sub(after).div_ceil(2);
                if closest.is_none_or(|(.., known)| error < known) {
                    let offset_ns = driver.offset_ns(origin.pair.start, self.pair.start)?;
                    closest = Some((offset_ns, after + error, error));
                }
            }
            Ok(closest)
        };
        with_current(driver, self.context.handle, attempts)?
    }

    /// The GPU passed the event after the first moment and before the second, in ticks.
    fn attempt(&self, driver: &Driver) -> Result<Option<(u64, u64)>, FailedCall> {
        let began = clock::now();
        let mut after = began;
        driver.record(self.pair.start, self.stream)?;
        loop {
            let asked = clock::now();
            if driver.is_complete(self.pair.start)? {
                return Ok(Some((after, clock::now())));
            }
            after = asked;
            let took = clock::rough_ns(asked.saturating_sub(began));
            if took > LONGEST_ATTEMPT.as_nanos() as u64 {
                return Ok(None);
            }
        }
    }

    fn destroy_events(self, driver: &Driver) {
        let held = self.context.hold();
        if held.is_err() || self.context.check(driver, false).is_err() {
            // Its stream and its events have gone with it.
            return;
        }
        let _held = held.map(HeldHandle::new);
        let put_away = with_current(driver, self.context.handle, || {
            self.context.return_pair(self.pair);
            // A failure is counted; the stream then goes with its context.
            let _ = driver.destroy_stream(self.stream);
        });
        let _ = put_away.inspect_err(|failed| self.context.count_failure(*failed));
    }
}
