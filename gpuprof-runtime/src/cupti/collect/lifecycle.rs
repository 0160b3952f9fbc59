//! Whether CUPTI runs in this process, and the thread that reads its records.
//!
//! Everything here may be called from any thread, from inside the program's own CUDA calls, and in
//! a forked child.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Thread;

use parking_lot::Mutex;

use super::callback_clock::{CallbackClock, Stamp};
use super::library::CuptiLibrary;
use super::opt_in_records::OptInRecords;
use super::reader_progress::ReaderProgress;
use super::unavailable_reason::CuptiUnavailable;

/// CUPTI was started, and this is not a forked child.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// The last read has begun: libcupti may be shutting down, so only that read still calls it.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);
/// Set by the first start, whose outcome is final.
static SUBSCRIPTION: OnceLock<Result<Subscription, CuptiUnavailable>> = OnceLock::new();

/// A subscribed libcupti and the thread that reads its records.
pub(crate) struct Subscription {
    pub(crate) library: &'static CuptiLibrary,
    pub(crate) clock: &'static CallbackClock,
    pub(crate) reader: Thread,
    pub(crate) progress: &'static ReaderProgress,
    /// Whether callbacks report the nodes of graphs.
    pub(crate) reports_graph_nodes: bool,
    pub(crate) opt_in_records: Mutex<OptInRecords>,
    /// The note about it, if CUPTI was handed over.
    pub(crate) handed_over_to: OnceLock<String>,
}

/// Starts CUPTI by `subscribe`, once per process. Returns whether this call has started it.
pub(crate) fn start(subscribe: impl FnOnce() -> Result<Subscription, CuptiUnavailable>) -> bool {
    let mut has_started = false;
    SUBSCRIPTION.get_or_init(|| {
        let subscription = subscribe()?;
        stop_in_forked_children();
        RUNNING.store(true, Relaxed);
        has_started = true;
        Ok(subscription)
    });
    has_started
}

/// Why CUPTI could not be started, if it was to be.
pub(crate) fn unavailable() -> Option<&'static CuptiUnavailable> {
    SUBSCRIPTION.get()?.as_ref().err()
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
#[inline]
pub(crate) fn subscription() -> Option<&'static Subscription> {
    let subscription = SUBSCRIPTION.get()?.as_ref().ok();
    subscription.filter(|_| is_running())
}

/// The subscription, unless libcupti may be shutting down.
#[inline]
fn callable() -> Option<&'static Subscription> {
    subscription().filter(|_| !SHUTTING_DOWN.load(Relaxed))
}

/// The present moment for a callback; `None` if CUPTI does not run or is shutting down.
#[inline]
pub(crate) fn stamp() -> Option<Stamp> {
    let Subscription { clock, library, .. } = callable()?;
    clock.now(library)
}

/// The present time of CUPTI's clock in ns; `None` if CUPTI does not run or is shutting down.
pub(crate) fn now() -> Option<u64> {
    let Subscription { clock, library, .. } = callable()?;
    clock.set_anchor(library)
}

/// Moments on CUPTI's clock, in ns, and on the host's, in ticks.
pub(crate) fn clock_moments() -> Vec<(u64, u64)> {
    // Also once the library may be shutting down.
    subscription().map_or_else(Vec::new, |subscription| subscription.clock.moments())
}

/// The library, unless it may be shutting down.
pub(crate) fn callable_library() -> Option<&'static CuptiLibrary> {
    Some(callable()?.library)
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
