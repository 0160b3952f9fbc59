//! What one thread knows of one place in its call tree: counters with one writer and any number of readers.
//!
//! The writer never locks and never uses a locked instruction. A reader gets all fields of one moment through a sequence
//! number (odd while the writer is inside). A node is never freed: when its thread ends, the next thread to begin goes on
//! writing it, so that spans can hold it without counting who does. Must not import gpu, span or collector.

use std::array;
use std::sync::atomic::{Ordering, Ordering::Relaxed};

use super::call::{Call, GpuOutcome, REASONS, StatedWork};
use super::thread_counters::SiteCounters;
use crate::sync::{AtomicU32, AtomicU64, fence, hint};

/// How often a reader tries for one consistent moment before it takes what it sees: a writer is inside for
/// nanoseconds, unless it was preempted there.
const READ_TRIES: u32 = 10_000;

/// Who records, and in which window: the two things that make a call the first of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriterEpoch(u64);

impl WriterEpoch {
    /// `owner` in its upper half, as [`WriterEpoch::owner`] makes it; 0 for a thread that has no counters any more.
    #[inline]
    pub(crate) fn new(owner: u64, epoch: u32) -> Self {
        Self(owner | u64::from(epoch))
    }

    /// The number of a thread, made ready for [`WriterEpoch::new`].
    pub(crate) fn owner(number: u32) -> u64 {
        u64::from(number) << 32
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// The window.
    pub(crate) fn epoch(self) -> u32 {
        self.0 as u32
    }

    fn has_owner(self) -> bool {
        self.0 >> 32 != 0
    }
}

#[derive(Debug)]
struct Durations {
    total: AtomicU64,
    nested: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    /// Sum of squares as the bits of an f64, in ns².
    squares: AtomicU64,
}

impl Durations {
    fn new() -> Self {
        Self {
            total: AtomicU64::new(0),
            nested: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            squares: AtomicU64::new(0),
        }
    }

    #[inline]
    fn add(&self, ns: u64, nested: u64) {
        self.total
            .store(self.total.load(Relaxed).wrapping_add(ns), Relaxed);
        self.nested
            .store(self.nested.load(Relaxed).wrapping_add(nested), Relaxed);
        if ns < self.min.load(Relaxed) {
            self.min.store(ns, Relaxed);
        }
        if ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
        // Signed is one instruction, unsigned eight; no duration has the highest bit.
        let ns = ns as i64 as f64;
        add_f64(&self.squares, ns * ns);
    }

    /// Forgets the extremes, which belong to one window alone.
    fn forget_extremes(&self) {
        self.min.store(u64::MAX, Relaxed);
        self.max.store(0, Relaxed);
    }

    fn read(&self, calls: u64, current: bool) -> super::Durations {
        let (min, max) = match current {
            true => (self.min.load(Relaxed), self.max.load(Relaxed)),
            false => (u64::MAX, 0),
        };
        super::Durations {
            calls,
            total: self.total.load(Relaxed),
            nested: self.nested.load(Relaxed),
            min,
            max,
            squares: f64::from_bits(self.squares.load(Relaxed)),
        }
    }
}

#[inline]
fn add_f64(cell: &AtomicU64, value: f64) {
    cell.store(
        (f64::from_bits(cell.load(Relaxed)) + value).to_bits(),
        Relaxed,
    );
}

#[inline]
fn bump(cell: &AtomicU64) {
    cell.store(cell.load(Relaxed) + 1, Relaxed);
}

/// One place in one thread's call tree. Alone in its cache lines, as its neighbours may be another thread's; what every
/// call writes fills the first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct PathCounters {
    /// The chain of sites from the root to here, numbered for the whole process.
    pub(crate) path: u32,
    sequence: AtomicU32,
    /// The [`WriterEpoch`] of the last call.
    seen: AtomicU64,
    calls: AtomicU64,
    cpu: Durations,
    pub(super) site: &'static SiteCounters,
    wall: Durations,
    submitted: AtomicU64,
    captured: AtomicU64,
    in_graph: AtomicU64,
    replays: AtomicU64,
    untimed: [AtomicU64; REASONS],
    work: [AtomicU64; 3],
    work_stated: AtomicU32,
}

