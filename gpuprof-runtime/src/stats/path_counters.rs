//! The counters of one thread for one call path, with one writer and any number of readers.
//!
//! The writer takes no lock and uses no locked instruction. A reader gets all fields of one moment
//! by a sequence number, which is odd while the writer is inside. Counters are never freed: when
//! their thread ends, the next thread to begin continues to write them, so that spans can hold them
//! without reference counts.

use std::array;
use std::sync::atomic::{Ordering, Ordering::Relaxed};

use super::call_outcome::{CallRecord, GpuOutcome, REASONS, StatedWork};
use super::calls_in_progress::{AtomicCallsInProgress, CallsInProgress};
use super::concurrent_histogram::bump;
use super::durations::{AtomicDurations, DurationSums, add_f64};
use super::host_path_totals::{HostPathTotals, OutcomeCounts};
use super::path_sampling::PathSampling;
use super::sampling_decisions::CallHistory;
use super::site_counters::SiteCounters;
use super::window_epoch::WriterEpoch;
use crate::clock;
use crate::sync::{AtomicU32, AtomicU64, fence, hint};

/// How often a reader tries to get one consistent moment before it takes what it sees. A writer is
/// inside for nanoseconds, unless it was preempted there.
const READ_TRIES: u32 = 10_000;

#[inline]
fn add(cell: &AtomicU64, more: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(more), Relaxed);
}

/// [`PathCounters::current`] without a call in progress.
const NO_CALL: u64 = u64::MAX;

/// See the module. Aligned to cache lines of its own, because its neighbours may belong to another
/// thread; what every call writes fills the first line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct PathCounters {
    /// The call path, numbered for the whole process.
    pub(crate) path: u32,
    sequence: AtomicU32,
    /// The [`WriterEpoch`] of the last record.
    last_writer: AtomicU64,
    calls: AtomicU64,
    cpu: AtomicDurations,
    pub(super) site: &'static SiteCounters,
    /// When the call in progress began, in clock ticks, or [`NO_CALL`]. One word is enough, because
    /// a thread is on a path once at a time, unless its spans end out of order: then the earlier
    /// call is not shown. A thread that ends the process has ended here before the report is
    /// written, and its call is still running: this is reset by the next call alone. Unused for
    /// async functions.
    current: AtomicU64,
    pending: AtomicCallsInProgress,
    wall: AtomicDurations,
    submitted: AtomicU64,
    captured: AtomicU64,
    /// Captured calls that these represent beside themselves, and the variance of that estimate.
    captured_unasked: AtomicU64,
    captured_variance: AtomicU64,
    untimed: [AtomicU64; REASONS],
    work: [AtomicU64; 3],
    work_stated: AtomicU32,
    pub(crate) sampling: PathSampling,
}

impl PathCounters {
    pub(super) fn new(path: u32, site: &'static SiteCounters) -> Self {
        Self {
            path,
            sequence: AtomicU32::new(0),
            last_writer: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            cpu: AtomicDurations::new(),
            site,
            current: AtomicU64::new(NO_CALL),
            pending: AtomicCallsInProgress::default(),
            wall: AtomicDurations::new(),
            submitted: AtomicU64::new(0),
            captured: AtomicU64::new(0),
            captured_unasked: AtomicU64::new(0),
            captured_variance: AtomicU64::new(0),
            untimed: array::from_fn(|_| AtomicU64::new(0)),
            work: array::from_fn(|_| AtomicU64::new(0)),
            work_stated: AtomicU32::new(0),
            sampling: PathSampling::new(),
        }
    }

    /// Whether these are calls of an async function.
    pub(crate) fn is_async(&self) -> bool {
        self.site.wall.is_some()
    }

    /// Whether the next record is the first of this thread and window.
    pub(crate) fn is_first_of(&self, writer: WriterEpoch) -> bool {
        self.last_writer.load(Relaxed) != writer.bits()
    }

    /// What sampling goes by before a call. Only the owning thread may call this.
    #[inline]
    pub(crate) fn history(&self, writer: WriterEpoch, is_outermost: bool) -> CallHistory {
        let latest = WriterEpoch::from_bits(self.last_writer.load(Relaxed));
        let is_known = latest.epoch() == writer.epoch();
        let calls = self.calls.load(Relaxed);
        self.sampling.history(calls, is_known, is_outermost)
    }

