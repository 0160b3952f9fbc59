//! The counters of all threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::os;
use crate::stats::calls_in_progress::CallsInProgress;
use crate::stats::host_totals::Totals;
use crate::stats::thread_counters::{RunningThread, ThreadCounters};

/// The counters of every thread that has called a profiled function, reused when a thread ends.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Held for moments: a thread's first call needs it.
    known: Mutex<KnownThreads>,
    /// The totals when the current window began. Held while counters are read, by resets and
    /// profiles alone.
    base: Mutex<Totals>,
    /// Viewers may ask for each thread's own counters.
    are_watched: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct KnownThreads {
    all: Vec<&'static ThreadCounters>,
    /// Counters whose thread has ended. The next threads to begin continue them.
    free: Vec<&'static ThreadCounters>,
    /// Threads attached so far.
    attached: u32,
    /// Futures that ended and could not be recorded, by path.
    ended_unrecorded: FxHashMap<u32, CallsInProgress>,
}

impl Threads {
    /// Counters for a thread that begins, and the thread's number.
    pub(super) fn attach(&self) -> (&'static ThreadCounters, u32) {
        let mut known = self.known.lock();
        // 0 stands for no thread, also after four thousand million of them.
        known.attached = known.attached.wrapping_add(1).max(1);
        let is_main = os::thread_id() == std::process::id();
        let free = (!is_main).then(|| known.free.pop()).flatten();
        let counters = free.unwrap_or_else(|| {
            let counters: &'static ThreadCounters = Box::leak(Box::new(if is_main {
                ThreadCounters::of_main_thread()
            } else {
                ThreadCounters::default()
            }));
            known.all.push(counters);
            counters
        });
        if self.are_watched.load(Relaxed) {
            counters.begin_thread();
        }
        (counters, known.attached)
    }

    /// Makes the counters of a thread that ends free for another thread, unless the lock is not
    /// free within `limit`.
    pub(super) fn detach(&self, counters: &'static ThreadCounters, limit: Duration) {
        if let Some(mut known) = self.known.try_lock_for(limit) {
            known.free.push(counters);
        }
    }

    /// A future that began on `path` at `started` ended on a thread that cannot record it.
    pub(super) fn end_unrecorded_future(&self, path: u32, started: u64, limit: Duration) {
        if let Some(mut known) = self.known.try_lock_for(limit) {
            known.ended_unrecorded.entry(path).or_default().end(started);
        }
    }

    /// The totals of the current window. `None`: a lock was not free within `limit`.
    pub(super) fn window_totals(&self, limit: Duration) -> Option<Totals> {
        let base = self.base.try_lock_for(limit)?;
        let known = self.known.try_lock_for(limit)?.clone();
        let mut totals = known.totals();
        totals.subtract(&base);
        Some(totals)
    }

    /// Begins the next window and returns the totals of the one that ends.
    pub(super) fn next_window(&self) -> Totals {
        let mut base = self.base.lock();
        let known = self.known.lock().clone();
        let totals = known.totals();
        let mut in_window = totals.clone();
        in_window.subtract(&base);
        *base = totals;
        in_window
    }

    /// Begins the counters of each thread anew, which viewers see.
    pub(super) fn begin_rows(&self) {
        if self.are_watched.load(Relaxed) {
            let known = self.known.lock();
            known
                .all
                .iter()
                .for_each(|counters| counters.begin_window());
        }
    }

    /// From now on, each new thread notes its id and name. To be called before the first call of a
    /// function, when no other thread than the calling one can be attached.
    pub(super) fn watch(&self) {
        self.are_watched.store(true, Relaxed);
        let known = self.known.lock();
        known
            .all
            .iter()
            .for_each(|counters| counters.begin_thread());
    }

    /// The threads that are attached now. `None`: a lock was not free within `limit`.
    pub(super) fn running(&self, limit: Duration) -> Option<Vec<RunningThread>> {
        let known = self.known.try_lock_for(limit)?.clone();
        let is_free = |counters: &&&ThreadCounters| {
            known
                .free
                .iter()
                .any(|free| std::ptr::eq(*free, **counters))
        };
        let attached = known.all.iter().filter(|counters| !is_free(counters));
        Some(attached.filter_map(|counters| counters.running()).collect())
    }
}

impl KnownThreads {
    /// Everything counted so far.
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for counters in &self.all {
            counters.add_to(&mut totals);
        }
        for (path, ended) in &self.ended_unrecorded {
            totals.add_open_calls(*path, ended);
        }
        totals
    }
}
