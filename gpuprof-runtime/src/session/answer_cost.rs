//! CPU time of the answers to viewers, which is part of the profile too.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::collector::collector;

/// Adds that of an answer.
pub(super) fn add(spent: Duration) {
    let ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
    collector().process.answers_ns.fetch_add(ns, Relaxed);
}

/// All of it since the start of the process, ns.
pub(super) fn spent_ns() -> u64 {
    collector().process.answers_ns.load(Relaxed)
}
