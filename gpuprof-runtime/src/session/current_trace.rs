//! The time line of the last recording, completed with what the recorder does not know.

use std::time::Duration;

use super::process_facts;
use crate::collector::collector;
use gpuprof_report::profile::Profile;
use gpuprof_report::trace::Trace;

/// The time line so far. `None` if there is none, or a lock was not free within `limit`.
pub(super) fn current(limit: Duration) -> Option<Trace> {
    let mut trace = collector().trace(limit)?;
    let mut process = Profile::default();
    process_facts::add_to(&mut process);
    trace.program = process.program;
    trace.pid = process.pid;
    trace.host = process.host;
    trace.rank = process.rank;
    trace.ranks = process_facts::world_size();
    Some(trace)
}
