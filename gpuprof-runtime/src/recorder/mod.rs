//! The recorder of the time line: keeps the newest events of the process, up to a limit.
//!
//! Each thread that records has a chunk of its own, which no other thread writes; a lock is taken
//! once per chunk. Chunks that are full wait in the order in which they were filled, and the oldest
//! ones give way. What goes with them is counted.

mod chunk;
mod event;
mod store;
mod writer;

use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::SystemTime;

use parking_lot::Mutex;

use self::store::Store;
use crate::clock;
use gpuprof_report::trace::Moment;

pub use self::chunk::Arguments;
pub(crate) use self::event::Event;
pub(crate) use self::store::{Anchor, LostEvents, Recorded, RecordedThread};
pub(crate) use self::writer::Writer;

/// See the module.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The number of the current recording, or of the last one; 0 before the first.
    recording: AtomicU32,
    /// Events of the GPU are recorded: a recording has begun and is not over, whether it is on or
    /// off at present. What is launched before it is switched off comes later.
    is_open: AtomicBool,
    /// Calls are recorded.
    is_on: AtomicBool,
    store: Mutex<Store>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            recording: AtomicU32::new(0),
            is_open: AtomicBool::new(false),
            is_on: AtomicBool::new(false),
            store: Mutex::new(Store::new()),
        }
    }

    /// Begins a recording of at most `limit` events, which forgets the one before.
    pub(crate) fn start(&self, limit: usize) {
        let mut store = self.store.lock();
        let recording = self.recording.load(Relaxed).wrapping_add(1).max(1);
        store.begin(recording, limit);
        store.moments.push(moment());
        self.recording.store(recording, Release);
        drop(store);
        self.is_open.store(true, Release);
        self.switch(true);
    }

    /// Ends the recording; what was recorded stays until the next one.
    pub(crate) fn stop(&self) {
        self.switch(false);
        self.is_open.store(false, Release);
    }

    /// Switches an open recording on or off. Returns whether one is open.
    pub(crate) fn switch(&self, on: bool) -> bool {
        let is_open = self.is_open();
        if self.is_on.swap(on && is_open, Relaxed) != (on && is_open) {
            self.store.lock().note_switch(on && is_open, clock::now());
        }
        is_open
    }

    /// Whether calls are recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Whether events of the GPU are recorded.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Acquire)
    }

    /// Whether there is a recording, open or over.
    pub(crate) fn has_recording(&self) -> bool {
        self.recording.load(Relaxed) != 0
    }

    /// Everything that is kept at present; `None` without a recording.
    pub(crate) fn recorded(&self) -> Option<Recorded> {
        if !self.has_recording() {
            return None;
        }
        let mut store = self.store.lock();
        // Other clocks count ns, and need no rate.
        if clock::is_tick_counter() {
            store.moments.push(moment());
        }
        let (mut recorded, chunks) = store.kept(clock::now());
        // Spans need the lock now and then.
        drop(store);
        let events = chunks.iter().map(|chunk| chunk.len()).sum();
        recorded.events.reserve(events);
        for chunk in chunks {
            chunk.read(|event, arguments| recorded.events.push((event, arguments.cloned())));
        }
        Some(recorded)
    }

    /// Adds a moment of the GPU clock of this number.
    pub(crate) fn add_anchor(&self, clock: u32, anchor: Anchor) {
        self.store.lock().add_anchor(clock, anchor);
    }

    /// The number of a stream of this device that has not been recorded yet.
    pub(crate) fn add_stream(&self, device: u32) -> u32 {
        self.store.lock().add_stream(device)
    }

    /// The number of the thread that calls this, among those with an event.
    fn thread_number(&self) -> u32 {
        self.store.lock().add_thread(RecordedThread::current())
    }

    /// The number of the thread with this tid.
    pub(crate) fn thread_of(&self, tid: u64) -> u32 {
        self.store.lock().add_thread(RecordedThread::unnamed(tid))
    }
}

/// The present moment: clock ticks, and ns since the Unix epoch.
fn moment() -> Moment {
    let before = clock::now();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let apart = clock::now().saturating_sub(before);
    Moment {
        from: before + apart / 2,
        to: now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)),
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
