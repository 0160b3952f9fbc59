//! Event overhead: the time that an event pair with nothing between its events measures on a
//! device.

use std::sync::Arc;

use cudarc::driver::CudaContext;

use crate::gpu::driver::handles::Stream;
use crate::gpu::driver::table::{Driver, Failed};
use crate::gpu::events::pool::{Context, Pair, within};

/// Pairs recorded one after the other; the least counts.
const PAIRS: usize = 15;

/// A measurement in progress, on a stream of gpuprof's own, so that nobody's work lies between the
/// events.
pub(in crate::gpu) struct Probe {
    context: Arc<Context>,
    stream: Stream,
    pairs: Vec<Pair>,
    held: Option<Arc<CudaContext>>,
}

impl Probe {
    /// Records the pairs; on the resolver's thread. `None` when the driver refuses or the context
    /// is gone.
    pub(in crate::gpu) fn start(driver: &Driver, context: &Arc<Context>) -> Option<Self> {
        let held = context.hold().ok()?;
        let started = within(driver, context.handle, || {
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
                    context.note(failed);
                    probe.put_away(driver);
                    None
                }
            }
        });
        started.inspect_err(|failed| context.note(*failed)).ok()?
    }

    fn record(&mut self, driver: &Driver) -> Result<(), Failed> {
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

    /// Reads the floor if the GPU is through. Returns whether the probe is over, one way or the
    /// other.
    pub(in crate::gpu) fn poll(&self, driver: &Driver) -> bool {
        if let Err(failed) = self.context.check(driver, self.held.is_some()) {
            // Its stream and its events have gone with it.
            self.context.note(failed);
            return true;
        }
        let polled = within(driver, self.context.handle, || {
            let passed = self
                .pairs
                .last()
                .map_or(Ok(true), |pair| driver.is_complete(pair.end));
            match passed {
                Ok(false) => return false,
                Ok(true) => self.read(driver),
                Err(failed) => self.context.note(failed),
            }
            self.put_away(driver);
            true
        });
        polled.unwrap_or_else(|failed| {
            self.context.note(failed);
            self.put_away(driver);
            true
        })
    }

    fn read(&self, driver: &Driver) {
        let read = |pair: &Pair| driver.elapsed_ns(pair.start, pair.end).ok();
        // The least: other streams' work between the two events of a pair makes it read more, never
        // less. On an H200 that was busy training, the median read 10 µs and the least 2.
        if let Some(least) = self.pairs.iter().filter_map(read).min() {
            // Set once: a context is probed once.
            let _ = self.context.floor_ns.set(least);
        }
    }

    fn put_away(&self, driver: &Driver) {
        for pair in &self.pairs {
            self.context.give(*pair);
        }
        // A failure is counted; the stream then goes with its context.
        let _ = driver.destroy_stream(self.stream);
    }
}