    /// A call of this path goes untimed inside one of `outermost`. Only the owning thread may call
    /// this.
    #[inline]
    pub(crate) fn miss(&self, outermost: &Self) {
        let timed = self.submitted.load(Relaxed);
        self.sampling.miss(timed, &outermost.sampling);
    }

    /// A call of this path took so long inside one of `outermost`. Only the owning thread may call
    /// this, before the call is recorded.
    #[inline]
    pub(crate) fn watch_outliers(&self, cpu_ticks: u64, outermost: &Self) {
        let calls = self.calls.load(Relaxed);
        (outermost.sampling).watch_outliers(cpu_ticks, self.cpu.total(), calls);
    }

    /// A call of a function that is not async begins at `started` clock ticks. Only the owning
    /// thread may call this.
    #[inline]
    pub(crate) fn begin(&self, started: u64) {
        self.current.store(started, Relaxed);
    }

    /// A call of an async function begins at `started` clock ticks. It may end on another thread,
    /// in that thread's counters. Only the owning thread may call this.
    pub(crate) fn begin_async(&self, started: u64) {
        self.sampling.begin_future();
        self.write(|| self.pending.begin(started));
    }

    /// Records an ended call of which only the CPU time is known. Only the owning thread may call
    /// this.
    ///
    /// Returns whether it was recorded: a thread that has detached from its counters may not.
    pub(crate) fn record_time(
        &self,
        cpu_ticks: u64,
        nested_ticks: u64,
        writer: WriterEpoch,
    ) -> bool {
        self.change(writer, || {
            self.add_time(cpu_ticks, nested_ticks);
            self.current.store(NO_CALL, Relaxed);
        })
    }

    /// The same in fewer steps, unless it is the first record of the thread, of the window, or in
    /// an octave of the histogram. Returns whether it was recorded.
    #[inline]
    pub(crate) fn record_next_time(
        &self,
        cpu_ticks: u64,
        nested_ticks: u64,
        writer: WriterEpoch,
    ) -> bool {
        match self.site.cpu.existing_bucket(clock::rough_ns(cpu_ticks)) {
            Some(bucket) if self.last_writer.load(Relaxed) == writer.bits() => {
                self.write(|| {
                    bump(&self.calls);
                    self.cpu.add(cpu_ticks, nested_ticks);
                    bump(bucket);
                    self.current.store(NO_CALL, Relaxed);
                });
                true
            }
            _ => false,
        }
    }

    /// Records an ended call, as [`record_time`](Self::record_time) does, with everything known of
    /// it.
    #[inline]
    pub(crate) fn record(&self, call: &CallRecord<'_>, writer: WriterEpoch) -> bool {
        let add = || {
            self.add_time(call.cpu_ticks, call.nested_ticks);
            self.add_outcome(call.outcome);
            self.add_work(call.work);
            match (call.wall_ticks, &self.site.wall) {
                (Some(ticks), Some(histogram)) => {
                    self.pending.end(call.started);
                    self.wall.add(ticks, 0);
                    histogram.record(clock::rough_ns(ticks));
                }
                _ => self.current.store(NO_CALL, Relaxed),
            }
        };
        self.change(writer, add)
    }

    #[inline]
    fn change(&self, writer: WriterEpoch, add: impl FnOnce()) -> bool {
        if self.last_writer.load(Relaxed) != writer.bits() {
            return self.change_first(writer, add);
        }
        self.write(add);
        true
    }

    /// The first record of a thread or of a window.
    // Inlined, it would take registers and inlining from the calls that are not the first.
    #[cold]
    #[inline(never)]
    fn change_first(&self, writer: WriterEpoch, add: impl FnOnce()) -> bool {
        let may_write = self.begin_record(writer);
        if may_write {
            self.write(add);
        }
        may_write
    }