impl PathCounters {
    pub(super) fn new(path: u32, site: &'static SiteCounters) -> Self {
        Self {
            path,
            sequence: AtomicU32::new(0),
            seen: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            cpu: Durations::new(),
            site,
            wall: Durations::new(),
            submitted: AtomicU64::new(0),
            captured: AtomicU64::new(0),
            in_graph: AtomicU64::new(0),
            replays: AtomicU64::new(0),
            untimed: array::from_fn(|_| AtomicU64::new(0)),
            work: array::from_fn(|_| AtomicU64::new(0)),
            work_stated: AtomicU32::new(0),
        }
    }

    /// Records one ended call that is nothing but its CPU time. Only the owning thread may call this.
    ///
    /// Returns whether it was recorded: a thread that has handed its counters on may not.
    #[inline]
    pub(crate) fn record_time(&self, cpu_ns: u64, nested_ns: u64, writer: WriterEpoch) -> bool {
        self.change(writer, || self.add_time(cpu_ns, nested_ns))
    }

    /// [`record_time`](Self::record_time) with everything else that is known of the call.
    #[inline]
    pub(crate) fn record(&self, call: &Call<'_>, writer: WriterEpoch) -> bool {
        self.change(writer, || {
            self.add_time(call.cpu_ns, call.nested_ns);
            self.add_outcome(call.outcome);
            self.add_work(call.work);
            if let (Some(ns), Some(histogram)) = (call.wall_ns, &self.site.wall) {
                self.wall.add(ns, 0);
                histogram.record(ns);
            }
        })
    }

    /// Records one replay of a captured call: all but its CPU time, as it has none.
    pub(crate) fn record_replay(
        &self,
        outcome: GpuOutcome,
        work: &StatedWork,
        writer: WriterEpoch,
    ) -> bool {
        self.change(writer, || {
            bump(&self.replays);
            self.add_outcome(outcome);
            self.add_work(work);
        })
    }

    #[inline]
    fn change(&self, writer: WriterEpoch, add: impl FnOnce()) -> bool {
        // Nothing is written, the sequence number neither, before it is known that this thread may: the next one to begin may
        // be writing already.
        if self.seen.load(Relaxed) != writer.0 && !self.is_first(writer) {
            return false;
        }
        self.write(add);
        true
    }

