//! CPU time of the answers to viewers, which is part of the profile too.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SPENT_NS: AtomicU64 = AtomicU64::new(0);

/// Adds that of an answer, ns.
pub(super) fn add(cpu_ns: u64) {
    SPENT_NS.fetch_add(cpu_ns, Relaxed);
}

/// All of it since the start of the process, ns.
pub(super) fn spent_ns() -> u64 {
    SPENT_NS.load(Relaxed)
}