    /// Runs `add` so that a reader sees all of its changes or none.
    #[inline]
    fn write(&self, add: impl FnOnce()) {
        let sequence = self.sequence.load(Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Relaxed);
        // A reader that sees a changed field also sees the odd number.
        fence(Ordering::Release);
        add();
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// Returns whether the thread may record. Nothing is written, not even the sequence number,
    /// before this is known: the next owner may be writing already.
    fn begin_record(&self, writer: WriterEpoch) -> bool {
        if !writer.has_owner() {
            return false;
        }
        self.write(|| {
            if WriterEpoch::from_bits(self.last_writer.load(Relaxed)).epoch() != writer.epoch() {
                self.cpu.reset_extremes();
                self.wall.reset_extremes();
                let timed = self.submitted.load(Relaxed);
                self.sampling.begin_window(self.calls.load(Relaxed), timed);
            }
            self.last_writer.store(writer.bits(), Relaxed);
        });
        self.site.count_thread(writer);
        true
    }

    #[inline]
    fn add_time(&self, cpu_ticks: u64, nested_ticks: u64) {
        bump(&self.calls);
        self.cpu.add(cpu_ticks, nested_ticks);
        self.site.cpu.record(clock::rough_ns(cpu_ticks));
    }

    fn add_outcome(&self, outcome: GpuOutcome) {
        match outcome {
            GpuOutcome::NoStream => {}
            GpuOutcome::Submitted => bump(&self.submitted),
            GpuOutcome::Captured { stands_for } => {
                bump(&self.captured);
                let unasked = u64::from(stands_for.saturating_sub(1));
                add(&self.captured_unasked, unasked);
                // Each call is seen with the probability 1 ⁄ stands_for.
                add(&self.captured_variance, unasked * u64::from(stands_for));
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
            self.add_stated_work(work);
        }
    }

    fn add_stated_work(&self, work: &StatedWork) {
        for (index, (cell, amount)) in self.work.iter().zip(work.fields()).enumerate() {
            if let Some(amount) = amount {
                add_f64(cell, amount);
                self.work_stated
                    .store(self.work_stated.load(Relaxed) | 1 << index, Relaxed);
            }
        }
    }

    /// All fields of one moment. Minimum and maximum are returned only if they are of the window
    /// `epoch`.
    pub(crate) fn read(&self, epoch: u32) -> HostPathTotals {
        for _ in 0..READ_TRIES {
            if let Some(data) = self.try_read(epoch) {
                return data;
            }
            hint::spin_loop();
        }
        self.read_once(epoch)
    }

    /// One try. `None`: the writer was inside meanwhile.
    pub(super) fn try_read(&self, epoch: u32) -> Option<HostPathTotals> {
        let before = self.sequence.load(Ordering::Acquire);
        let data = self.read_once(epoch);
        fence(Ordering::Acquire);
        let whole = before.is_multiple_of(2) && self.sequence.load(Relaxed) == before;
        whole.then_some(data)
    }

    fn read_once(&self, epoch: u32) -> HostPathTotals {
        let current = WriterEpoch::from_bits(self.last_writer.load(Relaxed)).epoch() == epoch;
        let calls = self.calls.load(Relaxed);
        let stated = self.work_stated.load(Relaxed);
        let [bytes, flops, items] = [0, 1, 2].map(|index| {
            let cell = self.work.get(index)?;
            (stated & 1 << index != 0).then(|| f64::from_bits(cell.load(Relaxed)))
        });
        let mut untimed = [0; REASONS];
        for (into, cell) in untimed.iter_mut().zip(&self.untimed) {
            *into = cell.load(Relaxed);
        }
        HostPathTotals {
            cpu: self.cpu.read(calls, current),
            wall: match self.site.wall {
                Some(_) => self.wall.read(calls, current),
                None => DurationSums::default(),
            },
            counts: OutcomeCounts {
                submitted: self.submitted.load(Relaxed),
                captured: self.captured.load(Relaxed),
                captured_unasked: self.captured_unasked.load(Relaxed),
                captured_variance: self.captured_variance.load(Relaxed),
                untimed,
            },
            work: StatedWork {
                bytes,
                flops,
                items,
            },
            open: self.open_calls(),
            off_main: 0,
        }
    }

    fn open_calls(&self) -> CallsInProgress {
        let mut open = self.pending.read();
        if let Some(started) = self.running_since() {
            open.begin(started);
        }
        open
    }

    /// When the call in progress began, in clock ticks, unless the function is async.
    pub(crate) fn running_since(&self) -> Option<u64> {
        Some(self.current.load(Relaxed)).filter(|started| *started != NO_CALL)
    }
}
