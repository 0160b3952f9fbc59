//! Event overhead: the time that an event pair with nothing between its events measures on a
//! device.
//!
//! Work on other streams lengthens that time (H200, driver 580: 1.25 µs on the idle device, 10 to
//! 14 µs while it trained). It is therefore measured before the first call of a context, and again
//! at a few later moments, if possible while no call is pending. The least of all counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crossbeam_queue::SegQueue;
use cudarc::driver::CudaContext;

use crate::clock;
use crate::driver::current_context::with_current;
use crate::driver::handles::Stream;
use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::pool::{Context, EventPair};

/// Pairs recorded one after the other.
const PAIRS: usize = 15;
/// The time from each measurement of a context to the next one, ns.
const WAITS_NS: [u64; 4] = [50_000_000, 200_000_000, 800_000_000, 3_200_000_000];
/// After this many times the wait, calls may be pending.
const LONGEST_WAITS: u64 = 4;

/// A measurement in progress, on a stream of gpuprof's own, so that no other work lies between the
/// events.
#[derive(Debug)]
pub(in crate::gpu) struct OverheadProbe {
    context: Arc<Context>,
    stream: Stream,
    pairs: Vec<EventPair>,
    #[expect(dead_code, reason = "held, not read")]
    held: Option<Arc<CudaContext>>,
}

/// The measurements of a process that are not over.
#[derive(Debug)]
pub(in crate::gpu) struct Probes {
    /// Begun on the program's threads, for the resolver.
    begun: SegQueue<OverheadProbe>,
    open: AtomicU32,
}

impl Probes {
    pub(in crate::gpu) const fn new() -> Self {
        Self {
            begun: SegQueue::new(),
            open: AtomicU32::new(0),
        }
    }

    /// Whether any is not over.
    pub(in crate::gpu) fn is_any_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Whether one was begun that the resolver has not taken.
    pub(in crate::gpu) fn has_new(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Measures the event overhead of a context on which nothing has been timed, before its first
    /// call begins; on the program's thread.
    #[cold]
    #[inline(never)]
    pub(in crate::gpu) fn measure_before_first_call(
        &self,
        driver: &Driver,
        context: &Arc<Context>,
    ) {
        if !context.claim_first_measurement() {
            return;
        }
        // A failure is counted, and the resolver measures later.
        if let Ok(Some(probe)) = driver.relaxed(|| OverheadProbe::start(driver, context)) {
            self.open.fetch_add(1, Relaxed);
            self.begun.push(probe);
        }
    }

    /// Those that the resolver has not taken.
    fn take_new(&self) -> impl Iterator<Item = OverheadProbe> {
        std::iter::from_fn(|| self.begun.pop())
    }
}

impl OverheadProbe {
    /// Records the pairs; the thread is in RELAXED capture mode. `None` if the driver refuses or
    /// the context is gone.
    fn start(driver: &Driver, context: &Arc<Context>) -> Option<Self> {
        let held = context.hold().ok()?;
        let started = with_current(driver, context.handle, || {
            let stream = driver.create_stream().ok()?;
            let mut probe = Self {
                context: Arc::clone(context),
                stream,
                pairs: Vec::new(),
                held,
            };
            match probe.record(driver) {
                Ok(()) => Some(probe),
                Err(failed) => {
                    context.count_failure(failed);
                    probe.destroy_events(driver);
                    None
                }
            }
        });
        started
            .inspect_err(|failed| context.count_failure(*failed))
            .ok()?
    }

    fn record(&mut self, driver: &Driver) -> Result<(), FailedCall> {
        for _ in 0..PAIRS {
            let Ok(pair) = self.context.take(driver) else {
                break;
            };
            self.pairs.push(pair);
            driver.record(pair.start, self.stream)?;
            driver.record(pair.end, self.stream)?;
        }
        Ok(())
    }

