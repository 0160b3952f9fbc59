//! How long a session waits: for locks, for the GPU times of ended calls, and for CUPTI's records.

use std::time::{Duration, Instant};

use crate::collector::collector;
use crate::cupti;

/// How long anything but the exit handler waits for a lock; each is held for microseconds.
pub(super) const LOCK_LIMIT: Duration = Duration::from_secs(1);

/// Reading CUPTI's finished records may take this long even if the wait for the GPU used up its
/// limit: it waits for no GPU work.
const MIN_READ_LIMIT: Duration = Duration::from_millis(500);

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
