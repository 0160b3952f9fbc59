//! The end of the process: the driver may be gone soon, so that no answer may begin.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::time::Duration;

use parking_lot::Mutex;

/// Set without the lock of a server, which an answer may hold for longer than the end of the
/// process waits.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// Lets no server begin an answer from now on, and waits at most `limit` for the one that is made
/// while `lock` is held.
pub(in crate::session) fn stop<T>(lock: &Mutex<T>, limit: Duration) {
    HAS_ENDED.store(true, Release);
    drop(lock.try_lock_for(limit));
}

/// Whether an answer may no longer begin. Callers hold their server's lock.
pub(in crate::session) fn has_ended() -> bool {
    HAS_ENDED.load(Acquire)
}
