//! The client's buffers. Each thread fills one of its own. A full buffer is returned as soon as all
//! its activities are over, others when the client flushes. Records are written into their buffer
//! when it is returned, a difference that no client can observe.
//!
//! A real library returns full buffers on a thread of its own; here the call that fills a buffer or
//! a later one does.

use std::collections::BTreeMap;

use crate::abi::{BufferPtr, Complete};
use crate::control::Order;
use crate::driver;
use crate::kinds;
use crate::record::Record;
use crate::state::{self, State, thread};

/// The buffers that the library holds.
pub(crate) struct Buffers {
    /// By the thread that fills it.
    open: BTreeMap<u64, Buffer>,
    /// Oldest first.
    full: Vec<Buffer>,
}

struct Buffer {
    start: BufferPtr,
    size: usize,
    /// Limit of records; 0 for as many as fit.
    max_records: usize,
    records: Vec<Record>,
    used: usize,
}

enum Stored {
    Yes,
    /// A new buffer is needed first; returns the record.
    NoRoom(Record),
}

impl Buffers {
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
                if buffer.records.len() == buffer.max_records {
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

    /// Removes the full buffers that can be returned, with `all` also the open ones, with `forced`
    /// also those with activities that are not over by `now`.
    fn take(&mut self, now: u64, all: bool, forced: bool) -> Vec<Buffer> {
        let ready = |buffer: &Buffer| forced || buffer.is_over(now);
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

    fn is_over(&self, now: u64) -> bool {
        self.records.iter().all(|record| record.ends_at <= now)
    }

    /// Writes the records and returns the buffer.
    fn deliver(mut self, complete: Complete, order: Order, now: u64) {
        let unfinished = self
            .records
            .iter_mut()
            .filter(|record| record.ends_at > now);
        unfinished.for_each(Record::clear_stamps);
        let mut at = 0;
        for record in arranged(self.records, order) {
            self.start.write(at, &record.bytes);
            at += record.bytes.len();
        }
        // No context; a real CUPTI passes garbage as the stream.
        complete(std::ptr::null_mut(), u32::MAX, self.start, self.size, at);
    }
}

/// Stores the records of one call. If a buffer is needed the client is asked for it; if it provides
/// none, the rest of the call's records are dropped and counted. Must be called without the state
/// lock.
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
                    refused = !request_buffer(record.bytes.len());
                    waiting = Some(record);
                }
            }
        }
    }
    if let Ok(now) = driver::now() {
        return_buffers(now, false, false);
    }
}

/// Asks the client for a buffer with room for `least` bytes; returns whether it provided one.
fn request_buffer(least: usize) -> bool {
    let Some((request, complete)) = state::lock().callbacks else {
        return false;
    };
    let (mut start, mut size, mut max_records) = (BufferPtr::NONE, 0, 0);
    request(&mut start, &mut size, &mut max_records);
    if start.is_null() {
        return false;
    }
    if size < least {
        complete(std::ptr::null_mut(), u32::MAX, start, size, 0);
        return false;
    }
    // What a real library does if a buffer is not zeroed is unknown; here nothing is stored.
    if state::lock().zeroed && !start.is_zero(size) {
        complete(std::ptr::null_mut(), u32::MAX, start, size, 0);
        return false;
    }
    let mut state = state::lock();
    let split = state.overrides.split;
    let buffer = Buffer {
        start,
        size,
        max_records: [max_records, split]
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

/// Returns every buffer whose activities are all over by `now`, with `forced` all buffers. Must be
/// called without the state lock.
pub(crate) fn flush(now: u64, forced: bool) {
    state::lock().last_flush = now;
    return_buffers(now, true, forced);
}

/// Flushes if the client set a period that has passed. A real library has a thread for it; here the
/// next driver call flushes.
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

fn return_buffers(now: u64, all: bool, forced: bool) {
    let (taken, callbacks, order) = {
        let mut state = state::lock();
        let taken = state.buffers.take(now, all, forced);
        (taken, state.callbacks, state.overrides.order)
    };
    if let Some((_, complete)) = callbacks {
        for buffer in taken {
            buffer.deliver(complete, order, now);
        }
    }
}

/// The records of one buffer in the order that a test has set.
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
