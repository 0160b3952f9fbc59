//! The live allocations of the process by address, and the most that was live at once.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::limits::{MAX_LIVE_ALLOCATIONS, MAX_UNKNOWN_FREES};
use crate::cupti::collect::record::{MemoryOperation, MemoryRecord, MemorySpace};
use gpuprof_report::profile::MemoryKind;

/// Allocations that nothing has freed yet, whatever made or will free them.
#[derive(Debug, Default)]
pub(crate) struct LiveMemory {
    by_address: FxHashMap<u64, Allocation>,
    spaces: BTreeMap<MemorySpace, SpaceUse>,
    /// Latest frees whose allocation is unknown, by address.
    unknown_frees: FxHashMap<u64, UnknownFree>,
    losses: MemoryLosses,
}

#[derive(Clone, Copy, Debug)]
struct UnknownFree {
    time: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Allocation {
    bytes: u64,
    /// The call path that made it.
    path: u32,
    space: MemorySpace,
}

/// What is live in one space, and the most that ever was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpaceUse {
    pub(crate) live: Live,
    pub(crate) peak_bytes: u64,
    /// The call path whose allocation reached the peak.
    pub(crate) peak_path: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) allocations: u64,
    pub(crate) bytes: u64,
}

impl Live {
    fn add(&mut self, bytes: u64) {
        self.allocations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn remove(&mut self, bytes: u64) {
        self.allocations = self.allocations.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// Allocations and frees that are not what they seem, since recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryLosses {
    /// Frees whose allocation is unknown.
    pub(crate) unknown_frees: Live,
    /// Allocations whose address was given out again, without a free.
    pub(crate) missed_frees: u64,
    /// Live allocations beyond [`MAX_LIVE_ALLOCATIONS`].
    pub(crate) untracked: Live,
}

/// What is live now.
#[derive(Debug, Default)]
pub(crate) struct LiveMemorySummary {
    pub(crate) spaces: Vec<(MemorySpace, SpaceUse)>,
    /// By the call path that allocated it.
    pub(crate) by_path: FxHashMap<(u32, MemoryKind), Live>,
    pub(crate) losses: MemoryLosses,
    /// Records that came after later ones were counted.
    pub(crate) late_records: u64,
    /// Records whose CUDA call is unknown.
    pub(crate) records_without_call: u64,
}

/// What a record changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryChange {
    pub(crate) space: MemorySpace,
    pub(crate) bytes: u64,
    /// By how much the peak rose.
    pub(crate) peak_growth_bytes: u64,
    /// What is live in the space afterwards.
    pub(crate) live_bytes: u64,
}

impl LiveMemory {
    /// Counts a record of a call on `path`.
    pub(crate) fn apply(&mut self, record: &MemoryRecord, path: u32) -> MemoryChange {
        match record.operation {
            MemoryOperation::Allocate => self.allocate(record, path),
            MemoryOperation::Free => self.free(record),
        }
    }

    fn allocate(&mut self, record: &MemoryRecord, path: u32) -> MemoryChange {
        let MemoryRecord { space, bytes, .. } = *record;
        let unknown_free = self.unknown_frees.remove(&record.address);
        if let Some(free) = unknown_free.filter(|free| free.time > record.time) {
            // Its record came after that of its free.
            self.losses.unknown_frees.remove(free.bytes);
            return MemoryChange {
                space,
                bytes,
                peak_growth_bytes: 0,
                live_bytes: self.spaces.entry(space).or_default().live.bytes,
            };
        }
        let allocation = Allocation { bytes, path, space };
        if let Some(missed) = self.by_address.remove(&record.address) {
            self.losses.missed_frees += 1;
            self.spaces
                .entry(missed.space)
                .or_default()
                .live
                .remove(missed.bytes);
        }
        if self.by_address.len() < MAX_LIVE_ALLOCATIONS {
            _ = self.by_address.insert(record.address, allocation);
        } else {
            self.losses.untracked.add(bytes);
        }
        let of_space = self.spaces.entry(space).or_default();
        of_space.live.add(bytes);
        let growth = of_space.live.bytes.saturating_sub(of_space.peak_bytes);
        if growth > 0 {
            of_space.peak_bytes = of_space.live.bytes;
            of_space.peak_path = path;
        }
        MemoryChange {
            space,
            bytes,
            peak_growth_bytes: growth,
            live_bytes: of_space.live.bytes,
        }
    }

    fn free(&mut self, record: &MemoryRecord) -> MemoryChange {
        let known = self.by_address.remove(&record.address);
        let (space, bytes) = match known {
            Some(allocation) => (allocation.space, allocation.bytes),
            None => (record.space, record.bytes),
        };
        let of_space = self.spaces.entry(space).or_default();
        let untracked = &mut self.losses.untracked;
        if known.is_some() {
            of_space.live.remove(bytes);
        } else if untracked.allocations > 0 {
            // Most likely one of those, as memory from before the recording is freed late or never.
            untracked.remove(bytes);
            of_space.live.remove(bytes);
        } else {
            self.losses.unknown_frees.add(bytes);
            if self.unknown_frees.len() >= MAX_UNKNOWN_FREES {
                self.unknown_frees.clear();
            }
            let time = record.time;
            self.unknown_frees
                .insert(record.address, UnknownFree { time, bytes });
        }
        MemoryChange {
            space,
            bytes,
            peak_growth_bytes: 0,
            live_bytes: of_space.live.bytes,
        }
    }

