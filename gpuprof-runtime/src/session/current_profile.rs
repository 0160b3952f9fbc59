//! The profile of the current window, completed with what no counter holds.

use std::time::Duration;

use super::{answer_cost, process_facts};
use crate::collector::collector;
use crate::span::overhead;
use gpuprof_report::findings;
use gpuprof_report::profile::{Profile, SCHEMA};

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
    diagnostics.live_ns = answer_cost::spent_ns();
    let calls = diagnostics.calls;
    diagnostics.overhead_ns += overhead::span_overhead_ns(calls);
    diagnostics.cpu_span_ns = Some(overhead::span_overhead_ns(1)).filter(|ns| *ns > 0);
    diagnostics.overhead_ns_per_call = (diagnostics.overhead_ns + calls / 2).checked_div(calls);
}
