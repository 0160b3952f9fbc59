//! The background thread `gpuprof-cupti`: asks CUPTI for its filled buffers, decodes their records
//! and passes them on.
//!
//! Like the resolver, it runs in RELAXED capture mode. No span ever waits for it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::bindings::FLUSH_FORCED;
use super::bounded_queue::CALLBACK_EVENTS;
use super::buffers::{self, BufferPool, FilledBuffer};
use super::callback_clock::CallbackClock;
use super::callback_events::{CallbackEvent, ReturnedCall};
use super::cuda_call_rings::CudaCallRings;
use super::kernel_symbols::KernelSymbols;
use super::library::CuptiLibrary;
use super::lifecycle;
use super::parse_record::{Parsed, parse};
use super::pc_sampling::PcSampling;
use super::pm_sampling::{PmSampling, SamplingEvent};
use super::reader_progress::{ReaderExitGuard, ReaderProgress};
use super::record::{ActivityRecord, ApiEvent, CapturedCall, MemoryRecord, NodeEvent};
use crate::driver::Driver;

/// How often CUPTI is asked for finished records while no thread waits for them. It returns full
/// buffers by itself, and a flush delays the threads that launch: on an H200, back-to-back launches
/// of 5 µs took 1.5 % longer with one flush per two buffers.
const FLUSH_PERIOD: Duration = Duration::from_millis(100);

/// Minimum time between two reads while no thread waits: with very many threads, buffers are always
/// few.
const MIN_READ_PERIOD: Duration = Duration::from_millis(2);

/// How often the devices' clocks are polled.
const CLOCK_POLL_PERIOD: Duration = Duration::from_secs(1);

/// Receives what was read, on the reader thread; implemented by `attribution/shared_attribution`.
pub(crate) trait RecordSink: Send {
    fn on_activity(&mut self, activity: ActivityRecord);
    fn on_memory(&mut self, record: MemoryRecord);
    fn on_api_event(&mut self, event: ApiEvent);
    fn on_node_event(&mut self, event: NodeEvent);
    fn on_captured_call(&mut self, call: CapturedCall);
    /// Of a device's hardware counters.
    fn on_sampling(&mut self, device: u32, event: SamplingEvent);
    /// Every buffer that CUPTI had returned was read.
    fn on_buffers_read(&mut self);
}

pub(crate) struct Reader {
    library: &'static CuptiLibrary,
    clock: &'static CallbackClock,
    progress: &'static ReaderProgress,
    sink: Box<dyn RecordSink>,
    pm_sampling: Arc<PmSampling>,
    pc_sampling: Arc<PcSampling>,
    symbols: KernelSymbols,
    rings: CudaCallRings,
    /// Takes a while, but here it delays only threads that wait for a report.
    poll_clocks: fn(),
    last_clock_poll: Option<Instant>,
    last_read: Instant,
    last_flush: Instant,
}

impl Reader {
    pub(crate) fn new(
        library: &'static CuptiLibrary,
        clock: &'static CallbackClock,
        progress: &'static ReaderProgress,
        sink: Box<dyn RecordSink>,
        samplings: (Arc<PmSampling>, Arc<PcSampling>),
        poll_clocks: fn(),
    ) -> Self {
        let now = Instant::now();
        let (pm_sampling, pc_sampling) = samplings;
        Self {
            library,
            clock,
            progress,
            sink,
            pm_sampling,
            pc_sampling,
            symbols: KernelSymbols::default(),
            rings: CudaCallRings::default(),
            poll_clocks,
            last_clock_poll: None,
            last_read: now,
            last_flush: now,
        }
    }

    pub(crate) fn run(mut self) {
        let _guard = ReaderExitGuard(&self.progress.requests);
        buffers::pool().prepare();
        // The driver is unknown until a span has used it; it may not even be loaded.
        while Driver::loaded().is_none() {
            if self.serve() {
                return;
            }
        }
        let relaxed = Driver::loaded().map(|driver| driver.relaxed(|| while !self.serve() {}));
        // If the mode cannot be set, continue without it: no flush was ever observed to invalidate
        // a capture (H200, driver 580, GLOBAL captures on this thread and on another).
        if !matches!(relaxed, Some(Ok(()))) {
            while !self.serve() {}
        }
    }

    /// Waits for the next period or a request, and reads once. Returns whether that was the last
    /// read.
    fn serve(&mut self) -> bool {
        self.sleep();
        let state = self.progress.requests.state();
        let (has_request, is_last) = (state.is_open(), state.is_last);
        if has_request || is_last || self.last_flush.elapsed() >= FLUSH_PERIOD {
            self.flush_and_read(0, has_request || is_last);
        } else {
            if buffers::pool().is_short() {
                self.flush(0);
            }
            self.read_filled(false);
            self.sink.on_buffers_read();
        }
        let is_due = |last: Instant| last.elapsed() >= CLOCK_POLL_PERIOD;
        if has_request || self.last_clock_poll.is_none_or(is_due) {
            (self.poll_clocks)();
            self.last_clock_poll = Some(Instant::now());
        }
        // Also buffers with unfinished records, because their finished ones would be lost.
        if is_last || self.loses_buffers() {
            self.flush_and_read(FLUSH_FORCED, true);
        }
        if is_last {
            self.pm_sampling.stop();
            self.pc_sampling.stop();
        }
        self.last_read = Instant::now();
        self.progress.requests.serve(state.requested);
        is_last
    }

