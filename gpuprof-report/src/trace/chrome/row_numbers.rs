//! Process and thread numbers of the rows: a device is a process as in Kineto, whose threads are
//! its streams.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::Trace;
use super::super::rows::{Track, item_at};

/// Above the process numbers of Linux, for a device whose ordinal is the process's own number.
const FIRST_SPARE_PID: u64 = 5_000_000;

/// A row as `pid` and `tid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowNumber {
    pub(super) pid: u64,
    pub(super) tid: u64,
}

/// Gives each row a number of its own: a thread its `tid`, the activities of a stream the stream's
/// number, and every other row one above all of these.
pub(super) struct RowNumbers<'a> {
    trace: &'a Trace,
    rows: HashMap<(Track, usize), RowNumber>,
    taken: HashSet<RowNumber>,
    spare_tid: u64,
}

impl<'a> RowNumbers<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let threads = trace.threads.iter().map(|thread| thread.tid);
        let streams = trace.streams.iter().map(|stream| stream.stream.into());
        let highest = threads.chain(streams).max().unwrap_or(0);
        Self {
            trace,
            rows: HashMap::new(),
            taken: HashSet::new(),
            spare_tid: highest.saturating_add(1),
        }
    }

    /// The number of a row, and whether it is asked for the first time.
    pub(super) fn number(&mut self, track: Track, row: usize) -> (RowNumber, bool) {
        if let Some(&number) = self.rows.get(&(track, row)) {
            return (number, false);
        }
        let pid = self.pid(track);
        let wanted = self
            .preferred_tid(track)
            .filter(|_| row == 0)
            .map(|tid| RowNumber { pid, tid });
        let number = match wanted.filter(|number| self.taken.insert(*number)) {
            Some(number) => number,
            None => {
                let tid = self.spare_tid;
                self.spare_tid = tid.saturating_add(1);
                RowNumber { pid, tid }
            }
        };
        self.rows.insert((track, row), number);
        (number, true)
    }

    fn preferred_tid(&self, track: Track) -> Option<u64> {
        match track {
            Track::Thread(index) => Some(item_at(&self.trace.threads, index?)?.tid),
            Track::Activities(index) => Some(item_at(&self.trace.streams, index?)?.stream.into()),
            Track::Spans(_) | Track::Missing(_) => None,
        }
    }

    fn pid(&self, track: Track) -> u64 {
        let stream = match track {
            Track::Thread(_) | Track::Missing(_) => None,
            Track::Activities(index) | Track::Spans(index) => index,
        };
        match stream.and_then(|index| item_at(&self.trace.streams, index)) {
            Some(stream) => self.device(stream.device),
            None => self.trace.pid.into(),
        }
    }

    /// The process number of a device.
    pub(super) fn device(&self, ordinal: u32) -> u64 {
        if ordinal == self.trace.pid {
            return FIRST_SPARE_PID + u64::from(ordinal);
        }
        ordinal.into()
    }

    /// The devices that have a row or a counter, ascending.
    pub(super) fn devices(&self) -> BTreeSet<u32> {
        let trace = self.trace;
        let listed = trace.devices.iter().map(|device| device.ordinal);
        let of_streams = trace.streams.iter().map(|stream| stream.device);
        let of_counters = trace.counters.iter().filter_map(|counter| counter.device);
        listed.chain(of_streams).chain(of_counters).collect()
    }
}
