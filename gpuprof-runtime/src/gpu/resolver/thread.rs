//! The resolver's thread: asks which events the GPU has passed, reads their times and returns them
//! to the pool.
//!
//! It runs in RELAXED capture mode, so that its queries never disturb a capture. It holds no lock
//! that a span needs, and it owns a context only while spans on it are open, or they or
//! measurements are pending.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, ThreadId};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::clock;
use crate::driver::handles::Stream;
use crate::driver::table::Driver;
use crate::gpu::events::event_overhead::EventOverheads;
use crate::gpu::events::pool::Context;
use crate::gpu::resolver::anchors::AnchorsByContext;
use crate::gpu::resolver::complete::{MultiStreamCalls, ResolverShared};
use crate::gpu::resolver::context_clocks::{ContextClocks, SharedDevices};
use crate::gpu::resolver::recorded_spans::SpanRecorder;
use crate::gpu::resolver::stream_order::StreamOrder;
use crate::gpu::timing::Timing;
use crate::os;

/// While a thread waits for times.
const HURRIED_SLEEP: Duration = Duration::from_micros(20);
/// While times come in. Each poll delays recording threads; waiters unpark this thread.
const BUSY_SLEEP: Duration = Duration::from_millis(1);
/// While times come in faster than rings and pools are made for.
const SHORTEST_SLEEP: Duration = Duration::from_micros(200);
const LONGEST_SLEEP: Duration = Duration::from_millis(8);
/// Polls that find nothing pending before the thread parks until a span wakes it. A wake-up costs a
/// span as much as two event records (H200, driver 580: 0.3 µs a span where every third one met a
/// sleeping thread), and a program that launches all the time must not pay it.
const QUIET_LOOKS: u32 = 10;
/// Longest delay if a wake-up races with parking.
const PARKED: Duration = Duration::from_millis(100);
/// Timeout for the lock of the devices, which is held for a look-up.
const DESCRIBED: Duration = Duration::from_secs(1);
/// Spans that come from one thread between two looks before these are too few.
const CROWDED: u64 = 512;

/// Starts the thread. If that fails, calls go untimed for the rest of the process.
pub(in crate::gpu) fn spawn(timing: &'static Timing) -> Option<thread::Thread> {
    match os::thread_signals::spawn("gpuprof-resolver", move || Resolver::new(timing).run()) {
        Ok(handle) => Some(handle.thread().clone()),
        Err(error) => {
            let line = format!("could not start a thread: {error}; calls are not GPU-timed");
            timing.diagnostics.error(&line);
            None
        }
    }
}

/// Which stream: its context, its handle and, where the handle stands for another stream on each
/// thread, the thread's.
type StreamKey = (usize, Stream, Option<ThreadId>);

struct Resolver {
    timing: &'static Timing,
    driver: &'static Driver,
    contexts: Vec<Arc<Context>>,
    overheads: EventOverheads,
    streams: FxHashMap<StreamKey, StreamOrder>,
    /// Calls on several streams.
    calls: MultiStreamCalls,
    clocks: ContextClocks,
    devices: SharedDevices,
    anchors: AnchorsByContext,
    recorded: SpanRecorder,
    looks: u64,
    /// At the last look more spans came from a thread than rings are made for, or a pool was nearly
    /// empty.
    crowded: bool,
}

impl Resolver {
    fn new(timing: &'static Timing) -> Self {
        Self {
            timing,
            driver: Driver::get(),
            contexts: Vec::new(),
            overheads: EventOverheads::default(),
            streams: FxHashMap::default(),
            calls: MultiStreamCalls::default(),
            clocks: ContextClocks::default(),
            devices: SharedDevices::default(),
            anchors: AnchorsByContext::default(),
            recorded: SpanRecorder::default(),
            looks: 0,
            crowded: false,
        }
    }

    fn run(mut self) {
        let driver = self.driver;
        let ran = driver.relaxed(|| {
            let mut sleep = SHORTEST_SLEEP;
            let mut quiet = 0;
            while !driver.has_ended() {
                let moved = self.round();
                sleep = match (moved, self.crowded) {
                    (_, true) => SHORTEST_SLEEP,
                    (true, false) => BUSY_SLEEP,
                    (false, false) => (sleep * 2).clamp(BUSY_SLEEP, LONGEST_SLEEP),
                };
                quiet = if moved || self.has_pending() {
                    0
                } else {
                    quiet + 1
                };
                if quiet > QUIET_LOOKS {
                    self.sleep_until_woken()
                } else {
                    self.park(sleep)
                }
            }
        });
        // In any other mode a query could spoil a capture of the program's: no time can be read.
        if ran.is_err() {
            self.timing.refused.store(true, Relaxed);
        }
    }

