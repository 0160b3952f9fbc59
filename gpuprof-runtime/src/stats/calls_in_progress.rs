//! Calls in progress: how many there are, and the time that they have taken so far.

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicU64;

/// Count and sum of the beginnings of calls in progress: their time so far is count times now minus
/// the sum.
///
/// Both wrap. A future may begin on one thread and end on another, where it is subtracted, so that
/// only the sum over all threads says something. Threads are read one after another: a future that
/// begins on a thread already read and ends on one still to be read makes the sum one too small.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallsInProgress {
    calls: u64,
    /// Clock ticks.
    started: u64,
}

impl CallsInProgress {
    pub(super) fn begin(&mut self, started: u64) {
        self.add(&Self { calls: 1, started });
    }

    /// A call that began at `started` ended in no thread's counters.
    pub(crate) fn end(&mut self, started: u64) {
        self.calls = self.calls.wrapping_sub(1);
        self.started = self.started.wrapping_sub(started);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.wrapping_add(other.calls);
        self.started = self.started.wrapping_add(other.started);
    }

    /// The number of calls.
    pub(super) fn count(&self) -> u64 {
        // Below 0 for a moment: see the type.
        u64::try_from(self.calls.cast_signed()).unwrap_or(0)
    }

    /// The ticks that they have taken when the clock reads `now`.
    pub(super) fn ticks(&self, now: u64) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        let ticks = self.calls.wrapping_mul(now).wrapping_sub(self.started);
        // A call may have begun after the clock was read.
        u64::try_from(ticks.cast_signed()).unwrap_or(0)
    }
}

/// [`CallsInProgress`] with one writer.
#[derive(Debug)]
pub(super) struct AtomicCallsInProgress {
    calls: AtomicU64,
    started: AtomicU64,
}

// loom's atomics have no default.
impl Default for AtomicCallsInProgress {
    fn default() -> Self {
        Self {
            calls: AtomicU64::new(0),
            started: AtomicU64::new(0),
        }
    }
}

impl AtomicCallsInProgress {
    pub(super) fn begin(&self, started: u64) {
        self.change(|open| open.begin(started));
    }

    pub(super) fn end(&self, started: u64) {
        self.change(|open| open.end(started));
    }

    fn change(&self, change: impl FnOnce(&mut CallsInProgress)) {
        let mut open = self.read();
        change(&mut open);
        self.calls.store(open.calls, Relaxed);
        self.started.store(open.started, Relaxed);
    }

    pub(super) fn read(&self) -> CallsInProgress {
        CallsInProgress {
            calls: self.calls.load(Relaxed),
            started: self.started.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CallsInProgress;

    #[test]
    fn time_so_far_is_the_sum_over_all_calls() {
        let mut open = CallsInProgress::default();
        assert_eq!((open.count(), open.ticks(1_000)), (0, 0));
        open.begin(100);
        open.begin(400);
        assert_eq!((open.count(), open.ticks(1_000)), (2, 1_500));
        open.end(100);
        assert_eq!((open.count(), open.ticks(1_000)), (1, 600));
    }

    #[test]
    fn a_call_that_ends_on_another_thread_is_subtracted_there() {
        let (mut here, mut there) = (CallsInProgress::default(), CallsInProgress::default());
        here.begin(u64::MAX - 10);
        here.begin(u64::MAX - 4);
        there.end(u64::MAX - 10);
        assert_eq!((there.count(), there.ticks(u64::MAX)), (0, 0));
        here.add(&there);
        assert_eq!((here.count(), here.ticks(u64::MAX)), (1, 4));
    }

    #[test]
    fn a_call_that_begins_after_the_clock_was_read_has_taken_no_time() {
        let mut open = CallsInProgress::default();
        open.begin(1_001);
        assert_eq!((open.count(), open.ticks(1_000)), (1, 0));
    }
}
