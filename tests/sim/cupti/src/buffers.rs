//! The client's buffers: each thread fills one of its own; a full one goes back as soon as all it tells of is over, others when the
//! client flushes. A record is kept here and written into its buffer when that goes back, which no client can tell apart.
//!
//! A real library hands full buffers back on a thread of its own; here the call that fills one does, or a later one.

use std::collections::BTreeMap;

use crate::abi::{Bytes, Complete};
use crate::control::Order;
use crate::driver;
use crate::kinds;
use crate::record::Record;
use crate::state::{self, State, thread};

/// The buffers that the library holds.
pub(crate) struct Buffers {
    /// By the thread that fills it.
    open: BTreeMap<u64, Buffer>,
    /// In the order in which they were filled.
    full: Vec<Buffer>,
}

/// One buffer of the client.
struct Buffer {
    start: Bytes,
    size: usize,
    /// At most so many records, 0 for what fits.
    most: usize,
    records: Vec<Record>,
    used: usize,
}

/// What became of a record.
enum Stored {
    Yes,
    /// A buffer is needed first; here is the record back.
    NoRoom(Record),
}

impl Buffers {
    /// None.
    pub(crate) const fn new() -> Buffers {
        Buffers {
            open: BTreeMap::new(),
            full: Vec::new(),
        }
    }

    fn put(&mut self, thread: u64, record: Record) -> Stored {
        match self.open.get_mut(&thread) {
            Some(buffer) if buffer.fits(&record) => {
                buffer.used += record.bytes.len();
                buffer.records.push(record);
                if buffer.records.len() == buffer.most {
                    self.full.extend(self.open.remove(&thread));
                }
                Stored::Yes
            }
            _ => {
                self.full.extend(self.open.remove(&thread));
                Stored::NoRoom(record)
            }
        }
    }

    /// Takes out the full ones that can go back, and the open ones too with `all`. With `forced` also those that tell of
    /// something that is not over by `now`.
    fn take(&mut self, now: u64, all: bool, forced: bool) -> Vec<Buffer> {
        let ready = |buffer: &Buffer| forced || buffer.over(now);
        let mut taken: Vec<_> = self.full.extract_if(.., |full| ready(full)).collect();
        if all {
            taken.extend(
                self.open
                    .extract_if(.., |_, open| ready(open))
                    .map(|(_, open)| open),
            );
        }
        taken
    }
}

impl Buffer {
    fn fits(&self, record: &Record) -> bool {
        self.used + record.bytes.len() <= self.size
    }

    fn over(&self, now: u64) -> bool {
        self.records.iter().all(|record| record.over <= now)
    }

    /// Writes the records and hands the buffer back.
    fn deliver(mut self, complete: Complete, order: Order, now: u64) {
        let unfinished = self.records.iter_mut().filter(|record| record.over > now);
        unfinished.for_each(Record::unfinished);
        let mut at = 0;
        for record in arranged(self.records, order) {
            self.start.write(at, &record.bytes);
            at += record.bytes.len();
        }
        // No context; CUPTI leaves garbage for the stream.
        complete(std::ptr::null_mut(), u32::MAX, self.start, self.size, at);
    }
}

/// Stores the records of one call. The client is asked for a buffer where one is needed; where it gives none, the rest of the
/// call's records are dropped and counted. Must be called without the state lock.
pub(crate) fn store(records: Vec<Record>) {
    let mut refused = false;
    for record in records {
        let mut waiting = Some(record);
        while let Some(record) = waiting.take() {
            let mut state = state::lock();
            match state.buffers.put(thread(), record) {
                Stored::Yes => {}
                Stored::NoRoom(_) if refused => state.dropped += 1,
                Stored::NoRoom(record) => {
                    drop(state);
                    refused = !another(record.bytes.len());
                    waiting = Some(record);
                }
            }
        }
    }
    if let Ok(now) = driver::now() {
        hand_back(now, false, false);
    }
}

/// Asks the client for a buffer with room for `least` bytes; whether there is one now.
fn another(least: usize) -> bool {
    let Some((request, complete)) = state::lock().callbacks else {
        return false;
    };
    let (mut start, mut size, mut most) = (Bytes::NONE, 0, 0);
    request(&mut start, &mut size, &mut most);
    if start.is_null() {
        return false;
    }
    if size < least {
        complete(std::ptr::null_mut(), u32::MAX, start, size, 0);
        return false;
    }
    // What a real library does with one that is not is not known; here nothing is stored.
    if state::lock().zeroed && !start.is_zero(size) {
        complete(std::ptr::null_mut(), u32::MAX, start, size, 0);
        return false;
    }
    let mut state = state::lock();
    let split = state.wishes.split;
    let buffer = Buffer {
        start,
        size,
        most: [most, split]
            .into_iter()
            .filter(|n| *n > 0)
            .min()
            .unwrap_or(0),
        records: Vec::new(),
        used: 0,
    };
    state.buffers.open.insert(thread(), buffer);
    true
}

/// Hands back every buffer whose records are all over by `now`, with `forced` the others too. Must be called without the state
/// lock.
pub(crate) fn flush(now: u64, forced: bool) {
    state::lock().last_flush = now;
    hand_back(now, true, forced);
}

/// Flushes where the client asked for it to be done from time to time and the time has come. A real library has a thread for
/// it; here the next call of the driver does it.
pub(crate) fn flush_if_due(now: u64) {
    let due = {
        let State {
            period, last_flush, ..
        } = *state::lock();
        period > 0 && now.saturating_sub(last_flush) >= period
    };
    if due {
        flush(now, false);
    }
}

fn hand_back(now: u64, all: bool, forced: bool) {
    let (taken, callbacks, order) = {
        let mut state = state::lock();
        let taken = state.buffers.take(now, all, forced);
        (taken, state.callbacks, state.wishes.order)
    };
    if let Some((_, complete)) = callbacks {
        for buffer in taken {
            buffer.deliver(complete, order, now);
        }
    }
}

/// The records of one buffer in the order that a test wants.
fn arranged(mut records: Vec<Record>, order: Order) -> Vec<Record> {
    let is_activity = |record: &Record| {
        !matches!(
            record.kind,
            kinds::DRIVER | kinds::RUNTIME | kinds::EXTERNAL_CORRELATION
        )
    };
    match order {
        Order::Measured => {}
        Order::ActivitiesFirst => records.sort_by_key(|record| !is_activity(record)),
        Order::ActivitiesLast => records.sort_by_key(is_activity),
        Order::Reversed => records.reverse(),
        Order::KernelsReversed => {
            let is_kernel =
                |record: &Record| matches!(record.kind, kinds::KERNEL | kinds::CONCURRENT_KERNEL);
            let mut kernels: Vec<_> = records.iter().filter(|r| is_kernel(r)).cloned().collect();
            let slots = records.iter_mut().filter(|record| is_kernel(record));
            for slot in slots {
                if let Some(last) = kernels.pop() {
                    *slot = last;
                }
            }
        }
    }
    records
}
