//! Whether CUPTI runs in this process, and the thread that reads its records.
//!
//! Everything here may be called from any thread, from inside the program's own CUDA calls, and in
//! a forked child.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Once, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::call_gate;
use super::callback_clock::{CallbackClock, Stamp};
use super::library::CuptiLibrary;
use super::opt_in_records::OptInRecords;
use super::reader_progress::ReaderProgress;
use super::unavailable_reason::CuptiUnavailable;

/// How long a report waits while CUPTI is started or left.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);

/// CUPTI was started and is not suspended, and this is not a forked child.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// The last read has begun: libcupti may be shutting down, so only that read still calls it.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);
/// Set by the first start that succeeds.
static SUBSCRIPTION: OnceLock<Subscription> = OnceLock::new();
/// Why the last start has failed. Held while CUPTI is started, suspended or changed for looks.
static UNAVAILABLE: Mutex<Option<CuptiUnavailable>> = Mutex::new(None);
/// How often CUPTI was started.
static STARTS: AtomicU32 = AtomicU32::new(0);
/// When it was started last, after it was suspended.
static RESUMED_AT: AtomicU64 = AtomicU64::new(0);

/// A libcupti that was subscribed to and the thread that reads its records.
pub(crate) struct Subscription {
    pub(crate) library: &'static CuptiLibrary,
    pub(crate) clock: &'static CallbackClock,
    pub(crate) reader: Thread,
    pub(crate) progress: &'static ReaderProgress,
    pub(crate) opt_in_records: Mutex<OptInRecords>,
    /// The note about it, if CUPTI was handed over.
    pub(crate) handed_over_to: OnceLock<String>,
}

/// Starts CUPTI by `subscribe`, or by `resume` if it was suspended. After a failure it is tried
/// again only if `retries` is true. Returns whether this call has started it first.
pub(crate) fn start(
    subscribe: impl FnOnce() -> Result<Subscription, CuptiUnavailable>,
    resume: impl FnOnce(&Subscription) -> Result<(), CuptiUnavailable>,
    retries: bool,
) -> bool {
    let mut unavailable = UNAVAILABLE.lock();
    if is_running() || SHUTTING_DOWN.load(Relaxed) || unavailable.is_some() && !retries {
        return false;
    }
    let known = SUBSCRIPTION.get();
    let started = match known {
        Some(known) => resume(known).map(|()| {
            let now = known.clock.set_anchor(known.library);
            RESUMED_AT.store(now.unwrap_or(0), Relaxed);
        }),
        None => {
            stop_in_forked_children();
            subscribe().map(|subscription| {
                let _ = SUBSCRIPTION.set(subscription);
            })
        }
    };
    *unavailable = started.err();
    if unavailable.is_some() {
        return false;
    }
    STARTS.fetch_add(1, Relaxed);
    RUNNING.store(true, Relaxed);
    wake_reader();
    known.is_none()
}

/// Calls `change` while nobody else starts or suspends CUPTI: who starts it afterwards needs what
/// `change` has ended, and who did before has said so.
pub(crate) fn while_unchanged(change: impl FnOnce()) {
    let _changing = UNAVAILABLE.lock();
    change();
}

/// Ends what [`start`] began, by `suspend`, unless the process ends or CUPTI does not run. No
/// callback is answered from then on; the reader reads only what somebody waits for. To be called
/// in [`while_unchanged`].
pub(crate) fn suspend(suspend: impl FnOnce(&Subscription)) {
    if let Some(subscription) = callable() {
        RUNNING.store(false, Relaxed);
        suspend(subscription);
    }
}

/// How often CUPTI was started: what a thread remembers of an earlier start is outdated.
#[inline]
pub(crate) fn starts() -> u32 {
    STARTS.load(Relaxed)
}

/// When CUPTI was started last, in its time; 0 if it was not suspended before.
pub(crate) fn resumed_at() -> u64 {
    RESUMED_AT.load(Relaxed)
}

/// Why CUPTI could not be started, if it was to be, and is not being started or left.
pub(crate) fn unavailable() -> Option<String> {
    let unavailable = UNAVAILABLE.try_lock_for(LOCK_TIMEOUT)?;
    unavailable.as_ref().map(ToString::to_string)
}

/// From now on only the reader calls libcupti. Waits at most `limit` for CUPTI to be started or
/// suspended, if that is under way.
pub(crate) fn set_shutting_down(limit: Duration) {
    SHUTTING_DOWN.store(true, Relaxed);
    drop(UNAVAILABLE.try_lock_for(limit));
}

/// Whether libcupti may be shutting down.
pub(super) fn is_shutting_down() -> bool {
    SHUTTING_DOWN.load(Relaxed)
}

#[inline]
pub(crate) fn is_running() -> bool {
    RUNNING.load(Relaxed)
}

/// The subscription, while CUPTI runs.
#[inline]
pub(crate) fn subscription() -> Option<&'static Subscription> {
    SUBSCRIPTION.get().filter(|_| is_running())
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

/// A moment on CUPTI's clock in ns; 0 if CUPTI has never run.
pub(crate) fn ns(stamp: Stamp) -> u64 {
    let subscription = SUBSCRIPTION.get();
    subscription.map_or(0, |subscription| subscription.clock.ns(stamp))
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
    static ONCE: Once = Once::new();
    // SAFETY: the handler stores atomics, and lives as long as the program.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(stop));
    });
}

unsafe extern "C" fn stop() {
    RUNNING.store(false, Relaxed);
    call_gate::forget_calls();
}
