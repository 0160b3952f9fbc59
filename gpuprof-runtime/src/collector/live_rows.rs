//! What a viewer shows: the profile of the open window, and the counters of each thread.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::Collector;
use crate::clock;
use crate::stats::path_ids::CallPath;
use crate::stats::thread_counters::RunningThread;
use gpuprof_report::live::ThreadRow;
use gpuprof_report::profile::Profile;

/// The longest name of a thread on Linux, bytes.
const MAX_NAME_BYTES: usize = 15;

impl Collector {
    /// From now on, each new thread notes its id and name for [`live_rows`](Self::live_rows). To be
    /// called before the first call of a function.
    pub(crate) fn watch_threads(&self) {
        self.threads.watch();
    }

    /// The look of this number or, without one, the open window so far, without the source lines of
    /// launches, and the threads. `None`: a lock was not free within `limit`.
    pub(crate) fn live_rows(
        &self,
        look: Option<u64>,
        limit: Duration,
    ) -> Option<(Profile, Vec<ThreadRow>)> {
        let mut copy = match look {
            Some(look) => self.copy_look(look, limit)?,
            None => self.copy_window(limit)?,
        };
        if let Some(settings) = &mut copy.settings {
            // To look lines up reads the program's debug information.
            Arc::make_mut(settings).stacks = false;
        }
        let profile = self.build_profile(copy, limit)?;
        Some((profile, self.thread_rows(limit)?))
    }

    fn thread_rows(&self, limit: Duration) -> Option<Vec<ThreadRow>> {
        let threads = self.threads.running(limit)?;
        let paths = self.paths.try_lock_for(limit)?.list().to_vec();
        let sites = self.sites.try_lock_for(limit)?.clone();
        let (scale, now) = (clock::scale(), clock::now());
        let name = |path: u32| {
            let path: &CallPath = paths.get(path as usize)?;
            Some(sites.get(path.site as usize)?.name().to_owned())
        };
        let row = |thread: RunningThread| {
            let mut row = ThreadRow::default();
            row.tid = thread.tid;
            row.name = thread_name(thread.tid);
            row.calls = thread.calls;
            row.cpu_ns = scale.ns(thread.self_ticks);
            if let Some((started, path)) = thread.running {
                row.running = name(path);
                row.running_ns = scale.ns(now.saturating_sub(started));
            }
            row
        };
        Some(threads.into_iter().map(row).collect())
    }
}

/// The name of a thread of this process; empty if the system does not say.
fn thread_name(tid: u32) -> String {
    let name = fs::read(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    let name = name.get(..MAX_NAME_BYTES).unwrap_or(name);
    String::from_utf8_lossy(name).into_owned()
}
