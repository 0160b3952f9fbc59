//! Converts memory totals into profile data: by function, by kind and device.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::live_memory::{LiveMemorySummary, MemoryLosses, SpaceUse};
use super::replay_rows::upward;
use super::window_tables::WindowTables;
use crate::cupti::collect::record::MemorySpace;
use crate::stats::path_ids::CallPath;
use gpuprof_report::profile::{FunctionMemory, Memory, MemoryKind, MemoryTotals, MemoryUse};

/// The memory of each function, by its site, and `None` what is outside any.
pub(crate) type MemoryBySite = FxHashMap<Option<u32>, Vec<FunctionMemory>>;

/// What each function allocated and freed in the window, and what is live of it.
pub(crate) fn memory_by_site(
    tables: &WindowTables,
    live: &LiveMemorySummary,
    paths: &[CallPath],
) -> MemoryBySite {
    let mut found: BTreeMap<(Option<u32>, MemoryKind), FunctionMemory> = BTreeMap::new();
    for ((path, space), memory) in &tables.memory {
        let mut around: Vec<u32> = upward(paths, *path).collect();
        let own = around.first().copied();
        // Of a recursion, each function counts once.
        around.sort_unstable();
        around.dedup();
        for site in around {
            let of_site = found.entry((Some(site), space.kind)).or_default();
            of_site.inclusive.add(&memory.totals);
        }
        let of_site = found.entry((own, space.kind)).or_default();
        of_site.exclusive.add(&memory.totals);
        of_site.peak_growth_bytes += memory.peak_growth_bytes;
        if own.is_none() {
            of_site.inclusive.add(&memory.totals);
        }
    }
    for ((path, kind), live) in &live.by_path {
        let of_site = found
            .entry((upward(paths, *path).next(), *kind))
            .or_default();
        of_site.live_allocations += live.allocations;
        of_site.live_bytes += live.bytes;
    }
    let mut by_site = MemoryBySite::default();
    for ((site, kind), mut memory) in found {
        memory.kind = kind;
        by_site.entry(site).or_default().push(memory);
    }
    by_site
}

/// The memory of the program. `name` gives the name of the function on a path.
pub(crate) fn memory(
    tables: &WindowTables,
    live: &LiveMemorySummary,
    by_site: &MemoryBySite,
    name: impl Fn(u32) -> Option<String>,
) -> Memory {
    let mut totals: BTreeMap<MemorySpace, MemoryTotals> = BTreeMap::new();
    for ((_, space), memory) in &tables.memory {
        totals.entry(*space).or_default().add(&memory.totals);
    }
    let mut spaces: BTreeMap<MemorySpace, SpaceUse> = live.spaces.iter().copied().collect();
    for space in totals.keys() {
        spaces.entry(*space).or_default();
    }
    let uses = spaces.into_iter().map(|(space, of_space)| {
        let mut memory = MemoryUse::default();
        (memory.kind, memory.device) = (space.kind, space.device);
        memory.totals = totals.get(&space).copied().unwrap_or_default();
        memory.live_allocations = of_space.live.allocations;
        memory.live_bytes = of_space.live.bytes;
        memory.peak_bytes = of_space.peak_bytes;
        memory.peak_function = name(of_space.peak_path);
        memory
    });
    let MemoryLosses {
        unknown_frees,
        missed_frees,
        untracked,
    } = live.losses;
    let mut memory = Memory::default();
    memory.uses = uses.collect();
    memory.outside = by_site.get(&None).cloned().unwrap_or_default();
    memory.unknown_frees = unknown_frees.allocations;
    memory.unknown_freed_bytes = unknown_frees.bytes;
    memory.missed_frees = missed_frees;
    memory.untracked_allocations = untracked.allocations;
    memory.untracked_bytes = untracked.bytes;
    memory.late_records = live.late_records;
    memory.records_without_call = live.records_without_call;
    memory
}
