//! What one thread knows of one place in its call tree: counters with one writer and any number of readers.
//!
//! The writer never locks and never uses a locked instruction. A reader gets all fields of one moment through a sequence
//! number (odd while the writer is inside). Must not import gpu, span or collector.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, Ordering::Relaxed, fence};

use super::histogram;

/// How often a reader tries for one consistent moment before it takes what it sees: a writer is inside for
/// nanoseconds, unless it was preempted there.
const READ_TRIES: u32 = 10_000;

/// Why a call that has a stream was not timed, as an index into [`Counts::untimed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untimed {
    SampledOut,
    PoolExhausted,
    QueueFull,
    CudaError,
    Unavailable,
    StreamUnsafe,
    CrossedReset,
}

/// Number of [`Untimed`] reasons.
pub(crate) const REASONS: usize = 7;

/// What became of a call on the GPU side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has no stream.
    NoStream,
    /// Its events are on the way to the resolver.
    Submitted,
    /// Its stream was being captured.
    Captured,
    /// It was not timed.
    Untimed(Untimed),
}

/// Stated work of one call or of many, `None` where nothing was stated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Bytes moved.
    pub bytes: Option<f64>,
    /// Floating-point operations done.
    pub flops: Option<f64>,
    /// Items processed.
    pub items: Option<f64>,
}

impl Work {
    /// Nothing stated.
    pub const NONE: Self = Self {
        bytes: None,
        flops: None,
        items: None,
    };

    pub(crate) fn fields(&self) -> [Option<f64>; 3] {
        [self.bytes, self.flops, self.items]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        *self = Self {
            bytes: sum(self.bytes, other.bytes),
            flops: sum(self.flops, other.flops),
            items: sum(self.items, other.items),
        };
    }

    fn subtract(&mut self, earlier: &Self) {
        let negated = |x: Option<f64>| x.map(|x| -x);
        self.add(&Self {
            bytes: negated(earlier.bytes),
            flops: negated(earlier.flops),
            items: negated(earlier.items),
        });
    }
}

/// One ended call, as its span hands it over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) cpu_ns: u64,
    /// Part of `cpu_ns` that spans inside took.
    pub(crate) children_ns: u64,
    /// From first poll to the end, of async functions.
    pub(crate) wall_ns: Option<u64>,
    pub(crate) fate: Fate,
    pub(crate) work: Work,
}

#[derive(Debug)]
struct Durations {
    total: AtomicU64,
    children: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    /// Sum of squares as the bits of an f64, in ns².
    squares: AtomicU64,
}

impl Durations {
    const fn new() -> Self {
        Self {
            total: AtomicU64::new(0),
            children: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            squares: AtomicU64::new(0),
        }
    }

    #[inline]
    fn add(&self, ns: u64, children: u64, new_epoch: bool) {
        self.total
            .store(self.total.load(Relaxed).wrapping_add(ns), Relaxed);
        self.children
            .store(self.children.load(Relaxed).wrapping_add(children), Relaxed);
        if new_epoch || ns < self.min.load(Relaxed) {
            self.min.store(ns, Relaxed);
        }
        if new_epoch || ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
        add_f64(&self.squares, ns as f64 * ns as f64);
    }

