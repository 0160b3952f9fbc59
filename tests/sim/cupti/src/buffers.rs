//! The client's buffers. Each thread fills one of its own. A full buffer is returned as soon as all
//! its activities are over, others when the client flushes.
//!
//! A real library returns full buffers on a thread of its own; here the call that fills a buffer or
//! a later one does.

use crate::clients::MAX_CLIENTS;
use crate::driver;
use crate::held_buffers::{Buffer, Stored};
use crate::record::Record;
use crate::state::{self, State, thread};

/// Stores the records of one call for the client in `slot`. If a buffer is needed the client is
/// asked for it; if it provides none, the rest of the call's records are dropped and counted. Must
/// be called without the state lock.
pub(crate) fn store(slot: usize, records: Vec<Record>) {
    let mut refused = false;
    for record in records {
        let mut waiting = Some(record);
        while let Some(record) = waiting.take() {
            let mut state = state::lock();
            let client = &mut state.clients[slot];
            match client.buffers.put(thread(), record) {
                Stored::Yes => {}
                Stored::NoRoom(_) if refused => client.dropped += 1,
                Stored::NoRoom(record) => {
                    drop(state);
                    refused = !request_buffer(slot, record.bytes.len());
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
fn request_buffer(slot: usize, least: usize) -> bool {
    let Some(callbacks) = state::lock().clients[slot].callbacks else {
        return false;
    };
    let (start, size, max_records) = callbacks.request();
    if start.is_null() {
        return false;
    }
    // What a real library does if a buffer is not zeroed is unknown; here nothing is stored.
    let is_zeroed = || !state::lock().clients[slot].zeroed || start.is_zero(size);
    if size < least || !is_zeroed() {
        callbacks.complete(start, size, 0);
        return false;
    }
    let mut state = state::lock();
    let split = state.overrides.split;
    let max_records = [max_records, split].into_iter().filter(|n| *n > 0).min();
    let buffer = Buffer::new(start, size, max_records.unwrap_or(0));
    state.clients[slot].buffers.open(thread(), buffer);
    true
}

/// Returns every client's buffers whose activities are all over by `now`, with `forced` all
/// buffers. Must be called without the state lock.
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
    for slot in 0..MAX_CLIENTS {
        let (taken, callbacks, order) = {
            let mut state = state::lock();
            let order = state.overrides.order;
            let client = &mut state.clients[slot];
            (
                client.buffers.take(now, all, forced),
                client.callbacks,
                order,
            )
        };
        if let Some(callbacks) = callbacks {
            for buffer in taken {
                buffer.deliver(callbacks, order, now);
            }
        }
    }
}
