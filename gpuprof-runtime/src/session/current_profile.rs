//! The profile of the current window, completed with what no counter holds.

use std::time::{Duration, Instant};

use super::process_facts;
use crate::collector::collector;
use crate::cupti;
use crate::span::overhead;
use gpuprof_report::findings;
use gpuprof_report::profile::{Profile, SCHEMA};

/// How long anything but the exit handler waits for a lock; each is held for microseconds.
pub(super) const LOCK_LIMIT: Duration = Duration::from_secs(1);

/// Reading CUPTI's finished records may take this long even if the wait for the GPU used up its
/// limit: it waits for no GPU work.
const MIN_READ_LIMIT: Duration = Duration::from_millis(500);

/// The current window's profile. `None` if a lock was not free within `limit`.
pub(super) fn current(limit: Duration) -> Option<Profile> {
    let mut profile = collector().profile(limit)?;
    complete(&mut profile);
    Some(profile)
}

/// A profile in which nothing was measured.
pub(super) fn empty() -> Profile {
    let mut profile = Profile::default();
    profile.schema = SCHEMA.to_owned();
    profile
}

/// Adds the process, the suggested commands, and the CPU overhead of the counted spans.
pub(super) fn complete(profile: &mut Profile) {
    process_facts::add_to(profile);
    // The commands name the program.
    profile.commands = findings::commands(profile, cfg!(feature = "nvtx"));
    let diagnostics = &mut profile.diagnostics;
    let all = diagnostics.calls + diagnostics.replays;
    diagnostics.overhead_ns += overhead::span_overhead_ns(diagnostics.calls);
    diagnostics.overhead_ns_per_call = (diagnostics.overhead_ns + all / 2).checked_div(all);
}

/// Waits at most `limit` for the GPU times of the calls that have ended, then reads CUPTI's records
/// of them.
pub(super) fn wait(limit: Duration) {
    let began = Instant::now();
    collector().wait(limit);
    let _ = cupti::drain(read_limit(limit, began));
}

/// How long reading CUPTI's records may take if `limit` began at `began`.
pub(super) fn read_limit(limit: Duration, began: Instant) -> Duration {
    limit.saturating_sub(began.elapsed()).max(MIN_READ_LIMIT)
}

/// How long the end of the process waits for queued GPU work.
pub(super) fn exit_wait(lock_limit: Duration) -> Duration {
    let settings = collector().settings(lock_limit);
    settings.map_or(Duration::ZERO, |settings| settings.exit_wait)
}