    fn read(&self, calls: u64) -> super::Durations {
        super::Durations {
            calls,
            total: self.total.load(Relaxed),
            children: self.children.load(Relaxed),
            min: self.min.load(Relaxed),
            max: self.max.load(Relaxed),
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

/// One place in one thread's call tree.
#[derive(Debug)]
pub(crate) struct Node {
    /// The chain of sites from the root to here, numbered for the whole process.
    pub(crate) path: u32,
    pub(crate) site: u32,
    sequence: AtomicU32,
    /// The epoch of the last call booked here; minimum and maximum belong to it alone.
    epoch: AtomicU32,
    calls: AtomicU64,
    cpu: Durations,
    wall: Durations,
    submitted: AtomicU64,
    captured: AtomicU64,
    untimed: [AtomicU64; REASONS],
    work: [AtomicU64; 3],
    work_stated: AtomicU32,
    cpu_histogram: Arc<histogram::Shared>,
    wall_histogram: Option<Arc<histogram::Shared>>,
}

impl Node {
    pub(crate) fn new(
        path: u32,
        site: u32,
        cpu_histogram: Arc<histogram::Shared>,
        wall_histogram: Option<Arc<histogram::Shared>>,
    ) -> Self {
        Self {
            path,
            site,
            sequence: AtomicU32::new(0),
            epoch: AtomicU32::new(0),
            calls: AtomicU64::new(0),
            cpu: Durations::new(),
            wall: Durations::new(),
            submitted: AtomicU64::new(0),
            captured: AtomicU64::new(0),
            untimed: [const { AtomicU64::new(0) }; REASONS],
            work: [const { AtomicU64::new(0) }; 3],
            work_stated: AtomicU32::new(0),
            cpu_histogram,
            wall_histogram,
        }
    }

    /// Books one ended call. Only the owning thread may call this.
    #[inline]
    pub(crate) fn book(&self, call: &Call, epoch: u32) {
        let sequence = self.sequence.load(Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Relaxed);
        // Orders the odd number before the fields for a reader that sees any of them.
        fence(Ordering::Release);
        let new_epoch = self.epoch.load(Relaxed) != epoch;
        if new_epoch {
            self.epoch.store(epoch, Relaxed);
        }
        bump(&self.calls);
        self.cpu.add(call.cpu_ns, call.children_ns, new_epoch);
        self.cpu_histogram.record(call.cpu_ns);
        if call.fate != Fate::NoStream {
            self.book_fate(call.fate);
        }
        if call.work != Work::NONE {
            self.book_work(&call.work);
        }
        if let (Some(ns), Some(histogram)) = (call.wall_ns, &self.wall_histogram) {
            self.wall.add(ns, 0, new_epoch);
            histogram.record(ns);
        }
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    fn book_fate(&self, fate: Fate) {
        match fate {
            Fate::NoStream => {}
            Fate::Submitted => bump(&self.submitted),
            Fate::Captured => bump(&self.captured),
            Fate::Untimed(reason) => {
                if let Some(cell) = self.untimed.get(reason as usize) {
                    bump(cell);
                }
            }
        }
    }

    fn book_work(&self, work: &Work) {
        for (at, (cell, amount)) in self.work.iter().zip(work.fields()).enumerate() {
            if let Some(amount) = amount {
                add_f64(cell, amount);
                self.work_stated
                    .store(self.work_stated.load(Relaxed) | 1 << at, Relaxed);
            }
        }
    }

    /// All fields of one moment.
    pub(crate) fn read(&self) -> NodeData {
        for _ in 0..READ_TRIES {
            let before = self.sequence.load(Ordering::Acquire);
            let data = self.read_once();
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Relaxed) == before {
                return data;
            }
            hint::spin_loop();
        }
        self.read_once()
    }

    fn read_once(&self) -> NodeData {
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
        NodeData {
            cpu: self.cpu.read(calls),
            wall: self.wall.read(if self.wall_histogram.is_some() {
                calls
            } else {
                0
            }),
            epoch: self.epoch.load(Relaxed),
            counts: Counts {
                submitted: self.submitted.load(Relaxed),
                captured: self.captured.load(Relaxed),
                untimed,
            },
            work: Work {
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
    pub(crate) untimed: [u64; REASONS],
}

impl Counts {
    /// Calls that have a stream.
    pub(crate) fn with_stream(&self) -> u64 {
        self.submitted + self.captured + self.untimed.iter().sum::<u64>()
    }
}

/// A [`Node`] as plain data, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NodeData {
    pub(crate) cpu: super::Durations,
    pub(crate) wall: super::Durations,
    /// The last epoch in which anything was booked.
    pub(crate) epoch: u32,
    pub(crate) counts: Counts,
    pub(crate) work: Work,
}

impl NodeData {
    /// Adds `other`. `epoch` is the current one: minimum and maximum count only from there.
    pub(crate) fn merge(&mut self, other: &Self, epoch: u32) {
        let current = |data: &Self| data.epoch == epoch;
        self.cpu.merge(&other.cpu, current(self), current(other));
        self.wall.merge(&other.wall, current(self), current(other));
        self.epoch = self.epoch.max(other.epoch);
        self.counts.submitted += other.counts.submitted;
        self.counts.captured += other.counts.captured;
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
        for (into, gone) in self.counts.untimed.iter_mut().zip(earlier.counts.untimed) {
            *into = into.saturating_sub(gone);
        }
        self.work.subtract(&earlier.work);
        if self.cpu.calls == 0 {
            self.work = Work::NONE;
        }
    }
}
