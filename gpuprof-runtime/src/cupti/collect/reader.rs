//! The background thread `gpuprof-cupti`: asks CUPTI for its filled buffers, reads their records and hands them on.
//!
//! In RELAXED capture mode, like the resolver. Nothing a span does waits for it. Must not import span or report.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::api_callbacks::{self, Seen};
use super::buffers::{self, Filled, Pool};
use super::constants::FLUSH_FORCED;
use super::library::Cupti;
use super::names::Names;
use super::parse::{Parsed, parse};
use super::record::Record;
use crate::gpu::Driver;

/// Between two times that CUPTI is asked for what is ready, where nobody waits. Filled buffers it gives back by itself, and being asked
/// holds up whoever launches: on an H200, launches of 5 µs back to back took 1.5 % longer with one question for each two buffers.
const PERIOD: Duration = Duration::from_millis(100);

/// Between two looks at least, where nobody waits: with very many threads at work buffers are few all the time.
const SOONEST: Duration = Duration::from_millis(2);

/// Between two looks at the devices' clocks.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Where records go, on the reader's thread.
pub(crate) trait Sink: Send {
    /// One record.
    fn take(&mut self, record: Record);
    /// All that CUPTI had given back was handed over.
    fn read(&mut self);
    /// All that CUPTI had ready was handed over.
    fn flushed(&mut self);
}

/// What was read so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) records: AtomicU64,
    pub(crate) invalid: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// Who waits for the reader, and for what.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    state: Mutex<Asked>,
    served: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    asked: u64,
    served: u64,
    /// The process ends: after this there is nothing more to be read.
    last: bool,
    /// The reader has ended.
    over: bool,
}

/// Lets nobody wait for a reader that has ended, in whatever way.
struct Over(&'static Requests);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.state.lock().over = true;
        self.0.served.notify_all();
    }
}

impl Requests {
    /// Waits until all that CUPTI has ready was read, at most `limit`; returns whether it was.
    pub(crate) fn drain(&self, reader: &thread::Thread, limit: Duration, last: bool) -> bool {
        let began = Instant::now();
        let Some(mut state) = self.state.try_lock_for(limit) else {
            return false;
        };
        state.asked += 1;
        state.last |= last;
        let mine = state.asked;
        reader.unpark();
        while state.served < mine && !state.over {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            self.served.wait_for(&mut state, left);
        }
        true
    }
}

pub(crate) struct Reader {
    pub(crate) cupti: &'static Cupti,
    pub(crate) requests: &'static Requests,
    pub(crate) tally: &'static Tally,
    pub(crate) sink: Box<dyn Sink>,
    pub(crate) names: Names,
    /// Looks at the devices' clocks, which takes a while: here it delays nobody but who waits for a report.
    pub(crate) look: fn(),
    pub(crate) looked: Option<Instant>,
    /// When the latest look was over.
    pub(crate) read: Instant,
    /// When CUPTI was last asked for what is ready.
    pub(crate) flushed: Instant,
}

impl Reader {
    pub(crate) fn run(mut self) {
        let _over = Over(self.requests);
        buffers::pool().prepare();
        // There is no driver to ask before a span has met one; it may not even be loaded.
        while Driver::met().is_none() {
            if self.serve() {
                return;
            }
        }
        let relaxed = Driver::met().map(|driver| driver.relaxed(|| while !self.serve() {}));
        // Where the mode is not to be had it goes on all the same: no flush was ever seen to disturb a capture (H200, driver 580,
        // GLOBAL captures on this thread and on another).
        if !matches!(relaxed, Some(Ok(()))) {
            while !self.serve() {}
        }
    }

    /// Waits for its time or a request, and reads once. Returns whether that was the last.
    fn serve(&mut self) -> bool {
        self.rest();
        let (asked, served, last) = {
            let state = self.requests.state.lock();
            (state.asked, state.served, state.last)
        };
        let is_asked = asked > served || last;
        if is_asked || self.flushed.elapsed() >= PERIOD {
            self.round(0);
            self.sink.flushed();
        } else {
            // No round of its own for those who count rounds: with very many threads at work it comes every few ms.
            if buffers::pool().is_short() {
                self.flush(0);
            }
            self.read_filled(false);
            self.sink.read();
        }
        if asked > served || self.looked.is_none_or(|at| at.elapsed() >= LOOK_PERIOD) {
            (self.look)();
            self.looked = Some(Instant::now());
        }
        if last {
            // Buffers that hold something unfinished too: what is finished in them would be lost.
            self.round(FLUSH_FORCED);
            self.sink.flushed();
        }
        self.read = Instant::now();
        let mut state = self.requests.state.lock();
        state.served = asked;
        self.requests.served.notify_all();
        last
    }

