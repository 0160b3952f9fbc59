//! The chunks of a recording: those that are lent to writers, those with room left, and those that
//! are full, the oldest first.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::chunk::{CallArguments, Chunk};
use super::event::CallEvent;
use crate::os;
use gpuprof_report::trace::ClockPair;

/// Calls of a thread that a chunk has room for, unless the limit is small: 16 KiB.
const CHUNK_CALLS: usize = 1_024;
/// Chunks that the limit is divided into at least.
const MIN_CHUNKS: usize = 16;
/// Empty chunks that are kept for the next writer.
const MAX_FREE: usize = 4;
/// Threads that are told apart.
const MAX_THREADS: usize = 1 << 16;
/// Streams of spans that are told apart.
const MAX_STREAMS: usize = 1 << 16;
/// Moments of one clock; above it, every second one goes.
const MAX_ANCHORS: usize = 4_096;

/// A thread of the program with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedThread {
    pub(crate) tid: u64,
    /// Empty if it is unknown.
    pub(crate) name: String,
}

impl RecordedThread {
    pub(super) fn current() -> Self {
        let thread = std::thread::current();
        Self {
            tid: os::thread_id().into(),
            name: thread.name().unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn unnamed(tid: u64) -> Self {
        Self {
            tid,
            name: String::new(),
        }
    }
}

/// Events that have given way to newer ones. Times in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostEvents {
    /// Number of their thread; `None` for those of the GPU and CUDA calls, whose times are those at
    /// which they came.
    pub(crate) thread: Option<u32>,
    pub(crate) started: u64,
    pub(crate) ended: u64,
    pub(crate) events: u64,
}

impl LostEvents {
    fn add(&mut self, other: &Self) {
        self.started = self.started.min(other.started);
        self.ended = self.ended.max(other.ended);
        self.events += other.events;
    }
}

/// An event that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedEvent {
    /// Number of the thread that it was recorded on, if it is a call.
    pub(crate) thread: Option<u32>,
    pub(crate) event: CallEvent,
    pub(crate) arguments: Option<CallArguments>,
}

/// What a recording has kept.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) events: Vec<RecordedEvent>,
    pub(crate) threads: Vec<RecordedThread>,
    /// The devices of streams, by number.
    pub(crate) streams: Vec<u32>,
    /// Moments of the clocks of contexts, by number.
    pub(crate) anchors: Vec<(u32, Vec<GpuClockAnchor>)>,
    pub(crate) lost: Vec<LostEvents>,
    /// Clock ticks, and ns since the Unix epoch.
    pub(crate) began: ClockPair,
    /// When it was on, in clock ticks.
    pub(crate) on: Vec<(u64, u64)>,
}

/// A moment on the GPU clock of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuClockAnchor {
    /// On that clock.
    pub(crate) at_ns: i64,
    /// On the host's.
    pub(crate) ticks: u64,
    /// By how much both may be apart.
    pub(crate) error_ns: u64,
}