    /// Runs `add` so that a reader sees all of it or nothing.
    #[inline]
    fn write(&self, add: impl FnOnce()) {
        let sequence = self.sequence.load(Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Relaxed);
        // Orders the odd number before the fields for a reader that sees any of them.
        fence(Ordering::Release);
        add();
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// The first call of a thread, or in a window. Returns whether the thread may record.
    #[cold]
    fn is_first(&self, writer: WriterEpoch) -> bool {
        if !writer.has_owner() {
            return false;
        }
        self.write(|| {
            if WriterEpoch::from_bits(self.seen.load(Relaxed)).epoch() != writer.epoch() {
                self.cpu.forget_extremes();
                self.wall.forget_extremes();
            }
            self.seen.store(writer.0, Relaxed);
        });
        self.site.count_thread(writer);
        true
    }

    #[inline]
    fn add_time(&self, cpu_ns: u64, nested_ns: u64) {
        bump(&self.calls);
        self.cpu.add(cpu_ns, nested_ns);
        self.site.cpu.record(cpu_ns);
    }

    fn add_outcome(&self, outcome: GpuOutcome) {
        match outcome {
            GpuOutcome::NoStream => {}
            GpuOutcome::Submitted => bump(&self.submitted),
            GpuOutcome::Captured => bump(&self.captured),
            GpuOutcome::InGraph => {
                bump(&self.captured);
                bump(&self.in_graph);
            }
            GpuOutcome::Untimed(reason) => {
                if let Some(cell) = self.untimed.get(reason as usize) {
                    bump(cell);
                }
            }
        }
    }

    #[inline]
    fn add_work(&self, work: &StatedWork) {
        if !work.is_none() {
            self.add_stated(work);
        }
    }

    fn add_stated(&self, work: &StatedWork) {
        for (at, (cell, amount)) in self.work.iter().zip(work.fields()).enumerate() {
            if let Some(amount) = amount {
                add_f64(cell, amount);
                self.work_stated
                    .store(self.work_stated.load(Relaxed) | 1 << at, Relaxed);
            }
        }
    }

    /// All fields of one moment. Minimum and maximum only if they are of the window `epoch`.
    pub(crate) fn read(&self, epoch: u32) -> PathTotals {
        for _ in 0..READ_TRIES {
            if let Some(data) = self.try_read(epoch) {
                return data;
            }
            hint::spin_loop();
        }
        self.read_once(epoch)
    }

    /// One try: `None` where the writer came between.
    pub(super) fn try_read(&self, epoch: u32) -> Option<PathTotals> {
        let before = self.sequence.load(Ordering::Acquire);
        let data = self.read_once(epoch);
        fence(Ordering::Acquire);
        let whole = before.is_multiple_of(2) && self.sequence.load(Relaxed) == before;
        whole.then_some(data)
    }

    fn read_once(&self, epoch: u32) -> PathTotals {
        let current = WriterEpoch::from_bits(self.seen.load(Relaxed)).epoch() == epoch;
        let calls = self.calls.load(Relaxed);
        let stated = self.work_stated.load(Relaxed);
        let [bytes, flops, items] = [0, 1, 2].map(|at| {
            let cell = self.work.get(at)?;
            (stated & 1 << at != 0).then(|| f64::from_bits(cell.load(Relaxed)))
        });
        let mut untimed = [0; REASONS];
        for (into, cell) in untimed.iter_mut().zip(&self.untimed) {
            *into = cell.load(Relaxed);
        }
        PathTotals {
            cpu: self.cpu.read(calls, current),
            wall: match self.site.wall {
                Some(_) => self.wall.read(calls, current),
                None => super::Durations::default(),
            },
            counts: Counts {
                submitted: self.submitted.load(Relaxed),
                captured: self.captured.load(Relaxed),
                in_graph: self.in_graph.load(Relaxed),
                replays: self.replays.load(Relaxed),
                untimed,
            },
            work: StatedWork {
                bytes,
                flops,
                items,
            },
        }
    }
}

/// What became of calls on the GPU side, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) submitted: u64,
    pub(crate) captured: u64,
    /// Of these, the calls whose events stand in the graph.
    pub(crate) in_graph: u64,
    /// Replays of such calls; what became of them is in the other counts.
    pub(crate) replays: u64,
    pub(crate) untimed: [u64; REASONS],
}

impl Counts {
    /// Calls and replays that have a stream.
    pub(crate) fn with_stream(&self) -> u64 {
        self.submitted + self.captured + self.untimed.iter().sum::<u64>()
    }
}

/// A [`PathCounters`] as plain data, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PathTotals {
    pub(crate) cpu: super::Durations,
    pub(crate) wall: super::Durations,
    pub(crate) counts: Counts,
    pub(crate) work: StatedWork,
}

impl PathTotals {
    /// Whether any call ended here, or any replay was launched.
    pub(crate) fn ran(&self) -> bool {
        self.cpu.calls > 0 || self.counts.replays > 0
    }

    /// Adds `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.cpu.merge(&other.cpu);
        self.wall.merge(&other.wall);
        self.counts.submitted += other.counts.submitted;
        self.counts.captured += other.counts.captured;
        self.counts.in_graph += other.counts.in_graph;
        self.counts.replays += other.counts.replays;
        for (into, more) in self.counts.untimed.iter_mut().zip(other.counts.untimed) {
            *into += more;
        }
        self.work.add(&other.work);
    }

    /// Takes away an earlier state of the same sum; minimum and maximum stay.
    pub(crate) fn subtract(&mut self, earlier: &Self) {
        self.cpu.subtract(&earlier.cpu);
        self.wall.subtract(&earlier.wall);
        self.counts.submitted = self
            .counts
            .submitted
            .saturating_sub(earlier.counts.submitted);
        self.counts.captured = self.counts.captured.saturating_sub(earlier.counts.captured);
        self.counts.in_graph = self.counts.in_graph.saturating_sub(earlier.counts.in_graph);
        self.counts.replays = self.counts.replays.saturating_sub(earlier.counts.replays);
        for (into, gone) in self.counts.untimed.iter_mut().zip(earlier.counts.untimed) {
            *into = into.saturating_sub(gone);
        }
        self.work.subtract(&earlier.work);
        if self.cpu.calls == 0 && self.counts.replays == 0 {
            self.work = StatedWork::NONE;
        }
    }
}
