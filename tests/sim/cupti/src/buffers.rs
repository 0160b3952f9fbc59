//! The client's buffers. Each thread fills one of its own. A full buffer is returned as soon as all
//! its activities are over, others when the client flushes.
//!
//! A real library returns full buffers on a thread of its own; here the call that fills a buffer or
//! a later one does.

use crate::abi::BufferPtr;
use crate::driver;
use crate::held_buffers::{Buffer, Stored};
use crate::record::Record;
use crate::state::{self, State, thread};

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
    let max_records = [max_records, split].into_iter().filter(|n| *n > 0).min();
    let buffer = Buffer::new(start, size, max_records.unwrap_or(0));
    state.buffers.open(thread(), buffer);
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
