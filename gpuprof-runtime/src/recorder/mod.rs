//! The recorder of the time line: keeps the newest events of the process, up to a limit.
//!
//! Each thread that records has a chunk of its own, which no other thread writes; a lock is taken
//! once per chunk. Chunks that are full wait in the order in which they were filled, and the oldest
//! ones give way. What goes with them is counted.

mod chunk;
mod event;
#[cfg(feature = "trace")]
mod lending;
mod store;
mod writer;

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use self::store::Store;
use crate::clock;
use gpuprof_report::trace::ClockPair;

pub use self::chunk::CallArguments;
pub(crate) use self::event::CallEvent;
pub(crate) use self::store::{
    GpuClockAnchor, LostEvents, RecordedEvent, RecordedThread, Recording,
};
pub(crate) use self::writer::ChunkWriter;

/// How long after it is switched off the GPU's events are still recorded: of work that was launched
/// before.
const LATE_NS: u64 = 2_000_000_000;
/// Reads of the system's clock, of which the closest counts: the thread may be interrupted.
const READS: u32 = 8;

/// See the module. A process has one time line: what asks for one when another has ended goes on
/// with it.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Something asks for a time line.
    is_open: AtomicBool,
    /// The program wants calls to be recorded.
    is_wanted: AtomicBool,
    /// So does a viewer.
    is_lent: AtomicBool,
    /// Calls are recorded: one of both.
    is_on: AtomicBool,
    /// When it was switched off last, in clock ticks; 0 before the first time.
    off_at: AtomicU64,
    store: Mutex<Store>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            is_open: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            is_lent: AtomicBool::new(false),
            is_on: AtomicBool::new(false),
            off_at: AtomicU64::new(0),
            store: Mutex::new(Store::new()),
        }
    }

    /// Records from now on, and keeps at most `limit` events.
    pub(crate) fn start(&self, limit: usize) {
        let mut store = self.store.lock();
        store.limit = limit;
        store.is_of_program = true;
        begin(&mut store);
        self.is_open.store(true, Release);
        self.is_wanted.store(true, Relaxed);
        self.apply(&mut store);
    }

    /// Ends what [`start`](Self::start) began; what was recorded stays.
    pub(crate) fn stop(&self) {
        let mut store = self.store.lock();
        self.is_open.store(false, Release);
        self.is_wanted.store(false, Relaxed);
        self.apply(&mut store);
    }

    /// Switches the recorder on or off if it is open. Returns whether it is.
    pub(crate) fn switch(&self, on: bool) -> bool {
        let mut store = self.store.lock();
        let is_open = self.is_open.load(Acquire);
        self.is_wanted.store(on && is_open, Relaxed);
        self.apply(&mut store);
        is_open
    }

    fn apply(&self, store: &mut Store) {
        let on = self.is_wanted.load(Relaxed) || self.is_lent.load(Relaxed);
        if self.is_on.swap(on, Relaxed) != on {
            let now = clock::now();
            store.note_switch(on, now);
            if !on {
                self.off_at.store(now, Relaxed);
            }
        }
    }

    /// Whether calls are recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Whether events of the GPU are recorded.
    #[inline]
    pub(crate) fn takes_gpu_events(&self) -> bool {
        self.is_on() || self.was_on_lately()
    }

    fn was_on_lately(&self) -> bool {
        let off_at = self.off_at.load(Relaxed);
        off_at > 0 && clock::rough_ns(clock::now().saturating_sub(off_at)) < LATE_NS
    }

    /// Everything that is kept at present. `None` if nothing ever asked for a time line, or the
    /// lock was not free within `limit`.
    pub(crate) fn recorded(&self, limit: Duration) -> Option<Recording> {
        let store = self.store.try_lock_for(limit)?;
        if store.began == ClockPair::default() {
            return None;
        }
        let (mut recorded, chunks) = store.kept(clock::now());
        // Spans need the lock now and then.
        drop(store);
        let events = chunks.iter().map(|chunk| chunk.len()).sum();
        recorded.events.reserve(events);
        for chunk in chunks {
            chunk.read(|thread, event, arguments| {
                recorded.events.push(RecordedEvent {
                    thread,
                    event,
                    arguments: arguments.cloned(),
                });
            });
        }
        Some(recorded)
    }

    /// Adds a moment of the GPU clock of this number.
    pub(crate) fn add_anchor(&self, clock: u32, anchor: GpuClockAnchor) {
        self.store.lock().add_anchor(clock, anchor);
    }

    /// The number of a stream of this device that has not been recorded yet.
    pub(crate) fn add_stream(&self, device: u32) -> u32 {
        self.store.lock().add_stream(device)
    }

    /// The number of the thread that calls this, among those with an event.
    fn thread_number(&self) -> u32 {
        self.store
            .lock()
            .add_thread(RecordedThread::current(), true)
    }

    /// The number of the thread with this tid.
    pub(crate) fn thread_of(&self, tid: u64) -> u32 {
        self.store
            .lock()
            .add_thread(RecordedThread::unnamed(tid), false)
    }
}

/// Notes when the first recording began.
fn begin(store: &mut Store) {
    if store.began == ClockPair::default() {
        store.began = moment();
    }
}

/// The present moment: clock ticks, and ns since the Unix epoch.
fn moment() -> ClockPair {
    let reads = (0..READS).map(|_| {
        let before = clock::now();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let apart = clock::now().saturating_sub(before);
        let moment = ClockPair {
            from: before + apart / 2,
            to: now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)),
        };
        (apart, moment)
    });
    let closest = reads.min_by_key(|(apart, _)| *apart);
    closest.map_or_else(ClockPair::default, |(_, moment)| moment)
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