    pub(super) fn summary(&self) -> LiveMemorySummary {
        let mut by_path: FxHashMap<(u32, MemoryKind), Live> = FxHashMap::default();
        for Allocation { bytes, path, space } in self.by_address.values() {
            by_path.entry((*path, space.kind)).or_default().add(*bytes);
        }
        LiveMemorySummary {
            spaces: self
                .spaces
                .iter()
                .map(|(space, of)| (*space, *of))
                .collect(),
            by_path,
            losses: self.losses,
            ..LiveMemorySummary::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Live, LiveMemory, MAX_LIVE_ALLOCATIONS, SpaceUse};
    use crate::cupti::collect::record::{MemoryOperation, MemoryRecord, MemorySpace};
    use gpuprof_report::profile::MemoryKind;

    const SPACE: MemorySpace = MemorySpace {
        kind: MemoryKind::Device,
        device: Some(0),
    };

    fn record(operation: MemoryOperation, address: u64, bytes: u64) -> MemoryRecord {
        MemoryRecord {
            operation,
            space: SPACE,
            address,
            bytes,
            time: 5,
            correlation: 1,
        }
    }

    fn allocate(memory: &mut LiveMemory, address: u64, bytes: u64, path: u32) -> u64 {
        let record = record(MemoryOperation::Allocate, address, bytes);
        memory.apply(&record, path).peak_growth_bytes
    }

    fn free(memory: &mut LiveMemory, address: u64, bytes: u64) -> u64 {
        let change = memory.apply(&record(MemoryOperation::Free, address, bytes), 9);
        change.bytes
    }

    fn live(allocations: u64, bytes: u64) -> Live {
        Live { allocations, bytes }
    }

    #[test]
    fn the_peak_is_that_of_the_path_that_reached_it() {
        let mut memory = LiveMemory::default();
        assert_eq!(allocate(&mut memory, 1, 100, 5), 100);
        assert_eq!(allocate(&mut memory, 2, 40, 6), 40);
        // The size of an allocation is known from its own record.
        assert_eq!(free(&mut memory, 1, 0), 100);
        assert_eq!(allocate(&mut memory, 3, 90, 7), 0);
        let summary = memory.summary();
        let use_of_space = SpaceUse {
            live: live(2, 130),
            peak_bytes: 140,
            peak_path: 6,
        };
        assert_eq!(summary.spaces, [(SPACE, use_of_space)]);
        assert_eq!(summary.by_path[&(7, MemoryKind::Device)], live(1, 90));
        assert_eq!(summary.by_path.len(), 2);
        assert_eq!(summary.losses, Default::default());
    }

    #[test]
    fn a_free_of_memory_from_before_the_recording_leaves_the_live_bytes() {
        let mut memory = LiveMemory::default();
        allocate(&mut memory, 1, 100, 5);
        assert_eq!(free(&mut memory, 2, 70), 70);
        let summary = memory.summary();
        assert_eq!(summary.spaces[0].1.live, live(1, 100));
        assert_eq!(summary.losses.unknown_frees, live(1, 70));
    }

    #[test]
    fn an_allocation_whose_record_comes_after_its_free_is_not_live() {
        let mut memory = LiveMemory::default();
        free(&mut memory, 1, 0);
        free(&mut memory, 2, 70);
        let mut late = record(MemoryOperation::Allocate, 1, 100);
        late.time = 4;
        assert_eq!(memory.apply(&late, 5).peak_growth_bytes, 0);
        // After the free.
        late.address = 2;
        late.time = 6;
        assert_eq!(memory.apply(&late, 5).live_bytes, 100);
        let summary = memory.summary();
        assert_eq!(summary.spaces[0].1.live, live(1, 100));
        assert_eq!(summary.losses.unknown_frees, live(1, 70));
        assert_eq!(summary.by_path[&(5, MemoryKind::Device)], live(1, 100));
    }

    #[test]
    fn an_address_that_is_given_out_again_was_freed() {
        let mut memory = LiveMemory::default();
        allocate(&mut memory, 1, 100, 5);
        allocate(&mut memory, 1, 60, 6);
        let summary = memory.summary();
        assert_eq!(summary.spaces[0].1.live, live(1, 60));
        assert_eq!((summary.losses.missed_frees, summary.by_path.len()), (1, 1));
    }

    #[test]
    fn allocations_beyond_the_table_count_in_the_live_bytes() {
        let mut memory = LiveMemory::default();
        let many = MAX_LIVE_ALLOCATIONS as u64 + 3;
        (1..=many).for_each(|address| _ = allocate(&mut memory, address, 10, 5));
        let summary = memory.summary();
        assert_eq!(summary.spaces[0].1.live, live(many, many * 10));
        assert_eq!(summary.losses.untracked, live(3, 30));
        let of_path = summary.by_path[&(5, MemoryKind::Device)];
        assert_eq!(of_path.allocations, MAX_LIVE_ALLOCATIONS as u64);
        free(&mut memory, many, 10);
        let summary = memory.summary();
        assert_eq!(summary.spaces[0].1.live.bytes, (many - 1) * 10);
        assert_eq!(summary.losses.untracked, live(2, 20));
        assert_eq!(summary.losses.unknown_frees, live(0, 0));
    }
}
