//! What the reader has read so far, and the threads that wait for it.

use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// What the reader shares with the program's threads.
#[derive(Debug, Default)]
pub(crate) struct ReaderProgress {
    pub(crate) counters: RecordCounters,
    pub(crate) requests: DrainRequests,
}

/// Counts since the process began.
#[derive(Debug, Default)]
pub(crate) struct RecordCounters {
    pub(crate) records: AtomicU64,
    /// Records with impossible time stamps or with values that CUPTI does not define.
    pub(crate) invalid: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// Threads that wait until everything finished was read.
#[derive(Debug, Default)]
pub(crate) struct DrainRequests {
    state: Mutex<RequestState>,
    served: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestState {
    pub(super) requested: u64,
    served: u64,
    /// The process ends, so this read is the last one.
    pub(super) is_last: bool,
    reader_exited: bool,
}

impl RequestState {
    /// Whether a thread waits.
    pub(super) fn is_open(&self) -> bool {
        self.requested > self.served
    }
}

impl DrainRequests {
    /// What threads wait for now.
    pub(super) fn state(&self) -> RequestState {
        *self.state.lock()
    }

    /// Everything was read that was asked for in the first `requested` requests.
    pub(super) fn serve(&self, requested: u64) {
        self.state.lock().served = requested;
        self.served.notify_all();
    }

    /// Waits at most `limit` until everything that CUPTI has finished was read; returns whether it
    /// was.
    pub(crate) fn drain(&self, reader: &thread::Thread, limit: Duration, is_last: bool) -> bool {
        let began = Instant::now();
        let Some(mut state) = self.state.try_lock_for(limit) else {
            return false;
        };
        state.requested += 1;
        state.is_last |= is_last;
        let mine = state.requested;
        reader.unpark();
        while state.served < mine && !state.reader_exited {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            self.served.wait_for(&mut state, left);
        }
        true
    }
}

/// Releases all waiting threads when the reader ends, even by a panic.
pub(super) struct ReaderExitGuard(pub(super) &'static DrainRequests);

impl Drop for ReaderExitGuard {
    fn drop(&mut self) {
        self.0.state.lock().reader_exited = true;
        self.0.served.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::{DrainRequests, ReaderExitGuard};

    #[test]
    fn a_waiting_thread_learns_whether_everything_was_read() {
        let requests: &DrainRequests = Box::leak(Box::default());
        let drain = |ms| requests.drain(&thread::current(), Duration::from_millis(ms), false);
        assert!(!drain(5), "nobody reads");
        thread::scope(|scope| {
            scope.spawn(|| {
                while requests.state.lock().requested < 2 {
                    thread::yield_now();
                }
                requests.serve(2);
            });
            assert!(drain(20_000));
        });
        // A reader that has ended has read everything.
        drop(ReaderExitGuard(requests));
        assert!(drain(20_000));
    }
}
