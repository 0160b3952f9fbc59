//! The memory of a profile: by CUPTI's records, or without them by the counters of the pools.

use std::time::Duration;

use super::Collector;
use crate::cupti::{self, MemoryBySite, WindowTables, memory_profile};
use crate::gpu::pool_memory::PoolState;
use crate::settings::{Mode, Settings};
use crate::site::Site;
use crate::stats::path_ids::{CallPath, ROOT};
use gpuprof_report::profile::{Memory, MemoryKind, MemorySource, MemoryUse};

impl Collector {
    /// The memory of the program, unless it is not asked for, and of each function by CUPTI's
    /// records. `None`: a lock could not be taken within `limit`.
    pub(super) fn memory(
        &self,
        settings: Option<&Settings>,
        tables: Option<&WindowTables>,
        (paths, sites): (&[CallPath], &[&'static Site]),
        limit: Duration,
    ) -> Option<(Option<Memory>, MemoryBySite)> {
        let is_asked = |settings: &Settings| settings.memory && settings.mode == Mode::On;
        if !settings.is_some_and(is_asked) {
            return Some((None, MemoryBySite::default()));
        }
        let name = |path: u32| {
            let path = paths.get(path as usize).filter(|_| path != ROOT)?;
            Some(sites.get(path.site as usize)?.name().to_owned())
        };
        let pools = self.gpu.pools.states(limit)?;
        match tables.filter(|_| cupti::records_memory()) {
            Some(tables) => {
                let live = self.cupti.live_memory(limit)?;
                let by_site = memory_profile::by_site(tables, &live, paths);
                let mut memory = memory_profile::memory(tables, &live, &by_site, name);
                for of_space in &mut memory.uses {
                    let mut pools = pools.iter();
                    let is_its = |(device, _): &&(u32, PoolState)| Some(*device) == of_space.device;
                    if of_space.kind == MemoryKind::Device
                        && let Some((_, state)) = pools.find(is_its)
                    {
                        add_reserved(of_space, state);
                    }
                }
                Some((Some(memory), by_site))
            }
            None => Some((Some(by_counters(&pools, name)), MemoryBySite::default())),
        }
    }
}

fn by_counters(pools: &[(u32, PoolState)], name: impl Fn(u32) -> Option<String>) -> Memory {
    let uses = pools.iter().map(|(device, state)| {
        let mut of_pool = MemoryUse::default();
        (of_pool.kind, of_pool.device) = (MemoryKind::Device, Some(*device));
        of_pool.live_bytes = state.used.bytes;
        of_pool.peak_bytes = state.used.peak_bytes;
        of_pool.peak_function = state.peak_path.and_then(&name);
        add_reserved(&mut of_pool, state);
        of_pool
    });
    let mut memory = Memory::default();
    memory.source = MemorySource::PoolCounters;
    memory.uses = uses.collect();
    memory
}

fn add_reserved(memory: &mut MemoryUse, state: &PoolState) {
    memory.reserved_bytes = state.reserved.map(|reserved| reserved.bytes);
    memory.peak_reserved_bytes = state.reserved.map(|reserved| reserved.peak_bytes);
}