    /// Reads the pairs if the GPU is through. Returns whether the probe is over, one way or the
    /// other.
    fn poll(&self, driver: &Driver) -> bool {
        if let Err(failed) = self.context.check(driver, false) {
            // Its stream and its events have gone with it.
            self.context.count_failure(failed);
            return true;
        }
        let polled = with_current(driver, self.context.handle, || {
            let passed = self
                .pairs
                .last()
                .map_or(Ok(true), |pair| driver.is_complete(pair.end));
            match passed {
                Ok(false) => return false,
                Ok(true) => self.read(driver),
                Err(failed) => self.context.count_failure(failed),
            }
            self.destroy_events(driver);
            true
        });
        polled.unwrap_or_else(|failed| {
            self.context.count_failure(failed);
            self.destroy_events(driver);
            true
        })
    }

    fn read(&self, driver: &Driver) {
        let read = |pair: &EventPair| driver.elapsed_ns(pair.start, pair.end).ok();
        if let Some(least) = self.pairs.iter().filter_map(read).min() {
            self.context.note_event_overhead(least);
        }
    }

    fn destroy_events(&self, driver: &Driver) {
        for pair in &self.pairs {
            self.context.return_pair(*pair);
        }
        // A failure is counted; the stream then goes with its context.
        let _ = driver.destroy_stream(self.stream);
    }
}

/// The resolver's measurements: those in progress, and when each context is measured again.
#[derive(Default)]
pub(in crate::gpu) struct EventOverheads {
    probes: Vec<OverheadProbe>,
    contexts: Vec<ContextOverhead>,
}

struct ContextOverhead {
    context: Arc<Context>,
    /// When it was measured last, in ticks of the clock.
    at: u64,
    /// The waits that are over.
    waits: usize,
}

impl EventOverheads {
    /// A context that the resolver has not met, or that has returned.
    pub(in crate::gpu) fn add_context(&mut self, context: &Arc<Context>) {
        let mut known = self.contexts.iter();
        if !known.any(|known| Arc::ptr_eq(&known.context, context)) {
            self.contexts.push(ContextOverhead {
                context: Arc::clone(context),
                at: clock::now(),
                waits: 0,
            });
        }
    }

    /// Whether a measurement is in progress.
    pub(in crate::gpu) fn is_measuring(&self) -> bool {
        !self.probes.is_empty()
    }

    /// Reads what is complete.
    pub(in crate::gpu) fn read(&mut self, all: &Probes, driver: &Driver) {
        self.probes.extend(all.take_new());
        self.probes.retain(|probe| {
            let is_over = probe.poll(driver);
            if is_over {
                all.open.fetch_sub(1, Relaxed);
            }
            !is_over
        });
    }

    /// Begins the measurements that are due. `is_idle`: no call is pending.
    pub(in crate::gpu) fn begin_due(&mut self, all: &Probes, driver: &Driver, is_idle: bool) {
        self.contexts
            .retain(|known| known.context.is_alive() && known.waits < WAITS_NS.len());
        let now = clock::now();
        for at in 0..self.contexts.len() {
            let due = self
                .contexts
                .get_mut(at)
                .filter(|known| known.is_due(now, is_idle));
            if let Some(known) = due {
                known.at = now;
                known.waits += 1;
                let context = Arc::clone(&known.context);
                self.start(all, driver, &context);
            }
        }
    }

    fn start(&mut self, all: &Probes, driver: &Driver, context: &Arc<Context>) {
        if let Some(probe) = OverheadProbe::start(driver, context) {
            all.open.fetch_add(1, Relaxed);
            self.probes.push(probe);
        }
    }
}

impl ContextOverhead {
    fn is_due(&self, now: u64, is_idle: bool) -> bool {
        let waited = clock::rough_ns(now.saturating_sub(self.at));
        WAITS_NS.get(self.waits).is_some_and(|wait| {
            !self.context.is_broken() && waited >= wait * if is_idle { 1 } else { LONGEST_WAITS }
        })
    }
}
