//! The memory of a profile, by CUPTI's records.

use std::time::Duration;

use super::Collector;
use crate::cupti::{self, MemoryBySite, WindowTables, memory_profile};
use crate::settings::{Mode, Settings};
use crate::site::Site;
use crate::stats::path_ids::{CallPath, ROOT};
use gpuprof_report::profile::Memory;

impl Collector {
    /// The memory of the program and of each function, if it is asked for and recorded. `None`: a
    /// lock could not be taken within `limit`.
    pub(super) fn memory(
        &self,
        settings: Option<&Settings>,
        tables: Option<&WindowTables>,
        paths: &[CallPath],
        sites: &[&'static Site],
        limit: Duration,
    ) -> Option<(Option<Memory>, MemoryBySite)> {
        let is_asked = |settings: &Settings| settings.memory && settings.mode == Mode::On;
        let recorded = tables.filter(|_| settings.is_some_and(is_asked) && cupti::records_memory());
        let Some(tables) = recorded else {
            return Some((None, MemoryBySite::default()));
        };
        let name = |path: u32| {
            let path = paths.get(path as usize).filter(|_| path != ROOT)?;
            Some(sites.get(path.site as usize)?.name().to_owned())
        };
        let live = self.cupti.live_memory(limit)?;
        let by_site = memory_profile::memory_by_site(tables, &live, paths);
        let memory = memory_profile::memory(tables, &live, &by_site, name);
        Some((Some(memory), by_site))
    }
}