    /// Sleeps until the next flush is due, the thread is woken, or somebody waits. While CUPTI is
    /// suspended, only somebody who waits ends it.
    fn sleep(&self) {
        while !lifecycle::is_running() && !self.has_request() {
            thread::park();
        }
        if !self.has_request() {
            thread::park_timeout(FLUSH_PERIOD.saturating_sub(self.last_flush.elapsed()));
        }
        loop {
            let left = MIN_READ_PERIOD.saturating_sub(self.last_read.elapsed());
            if left.is_zero() || self.has_request() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    /// Whether gpuprof leaves CUPTI, which then keeps the buffers that it holds.
    fn loses_buffers(&self) -> bool {
        !lifecycle::is_running() && self.library.keeps_buffers() && buffers::pool().is_lent()
    }

    fn has_request(&self) -> bool {
        self.progress.requests.state().is_open()
    }

    fn flush(&self, flags: u32) {
        if !Driver::loaded().is_some_and(Driver::has_ended) {
            // A failure is counted by the library; buffers returned before can still be read.
            let _ = self.library.flush(flags);
        }
    }

    /// `all`: somebody waits for everything that there is.
    fn flush_and_read(&mut self, flags: u32, all: bool) {
        self.flush(flags);
        self.last_flush = Instant::now();
        self.read_filled(flags == FLUSH_FORCED);
        if let Ok(dropped) = self.library.take_dropped() {
            let counters = &self.progress.counters;
            counters.dropped.fetch_add(dropped, Relaxed);
        }
        let sink = &mut self.sink;
        self.pm_sampling
            .poll(all, &mut |device, event| sink.on_sampling(device, event));
        if all {
            self.pc_sampling.poll();
        }
        self.sink.on_buffers_read();
    }

    /// Reads the CUDA calls so far and the buffers that CUPTI has returned.
    fn read_filled(&mut self, is_forced: bool) {
        self.read_calls();
        let pool = buffers::pool();
        while let Some(filled) = pool.next_filled() {
            // Calls first, before every buffer, so that most activities find theirs: many more may
            // have come while the last buffer was read.
            self.read_calls();
            match filled.valid_bytes() {
                0 => pool.recycle(filled),
                _ => self.read_buffer(pool, filled, is_forced),
            }
        }
        pool.prepare();
    }

    /// Reads the CUDA calls and changes of graph nodes so far.
    fn read_calls(&mut self) {
        // Without an anchor, stamps since the previous one are converted by the rate of all.
        let _ = self.clock.set_anchor(self.library);
        let Self {
            clock,
            progress,
            sink,
            rings,
            ..
        } = self;
        let counters = &progress.counters;
        let on_call = |sink: &mut dyn RecordSink, call: ReturnedCall, thread: u32| {
            let event = call.event(thread, clock);
            if event.api.is_plausible() {
                counters.records.fetch_add(1, Relaxed);
                sink.on_api_event(event);
            } else {
                counters.invalid.fetch_add(1, Relaxed);
            }
        };
        // In this order, what a thread put into the shared queue before a call of its ring comes
        // before it.
        let waiting = rings.waiting();
        let dropped = CALLBACK_EVENTS.drain(|event| match event {
            CallbackEvent::Call(call, thread) => on_call(&mut **sink, call, thread),
            CallbackEvent::Node(event) => sink.on_node_event(event),
            CallbackEvent::Captured(call) => sink.on_captured_call(call),
        });
        counters.dropped.fetch_add(dropped, Relaxed);
        rings.take(waiting, |call, thread| on_call(&mut **sink, call, thread));
    }

    /// Reads one buffer, up to the end that CUPTI reports or the first error, which the library
    /// counts.
    fn read_buffer(&mut self, pool: &BufferPool, filled: FilledBuffer, is_forced: bool) {
        let mut record = std::ptr::null_mut();
        let mut last_offset = None;
        let (address, valid) = (filled.address(), filled.valid_bytes());
        while self
            .library
            .next_record(address, valid, &raw mut record)
            .is_ok()
        {
            let Some((offset, bytes)) = filled.bytes_at(record) else {
                break;
            };
            // Prevents an endless loop, whatever the library does.
            if last_offset.is_some_and(|last| offset <= last) {
                break;
            }
            last_offset = Some(offset);
            self.read_record(bytes, is_forced);
        }
        pool.recycle(filled);
    }

    fn read_record(&mut self, bytes: &[u8], is_forced: bool) {
        let symbols = &mut self.symbols;
        let parsed = parse(bytes, |address| {
            // SAFETY: CUPTI's kernel records hold null or the address of a C string that it keeps.
            unsafe { symbols.symbol_at(address) }
        });
        let counters = &self.progress.counters;
        match parsed {
            Parsed::Activity(activity) => {
                counters.records.fetch_add(1, Relaxed);
                self.sink.on_activity(activity);
            }
            Parsed::Memory(record) => {
                counters.records.fetch_add(1, Relaxed);
                self.sink.on_memory(record);
            }
            // A forced flush returns unfinished records, which are no errors.
            Parsed::Unstamped if is_forced => {}
            Parsed::Unstamped | Parsed::Reversed | Parsed::Undefined => {
                counters.invalid.fetch_add(1, Relaxed);
            }
            Parsed::Skipped => {}
        }
    }
}
