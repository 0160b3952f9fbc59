//! The simulator's clock in ns: the host's monotonic clock, or a virtual clock that moves only by
//! calls of this room. It is read outside the state's lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The start of the virtual clock, in ns. It is not 0, so that a test notices a wrong 0.
const VIRTUAL_START: u64 = 1_000_000_000;
/// A host-clock wait shorter than this spins: a sleep would overshoot by more.
const SPIN_NS: u64 = 60_000;

static VIRTUAL: AtomicBool = AtomicBool::new(false);
static VIRTUAL_NOW: AtomicU64 = AtomicU64::new(VIRTUAL_START);

/// Chooses the clock. Must be called before the driver is initialized.
pub(crate) fn choose(is_virtual: bool) {
    VIRTUAL.store(is_virtual, Ordering::Release);
}

pub(crate) fn is_virtual() -> bool {
    VIRTUAL.load(Ordering::Acquire)
}

/// The present time in ns since an arbitrary start.
pub(crate) fn now() -> u64 {
    if is_virtual() {
        VIRTUAL_NOW.load(Ordering::Acquire)
    } else {
        host_now()
    }
}

/// Advances the virtual clock; has no effect under the host's clock.
pub(crate) fn advance(ns: u64) {
    if ns > 0 && is_virtual() {
        VIRTUAL_NOW.fetch_add(ns, Ordering::AcqRel);
    }
}

/// Returns when the time is `deadline` or later. A virtual clock jumps there.
pub(crate) fn wait_until(deadline: u64) {
    if is_virtual() {
        VIRTUAL_NOW.fetch_max(deadline, Ordering::AcqRel);
        return;
    }
    loop {
        let left = deadline.saturating_sub(host_now());
        if left == 0 {
            return;
        }
        if left > SPIN_NS {
            std::thread::sleep(Duration::from_nanos(left - SPIN_NS));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// The host time that is not simulated: a device would not spend the time in which the host
/// computes results or copies sources.
struct Paused {
    since: Option<u64>,
    /// The number of [`Pause`]s.
    pauses: u32,
    /// Earlier pauses, in ns.
    total_ns: u64,
}

static PAUSED: Mutex<Paused> = Mutex::new(Paused {
    since: None,
    pauses: 0,
    total_ns: 0,
});

/// Pauses the simulator's clock while it exists.
pub(crate) struct Pause(());

impl Pause {
    pub(crate) fn new() -> Pause {
        let mut paused = paused();
        paused.pauses += 1;
        paused.since.get_or_insert_with(monotonic);
        Pause(())
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let mut paused = paused();
        paused.pauses -= 1;
        if paused.pauses > 0 {
            return;
        }
        if let Some(since) = paused.since.take() {
            paused.total_ns += monotonic() - since;
        }
    }
}

fn paused() -> std::sync::MutexGuard<'static, Paused> {
    PAUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn host_now() -> u64 {
    let paused = paused();
    paused.since.unwrap_or_else(monotonic) - paused.total_ns
}

fn monotonic() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable, and CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
