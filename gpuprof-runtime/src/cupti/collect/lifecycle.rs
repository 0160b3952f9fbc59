//! Whether CUPTI runs in this process, and who reads its records.
//!
//! Everything here may be called from any thread, from inside the program's own CUDA calls, and in
//! a forked child.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Thread;

use super::library::CuptiLibrary;

/// CUPTI was started, and this is not a forked child.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// The last read has begun: libcupti may be shutting down, so only that read still calls it.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);
static SUBSCRIPTION: OnceLock<Subscription> = OnceLock::new();

/// A subscribed libcupti and the thread that reads its records.
pub(crate) struct Subscription {
    pub(crate) library: &'static CuptiLibrary,
    pub(crate) reader: Thread,
    /// Whether callbacks report the nodes of graphs.
    pub(crate) reports_graph_nodes: bool,
}

/// Publishes a subscription, once per process.
pub(crate) fn set_running(subscription: Subscription) {
    if SUBSCRIPTION.set(subscription).is_ok() {
        stop_in_forked_children();
        RUNNING.store(true, Relaxed);
    }
}

/// From now on only the reader calls libcupti.
pub(crate) fn set_shutting_down() {
    SHUTTING_DOWN.store(true, Relaxed);
}

#[inline]
pub(crate) fn is_running() -> bool {
    RUNNING.load(Relaxed)
}

/// The subscription, while CUPTI runs.
pub(crate) fn subscription() -> Option<&'static Subscription> {
    SUBSCRIPTION.get().filter(|_| is_running())
}

/// The present time of CUPTI's clock in ns; `None` if CUPTI does not run or is shutting down.
pub(crate) fn now() -> Option<u64> {
    let mut now = 0;
    let result = callable_library()?.get_timestamp(&raw mut now);
    result.ok().map(|()| now)
}

/// The library, unless it may be shutting down.
pub(crate) fn callable_library() -> Option<&'static CuptiLibrary> {
    let subscription = subscription().filter(|_| !SHUTTING_DOWN.load(Relaxed))?;
    Some(subscription.library)
}

/// Wakes the reader before its time.
pub(crate) fn wake_reader() {
    if let Some(subscription) = subscription() {
        subscription.reader.unpark();
    }
}

/// A forked child has no reader, and must not call a library whose locks other threads of the
/// parent may have held.
fn stop_in_forked_children() {
    // SAFETY: the handler stores one atomic, and lives as long as the program.
    unsafe { libc::pthread_atfork(None, None, Some(stop)) };
}

unsafe extern "C" fn stop() {
    RUNNING.store(false, Relaxed);
}
