//! The buffers that the library holds, and the records in them. Records are written into their
//! buffer when it is returned, a difference that no client can observe.

use std::collections::BTreeMap;

use crate::abi::{BufferCallbacks, BufferPtr};
use crate::control::Order;
use crate::kinds;
use crate::record::Record;

/// The buffers that the library holds.
pub(crate) struct Buffers {
    /// By the thread that fills it.
    open: BTreeMap<u64, Buffer>,
    /// Oldest first.
    full: Vec<Buffer>,
}

pub(crate) struct Buffer {
    start: BufferPtr,
    size: usize,
    /// Limit of records; 0 for as many as fit.
    max_records: usize,
    records: Vec<Record>,
    used: usize,
}

pub(crate) enum Stored {
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

    pub(crate) fn open(&mut self, thread: u64, buffer: Buffer) {
        self.open.insert(thread, buffer);
    }

    pub(crate) fn put(&mut self, thread: u64, record: Record) -> Stored {
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
    pub(crate) fn take(&mut self, now: u64, all: bool, forced: bool) -> Vec<Buffer> {
        let ready = |buffer: &Buffer| forced || buffer.is_over(now);
        let mut taken: Vec<_> = self.full.extract_if(.., |full| ready(full)).collect();
        if all {
            let (over, open) = std::mem::take(&mut self.open)
                .into_iter()
                .partition(|(_, open)| ready(open));
            self.open = open;
            taken.extend(BTreeMap::into_values(over));
        }
        taken
    }
}

impl Buffer {
    /// `max_records`: 0 for as many as fit.
    pub(crate) fn new(start: BufferPtr, size: usize, max_records: usize) -> Self {
        Self {
            start,
            size,
            max_records,
            records: Vec::new(),
            used: 0,
        }
    }

    fn fits(&self, record: &Record) -> bool {
        self.used + record.bytes.len() <= self.size
    }

    fn is_over(&self, now: u64) -> bool {
        self.records.iter().all(|record| record.ends_at <= now)
    }

    /// Writes the records and returns the buffer.
    pub(crate) fn deliver(mut self, callbacks: BufferCallbacks, order: Order, now: u64) {
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
        callbacks.complete(self.start, self.size, at);
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
