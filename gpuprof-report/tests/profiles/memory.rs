//! Memory.

use gpuprof_report::profile::*;

const MB: u64 = 1_000_000;

/// The first function keeps what a nested one allocates, the second works in scratch memory, and
/// what is outside of every function keeps pinned memory.
pub(crate) fn with_memory(mut profile: Profile) -> Profile {
    let of = |allocations, allocated, frees, freed| {
        let mut totals = MemoryTotals::default();
        (totals.allocations, totals.allocated_bytes) = (allocations, allocated * MB);
        (totals.frees, totals.freed_bytes) = (frees, freed * MB);
        totals
    };
    let function = |kind, inclusive, exclusive, live: (u64, u64), growth| {
        let mut memory = FunctionMemory::default();
        (memory.kind, memory.inclusive, memory.exclusive) = (kind, inclusive, exclusive);
        (memory.live_allocations, memory.live_bytes) = (live.0, live.1 * MB);
        memory.peak_growth_bytes = growth * MB;
        memory
    };
    let device = MemoryKind::Device;
    let [first, second, ..] = profile.functions.as_mut_slice() else {
        panic!("a profile without functions");
    };
    first.memory = vec![function(
        device,
        of(1_004, 5_200, 1_002, 5_120),
        of(4, 200, 2, 120),
        (2, 80),
        200,
    )];
    second.memory = vec![
        function(
            device,
            of(1_000, 5_000, 1_000, 5_000),
            of(1_000, 5_000, 1_000, 5_000),
            (0, 0),
            5,
        ),
        function(
            MemoryKind::Managed,
            of(0, 0, 1, 8),
            of(0, 0, 1, 8),
            (0, 0),
            0,
        ),
    ];
    let peak = first.name.clone();
    let mut memory = Memory::default();
    let mut used = MemoryUse::default();
    (used.kind, used.device, used.totals) = (device, Some(0), of(1_004, 5_200, 1_002, 5_120));
    (used.live_allocations, used.live_bytes, used.peak_bytes) = (2, 80 * MB, 205 * MB);
    used.peak_function = Some(peak);
    let mut pinned = MemoryUse::default();
    (pinned.kind, pinned.totals) = (MemoryKind::Pinned, of(1, 64, 0, 0));
    (
        pinned.live_allocations,
        pinned.live_bytes,
        pinned.peak_bytes,
    ) = (1, 64 * MB, 64 * MB);
    memory.uses = vec![used, pinned];
    memory.outside = vec![function(
        MemoryKind::Pinned,
        of(1, 64, 0, 0),
        of(1, 64, 0, 0),
        (1, 64),
        64,
    )];
    (memory.unknown_frees, memory.unknown_freed_bytes) = (1, 8 * MB);
    profile.memory = Some(memory);
    profile
}