    /// One look at everything. Returns whether anything moved.
    fn round(&mut self) -> bool {
        self.contexts.retain(|context| context.is_alive());
        self.clocks.retain_living();
        let received = self.receive();
        // Before the first calls are booked, for which it says whether they are empty.
        self.overheads.read(&self.timing.probes, self.driver);
        let resolved = self.advance();
        let clocks = self.clocks.origins();
        self.anchors
            .renew(self.driver, &self.timing.recorder, clocks);
        let now_ns = clock::rough_ns(clock::now());
        self.timing.sampling.relax(now_ns);
        self.notify();
        let is_idle = !self.has_pending_calls();
        self.overheads
            .begin_due(&self.timing.probes, self.driver, is_idle);
        for context in &self.contexts {
            self.crowded |= context.refill(self.driver);
        }
        received + resolved > 0
    }

    fn has_pending(&self) -> bool {
        self.overheads.is_measuring() || self.has_pending_calls()
    }

    fn has_pending_calls(&self) -> bool {
        self.streams.values().any(StreamOrder::has_pending)
    }

    fn park(&self, sleep: Duration) {
        let hurry = self.timing.hurry.load(Relaxed);
        // Parked and not asleep, so that a new waiter can cut a long pause short.
        thread::park_timeout(if hurry { HURRIED_SLEEP } else { sleep });
    }

    /// Sleeps until a span or a waiting thread wakes it.
    fn sleep_until_woken(&self) {
        let has_work = || {
            let has_new = !self.timing.new_streams.is_empty() || self.timing.probes.has_new();
            has_new || self.streams.values().any(StreamOrder::has_news)
        };
        self.timing
            .sleep_flag
            .sleep_unless(has_work, || thread::park_timeout(PARKED));
    }

    /// The context of a stream that a thread uses for the first time.
    fn add_context(&mut self, context: &Arc<Context>) {
        let mut known = self.contexts.iter();
        if !known.any(|known| Arc::ptr_eq(known, context)) {
            self.timing.describe(&[context.device], DESCRIBED);
            self.overheads.add_context(context);
            self.contexts.push(Arc::clone(context));
        }
    }

    /// Takes what has come; returns how many ends.
    fn receive(&mut self) -> u64 {
        self.looks = self.looks.saturating_add(1);
        for stream in self.streams.values_mut() {
            stream.poll_untimed(self.looks);
        }
        self.receive_streams();
        let (mut received, mut most) = (0, 0);
        for stream in self.streams.values_mut() {
            let (all, most_of_one) = stream.receive();
            received += all;
            most = most.max(most_of_one);
        }
        self.crowded = most > CROWDED;
        // An end that was taken is not resolved before all threads are known that used its stream.
        self.receive_streams();
        received
    }

    /// Takes the streams that threads use for the first time.
    fn receive_streams(&mut self) {
        while let Some(new) = self.timing.new_streams.pop() {
            let shared = Arc::clone(&new.shared);
            self.add_context(&shared.context);
            let is_per_thread = shared.stream == Stream::PER_THREAD;
            let context = Arc::as_ptr(&shared.context) as usize;
            let key = (
                context,
                shared.stream,
                is_per_thread.then_some(shared.thread),
            );
            self.streams.entry(key).or_default().add(new);
            self.timing.met_streams.fetch_add(1, Relaxed);
        }
    }

    /// Resolves what the GPU has passed; returns how many ends.
    fn advance(&mut self) -> u64 {
        let devices = self.streams.values().filter_map(StreamOrder::device);
        self.devices.add_poll(self.looks, devices);
        let mut shared = ResolverShared {
            timing: self.timing,
            driver: self.driver,
            calls: &mut self.calls,
            clocks: &mut self.clocks,
            devices: &self.devices,
            recorded: &mut self.recorded,
        };
        let streams = self.streams.values_mut();
        streams.map(|stream| stream.advance(&mut shared)).sum()
    }

    /// Releases what no span needs any more, then tells waiters what is resolved: by then gpuprof
    /// no longer holds the last reference.
    fn notify(&mut self) {
        self.streams.values_mut().for_each(StreamOrder::notify);
        self.streams.retain(|_, stream| !stream.is_over());
    }
}
