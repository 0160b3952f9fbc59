//! The process's GPU timing: what spans, the resolver and makers of profiles share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::diagnostic_lines::DiagnosticLines;
use crate::driver::device;
use crate::driver::table::Driver;
use crate::gpu::events::event_overhead::Probes;
use crate::gpu::events::handshake::SleepFlag;
use crate::gpu::events::pools::Contexts;
use crate::gpu::events::thread_stream::{RingMessage, ThreadStream};
use crate::recorder::Recorder;
use crate::stats::adaptive_sampling::SamplingRates;
use crate::stats::by_window::{ByWindow, LookWindows, Since};
use crate::stats::gpu_totals::GpuTimeTotals;
use crate::stats::window_epoch;
use gpuprof_report::profile::Device;
use gpuprof_report::sorting::sort_by_key;

/// A thread's stream as it is announced to the resolver.
#[derive(Debug)]
pub(in crate::gpu) struct NewStream {
    pub(in crate::gpu) shared: Arc<ThreadStream>,
    pub(in crate::gpu) ring: rtrb::Consumer<RingMessage>,
}

/// The process's GPU timing. A span calls `hold` (thread/hold_streams), `begin`, `end` and `submit`
/// (thread/span_timing); a profile `wait` and `wake` (resolver/handle).
#[derive(Debug)]
pub(crate) struct Timing {
    pub(super) contexts: Contexts,
    /// Called on the program's thread with the ordinal of a new stream's device.
    pub(super) meet_device: fn(u32),
    /// For the resolver.
    pub(super) new_streams: SegQueue<NewStream>,
    /// For waiters.
    pub(super) streams: Mutex<Vec<Weak<ThreadStream>>>,
    next_stream: AtomicU32,
    /// New streams that the resolver has taken.
    pub(super) met_streams: AtomicU32,
    /// Apart from what spans read: the resolver takes it for each span.
    totals: CachePadded<Mutex<ByWindow<GpuTimeTotals>>>,
    pub(super) devices: Mutex<Vec<Device>>,
    pub(crate) sampling: SamplingRates,
    pub(super) resolver: OnceLock<Option<thread::Thread>>,
    pub(super) sleep_flag: SleepFlag,
    /// Somebody waits for the resolver: it must not sleep long.
    pub(super) hurry: AtomicBool,
    /// The resolver cannot read anything: calls go untimed.
    pub(super) refused: AtomicBool,
    /// Event overheads being measured.
    pub(super) probes: Probes,
    pub(super) recorder: Arc<Recorder>,
    /// For the start of the resolver.
    pub(super) diagnostics: Arc<DiagnosticLines>,
}

impl Timing {
    pub(crate) fn new(
        recorder: Arc<Recorder>,
        diagnostics: Arc<DiagnosticLines>,
        meet_device: fn(u32),
    ) -> Self {
        Self {
            contexts: Contexts::new(),
            meet_device,
            new_streams: SegQueue::new(),
            streams: Mutex::new(Vec::new()),
            next_stream: AtomicU32::new(0),
            met_streams: AtomicU32::new(0),
            totals: CachePadded::default(),
            devices: Mutex::new(Vec::new()),
            sampling: SamplingRates::new(),
            resolver: OnceLock::new(),
            sleep_flag: SleepFlag::new(),
            hurry: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            probes: Probes::new(),
            recorder,
            diagnostics,
        }
    }

    pub(super) fn totals(&self) -> &Mutex<ByWindow<GpuTimeTotals>> {
        &self.totals
    }

    /// The number of a stream that a thread uses for the first time.
    pub(super) fn next_stream_id(&self) -> u32 {
        self.next_stream.fetch_add(1, Relaxed)
    }

    /// Announces such a stream to the resolver, with the resolver's end of its ring.
    pub(super) fn add_stream(&self, shared: &Arc<ThreadStream>, ring: rtrb::Consumer<RingMessage>) {
        // Without a resolver it would never be taken, and no span uses it.
        let is_read = !self.refused.load(Relaxed) && !matches!(self.resolver.get(), Some(None));
        let mut streams = self.streams.lock();
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(shared));
        drop(streams);
        if is_read {
            let shared = Arc::clone(shared);
            self.new_streams.push(NewStream { shared, ring });
        } else {
            self.met_streams.fetch_add(1, Relaxed);
        }
    }

    /// Whether the resolver has yet to take a new stream.
    pub(super) fn has_new_streams(&self) -> bool {
        self.met_streams.load(Relaxed) != self.next_stream.load(Relaxed)
    }

    /// What is resolved so far; `None` when the lock is not to be had within `limit`.
    pub(crate) fn totals_since(&self, since: Since, limit: Duration) -> Option<GpuTimeTotals> {
        let totals = self.totals().try_lock_for(limit)?.copy(since);
        Some(totals.into_sum())
    }

    /// Begins the window of this number.
    pub(crate) fn begin_window(&self, window: u32, looks: &[LookWindows]) {
        // The number moves under the resolver's lock, so that no result of the new window is lost.
        let mut totals = self.totals().lock();
        window_epoch::begin(window);
        totals.begin(window, looks);
    }

    /// Clears the counts of failed driver calls, except of failures whose effect lasts.
    pub(crate) fn clear_failure_counts(&self) {
        if let Some(driver) = Driver::loaded() {
            driver.clear_failure_counts();
        }
    }

    /// Adds what a report says about these devices, whose driver is loaded.
    pub(crate) fn describe(&self, ordinals: &[u32], limit: Duration) {
        let is_known =
            |devices: &[Device], ordinal| devices.iter().any(|device| device.ordinal == ordinal);
        for ordinal in ordinals.iter().copied() {
            let devices = self.devices.try_lock_for(limit);
            if devices.is_none_or(|devices| is_known(&devices, ordinal)) {
                continue;
            }
            // The driver is asked without the lock.
            let driver = Driver::get();
            let device = device::describe(driver, ordinal);
            if let Some(mut devices) = self.devices.try_lock_for(limit)
                && !driver.has_ended()
                && !is_known(&devices, ordinal)
            {
                devices.push(device);
            }
        }
    }

    pub(crate) fn devices(&self, limit: Duration) -> Vec<Device> {
        let devices = self.devices.try_lock_for(limit);
        let mut devices = devices.map_or_else(Vec::new, |devices| devices.clone());
        sort_by_key(&mut devices, |device| device.ordinal);
        devices
    }

    pub(crate) fn largest_event_overhead_ns(&self, limit: Duration) -> Option<u64> {
        self.contexts.largest_event_overhead_ns(limit)
    }
}
