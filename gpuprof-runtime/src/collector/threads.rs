//! The counters of all threads.

use rustc_hash::FxHashMap;

use crate::stats::host_totals::Totals;
use crate::stats::open_calls::OpenCalls;
use crate::stats::thread_counters::ThreadCounters;

/// The counters of every thread that has called a profiled function, reused when a thread ends.
#[derive(Debug, Default)]
pub(super) struct Threads {
    all: Vec<&'static ThreadCounters>,
    /// Counters whose thread has ended. The next threads to begin continue them.
    free: Vec<&'static ThreadCounters>,
    /// Threads attached so far.
    attached: u32,
    /// Futures that ended and could not be recorded, by path.
    ended_unrecorded: FxHashMap<u32, OpenCalls>,
    /// The totals when the current window began.
    base: Totals,
}

impl Threads {
    /// Counters for a thread that begins, and the thread's number.
    pub(super) fn attach(&mut self) -> (&'static ThreadCounters, u32) {
        // 0 stands for no thread, also after four thousand million of them.
        self.attached = self.attached.wrapping_add(1).max(1);
        let counters = self.free.pop().unwrap_or_else(|| {
            let counters: &'static ThreadCounters = Box::leak(Box::default());
            self.all.push(counters);
            counters
        });
        (counters, self.attached)
    }

    pub(super) fn detach(&mut self, counters: &'static ThreadCounters) {
        self.free.push(counters);
    }

    /// A future that began on `path` at `started` ended on a thread that cannot record it.
    pub(super) fn end_unrecorded_future(&mut self, path: u32, started: u64) {
        self.ended_unrecorded.entry(path).or_default().end(started);
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.all
            .iter()
            .for_each(|counters| counters.add_to(&mut totals));
        for (path, ended) in &self.ended_unrecorded {
            totals.add_open_calls(*path, ended);
        }
        totals
    }

    /// The part of the current window's totals that calls made which began before the window. With
    /// `takes` they are forgotten.
    fn crossed(&self, takes: bool) -> Totals {
        let mut crossed = Totals::default();
        let each = self.all.iter();
        each.for_each(|counters| counters.add_crossed_to(takes, &mut crossed));
        crossed
    }

    /// The totals of the current window, with the part of them that calls made which began before
    /// the window.
    pub(super) fn in_window(&self) -> (Totals, Totals) {
        // Before the totals, so that no call is only in this part of them.
        let crossed = self.crossed(false);
        let mut totals = self.totals();
        totals.subtract(&self.base);
        (totals, crossed)
    }

    /// Begins the next window and returns the totals of the one that ends, with the part of them
    /// that calls made which began before it.
    pub(super) fn next_window(&mut self) -> (Totals, Totals) {
        let crossed = self.crossed(true);
        let totals = self.totals();
        let mut in_window = totals.clone();
        in_window.subtract(&self.base);
        self.base = totals;
        (in_window, crossed)
    }
}
