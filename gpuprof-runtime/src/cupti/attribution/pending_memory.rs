//! Memory records in the order of time: CUPTI's buffers come in any order, and a free before its
//! allocation would be one of unknown memory.

use std::collections::BTreeMap;

use super::limits::MAX_PENDING_MEMORY;
use crate::cupti::collect::record::MemoryRecord;

/// Records that are not counted yet, because earlier ones may come.
#[derive(Debug, Default)]
pub(super) struct PendingMemory {
    /// By time, and where that is the same by correlation id and by order of arrival.
    records: BTreeMap<(u64, u32, u64), PendingRecord>,
    arrived: u64,
    counted_up_to: u64,
    /// Records that came after later ones were counted.
    pub(super) late: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRecord {
    pub(super) record: MemoryRecord,
    /// The call path of its CUDA call; `None` if that is not known yet.
    pub(super) path: Option<u32>,
}

impl PendingMemory {
    pub(super) fn add(&mut self, pending: PendingRecord) {
        let time = pending.record.time;
        self.late += u64::from(time < self.counted_up_to);
        self.arrived += 1;
        let key = (time, pending.record.correlation, self.arrived);
        self.records.insert(key, pending);
    }

    pub(super) fn is_full(&self) -> bool {
        self.records.len() >= MAX_PENDING_MEMORY
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Removes the earliest record.
    pub(super) fn take_first(&mut self) -> Option<PendingRecord> {
        let ((time, ..), pending) = self.records.pop_first()?;
        self.counted_up_to = self.counted_up_to.max(time);
        Some(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryRecord, PendingMemory, PendingRecord};
    use crate::cupti::collect::record::{MemoryOperation, MemorySpace};
    use gpuprof_report::profile::MemoryKind;

    fn at(time: u64, address: u64) -> PendingRecord {
        let record = MemoryRecord {
            operation: MemoryOperation::Allocate,
            space: MemorySpace {
                kind: MemoryKind::Device,
                device: Some(0),
            },
            address,
            bytes: 1,
            time,
            correlation: 1,
        };
        PendingRecord { record, path: None }
    }

    #[test]
    fn records_are_taken_in_the_order_of_time_and_late_ones_are_counted() {
        let mut pending = PendingMemory::default();
        for record in [at(5, 1), at(3, 2), at(5, 3), at(4, 4)] {
            pending.add(record);
        }
        let take = |pending: &mut PendingMemory| Some(pending.take_first()?.record.address);
        let order: Vec<u64> = std::iter::from_fn(|| take(&mut pending)).collect();
        assert_eq!((order, pending.late), (vec![2, 4, 1, 3], 0));
        pending.add(at(5, 5));
        pending.add(at(4, 6));
        assert_eq!(pending.late, 1);
        assert_eq!(take(&mut pending), Some(6));
    }
}
