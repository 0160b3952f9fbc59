//! Counts memory records: in the live memory of the process, and in the window of their time.

use super::correlator::Correlator;
use super::limits::MAX_PENDING_MEMORY;
use super::live_memory::LiveMemorySummary;
use super::pending_memory::PendingRecord;
use crate::cupti::collect::record::MemoryRecord;
use crate::stats::path_ids::ROOT;

impl Correlator {
    /// Adds a record, which is counted later: one of an earlier call may come.
    pub(crate) fn add_memory(&mut self, record: MemoryRecord) {
        let path = self.path_of_call(record.correlation);
        let pending = &mut self.memory.pending;
        pending.add(PendingRecord { record, path });
        if pending.is_full() {
            self.count_memory(MAX_PENDING_MEMORY / 2);
        }
    }

    /// Counts all records so far.
    pub(crate) fn count_all_memory(&mut self) {
        self.count_memory(0);
    }

    /// Counts records, the earliest first, until `rest` are left.
    fn count_memory(&mut self, rest: usize) {
        while self.memory.pending.len() > rest
            && let Some(PendingRecord { record, path }) = self.memory.pending.take_first()
        {
            let path = path.or_else(|| self.path_of_call(record.correlation));
            self.memory.without_call += u64::from(path.is_none());
            self.count_record(&record, path.unwrap_or(ROOT));
        }
    }

    fn count_record(&mut self, record: &MemoryRecord, path: u32) {
        let change = self.memory.live.apply(record, path);
        let is_measured = self.windows.window_at(record.time).is_some();
        if let Some(tables) = self.tables_at(record.time) {
            let totals = tables.memory.entry((path, change.space)).or_default();
            totals.add(record.operation, &change);
        }
        if is_measured {
            self.time_line.add_memory(record.time, &change);
        }
    }

    /// The call path of a CUDA call; `None` if the call is unknown.
    fn path_of_call(&self, correlation: u32) -> Option<u32> {
        match correlation {
            0 => Some(ROOT),
            _ => Some(self.calls.get(correlation)?.call.path),
        }
    }

    /// What is live, by the records that were counted.
    pub(crate) fn live_memory(&self) -> LiveMemorySummary {
        LiveMemorySummary {
            late_records: self.memory.pending.late,
            records_without_call: self.memory.without_call,
            ..self.memory.live.summary()
        }
    }
}