    /// Waits until it is time, or somebody waits.
    fn rest(&self) {
        if !self.has_request() {
            thread::park_timeout(PERIOD.saturating_sub(self.flushed.elapsed()));
        }
        loop {
            let left = SOONEST.saturating_sub(self.read.elapsed());
            if left.is_zero() || self.has_request() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    fn has_request(&self) -> bool {
        let state = self.requests.state.lock();
        state.asked > state.served
    }

    fn flush(&self, flags: u32) {
        if !Driver::met().is_some_and(Driver::has_ended) {
            // A failure is counted; what was filled before can be read all the same.
            let _ = self.cupti.flush_all(flags);
        }
    }

    fn round(&mut self, flags: u32) {
        self.flush(flags);
        self.flushed = Instant::now();
        self.read_filled(flags == FLUSH_FORCED);
        let mut dropped = 0;
        let asked = self
            .cupti
            .num_dropped(std::ptr::null_mut(), 0, &raw mut dropped);
        if asked.is_ok() {
            self.tally.dropped.fetch_add(dropped as u64, Relaxed);
        }
        self.sink.read();
    }

    /// Reads what CUPTI has given back.
    fn read_filled(&mut self, forced: bool) {
        let pool = buffers::pool();
        // First, so that most of what ran finds its call.
        let lost = api_callbacks::SEEN.take(|Seen { api, call }| {
            self.tally.records.fetch_add(1, Relaxed);
            self.sink.take(Record::Api { api, call });
        });
        self.tally.dropped.fetch_add(lost, Relaxed);
        while let Some(filled) = pool.next_filled() {
            match filled.valid() {
                0 => pool.recycle(filled),
                _ => self.read(pool, filled, forced),
            }
        }
        pool.prepare();
    }

    /// Reads one buffer. Its end is told by CUPTI, or where that fails by an error, which is counted.
    fn read(&mut self, pool: &Pool, filled: Filled, forced: bool) {
        let mut record = std::ptr::null_mut();
        let mut furthest = None;
        let (address, valid) = (filled.address(), filled.valid());
        while self
            .cupti
            .next_record(address, valid, &raw mut record)
            .is_ok()
        {
            let Some((offset, bytes)) = filled.bytes_at(record) else {
                break;
            };
            // Never round in circles, whatever the library does.
            if furthest.is_some_and(|furthest| offset <= furthest) {
                break;
            }
            furthest = Some(offset);
            self.take(bytes, forced);
        }
        pool.recycle(filled);
    }

    fn take(&mut self, bytes: &[u8], forced: bool) {
        let names = &mut self.names;
        let parsed = parse(bytes, |address| -> Arc<str> {
            // SAFETY: CUPTI's kernel records hold null or the address of a C string that it keeps.
            unsafe { names.at(address) }
        });
        match parsed {
            Parsed::Record(record) => {
                self.tally.records.fetch_add(1, Relaxed);
                self.sink.take(record);
            }
            // Unfinished, and so no error.
            Parsed::Unstamped if forced => {}
            Parsed::Unstamped | Parsed::Reversed => {
                self.tally.invalid.fetch_add(1, Relaxed);
            }
            Parsed::Skipped => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::{Over, Requests};

    #[test]
    fn who_waits_is_told_whether_it_was_all_read() {
        let requests: &Requests = Box::leak(Box::default());
        let drain = |ms| requests.drain(&thread::current(), Duration::from_millis(ms), false);
        assert!(!drain(5), "nobody reads");
        thread::scope(|scope| {
            scope.spawn(|| {
                while requests.state.lock().asked < 2 {
                    thread::yield_now();
                }
                requests.state.lock().served = 2;
                requests.served.notify_all();
            });
            assert!(drain(20_000));
        });
        // Whoever reads no more has read all there was.
        drop(Over(requests));
        assert!(drain(20_000));
    }
}
