//! CPU time of the answers to viewers, which is part of the profile too.

use std::sync::atomic::Ordering::Relaxed;

use crate::collector::collector;

/// Adds that of an answer, ns.
pub(super) fn add(cpu_ns: u64) {
    collector().session.answers_ns.fetch_add(cpu_ns, Relaxed);
}

/// All of it since the start of the process, ns.
pub(super) fn spent_ns() -> u64 {
    collector().session.answers_ns.load(Relaxed)
}
