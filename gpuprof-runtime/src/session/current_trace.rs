//! The time line of the last recording, completed with what the recorder does not know.

use std::time::Duration;

use super::process_facts;
use crate::collector::collector;
use gpuprof_report::profile::Profile;
use gpuprof_report::trace::Trace;

/// The time line so far. `None` if there is none, or a lock was not free within `limit`.
pub(super) fn current(limit: Duration) -> Option<Trace> {
    collector().trace(limit).map(complete)
}

/// The time line of what began between these two clock ticks, as [`current`].
#[cfg(feature = "trace")]
pub(super) fn trace_between(ticks: (u64, u64), limit: Duration) -> Option<Trace> {
    collector().trace_between(ticks, limit).map(complete)
}

fn complete(mut trace: Trace) -> Trace {
    let mut process = Profile::default();
    process_facts::add_to(&mut process);
    trace.program = process.program;
    trace.pid = process.pid;
    trace.host = process.host;
    trace.rank = process.rank;
    trace.ranks = process_facts::world_size();
    trace
}