#[derive(Debug)]
pub(super) struct Store {
    pub(super) limit: usize,
    lent: Vec<Arc<Chunk>>,
    /// Of writers that have ended, the oldest first.
    partial: VecDeque<Arc<Chunk>>,
    full: VecDeque<Arc<Chunk>>,
    free: Vec<Chunk>,
    /// What full chunks weigh, in events.
    kept: usize,
    threads: Vec<RecordedThread>,
    numbers: FxHashMap<u64, u32>,
    /// The devices of streams.
    streams: Vec<u32>,
    anchors: FxHashMap<u32, Vec<GpuClockAnchor>>,
    lost: FxHashMap<Option<u32>, LostEvents>,
    pub(super) began: ClockPair,
    /// Not only viewers have asked for a time line.
    pub(super) is_of_program: bool,
    /// When it was switched on and off, in turn, in clock ticks.
    switched: Vec<u64>,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            limit: 0,
            lent: Vec::new(),
            partial: VecDeque::new(),
            full: VecDeque::new(),
            free: Vec::new(),
            kept: 0,
            threads: Vec::new(),
            numbers: FxHashMap::default(),
            streams: Vec::new(),
            anchors: FxHashMap::default(),
            lost: FxHashMap::default(),
            began: ClockPair::default(),
            is_of_program: false,
            switched: Vec::new(),
        }
    }

    /// Forgets the events, except those in the chunks of writers. Threads, streams and clocks stay:
    /// their numbers are in use.
    #[cfg(feature = "trace")]
    pub(super) fn forget(&mut self) {
        self.full.clear();
        self.partial.clear();
        self.free.clear();
        self.kept = 0;
        self.lost.clear();
        self.switched.clear();
        self.began = ClockPair::default();
    }

    pub(super) fn note_switch(&mut self, on: bool, now: u64) {
        let is_on = self.switched.len() % 2 == 1;
        if is_on != on {
            self.switched.push(now);
        }
    }

    /// The number of a thread. `is_running`: it is the calling one, whose name is known.
    pub(super) fn add_thread(&mut self, thread: RecordedThread, is_running: bool) -> u32 {
        if let Some(&number) = self.numbers.get(&thread.tid) {
            // The system gives the number of a thread that has ended to another one, whose name
            // counts from then on.
            if let Some(known) = self.threads.get_mut(number as usize)
                && is_running
            {
                known.name = thread.name;
            }
            return number;
        }
        if self.threads.len() < MAX_THREADS {
            let number = self.threads.len() as u32;
            self.numbers.insert(thread.tid, number);
            self.threads.push(thread);
            return number;
        }
        if self.threads.len() == MAX_THREADS {
            self.threads.push(RecordedThread {
                tid: 0,
                name: "other threads".to_owned(),
            });
        }
        MAX_THREADS as u32
    }

    /// The number of a new stream; of too many, that of the last one.
    pub(super) fn add_stream(&mut self, device: u32) -> u32 {
        if self.streams.len() < MAX_STREAMS {
            self.streams.push(device);
        }
        (self.streams.len() - 1) as u32
    }

    pub(super) fn add_anchor(&mut self, clock: u32, anchor: GpuClockAnchor) {
        let anchors = self.anchors.entry(clock).or_default();
        anchors.push(anchor);
        if anchors.len() > MAX_ANCHORS {
            let mut is_kept = false;
            anchors.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// A chunk with room, for one writer, at the moment `now`.
    pub(super) fn lend(&mut self, now: u64) -> Arc<Chunk> {
        let calls = (self.limit / MIN_CHUNKS).clamp(1, CHUNK_CALLS);
        let chunk = self.partial.pop_front().unwrap_or_else(|| {
            let free = self.free.pop();
            Arc::new(match free {
                Some(mut free) => {
                    free.clear(now);
                    free
                }
                None => Chunk::new(now, calls),
            })
        });
        self.lent.push(Arc::clone(&chunk));
        chunk
    }

    /// Takes a chunk back. The oldest events give way if there are more than the limit allows.
    pub(super) fn take_back(&mut self, chunk: &Arc<Chunk>) {
        self.lent.retain(|lent| !Arc::ptr_eq(lent, chunk));
        if !chunk.is_full() {
            self.partial.push_back(Arc::clone(chunk));
            return;
        }
        self.kept += chunk.weight();
        self.full.push_back(Arc::clone(chunk));
        // The newest chunk stays, also where it has room for more events than the limit.
        while self.kept > self.limit
            && self.full.len() > 1
            && let Some(oldest) = self.full.pop_front()
        {
            self.kept -= oldest.weight();
            // Chunks are filled one after the other: its last event is before the next one's first.
            let next = self.full.front().map_or(u64::MAX, |next| next.lent_at);
            self.count_lost(&oldest, (oldest.lent_at, next.max(oldest.lent_at)));
            if let Some(oldest) = Arc::into_inner(oldest)
                && self.free.len() < MAX_FREE
            {
                self.free.push(oldest);
            }
        }
    }

    /// Counts the events of a chunk. `came`: when they came.
    fn count_lost(&mut self, chunk: &Chunk, came: (u64, u64)) {
        // Nearly all are of one thread.
        let mut latest: Option<LostEvents> = None;
        chunk.read(|thread, event, _| {
            let (thread, started, ended) = match event {
                CallEvent::Cpu { started, ended, .. } => (thread, started, ended),
                _ => (None, came.0, came.1),
            };
            let one = LostEvents {
                thread,
                started,
                ended,
                events: 1,
            };
            match &mut latest {
                Some(latest) if latest.thread == thread => latest.add(&one),
                latest => {
                    if let Some(others) = latest.replace(one) {
                        self.add_lost(&others);
                    }
                }
            }
        });
        if let Some(latest) = latest {
            self.add_lost(&latest);
        }
    }

    fn add_lost(&mut self, lost: &LostEvents) {
        let all = self.lost.entry(lost.thread);
        all.and_modify(|all| all.add(lost)).or_insert(*lost);
    }

    /// Everything at the moment `now`, with the chunks still to be read.
    pub(super) fn kept(&self, now: u64) -> (Recording, Vec<Arc<Chunk>>) {
        let chunks = self.full.iter().chain(&self.partial).chain(&self.lent);
        let on = self.switched.chunks(2).map(|switched| match *switched {
            [on, off] => (on, off),
            [on] => (on, now),
            _ => (now, now),
        });
        let anchors = self.anchors.iter();
        let anchors = anchors.map(|(clock, anchors)| (*clock, anchors.clone()));
        let recorded = Recording {
            events: Vec::new(),
            threads: self.threads.clone(),
            streams: self.streams.clone(),
            anchors: anchors.collect(),
            lost: self.lost.values().copied().collect(),
            began: self.began,
            on: on.collect(),
        };
        (recorded, chunks.cloned().collect())
    }

    /// Chunks that hold events.
    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        self.full.len() + self.partial.len() + self.lent.len()
    }
}
