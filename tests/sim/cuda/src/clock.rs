//! The simulator's "now" in nanoseconds: the host's monotonic clock, or a virtual one that moves
//! only when it is told to. Must never import driver state: it is read outside the state's lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where the virtual clock starts, in ns: not at 0, so that a stamp of 0 shows as the mistake it
/// is.
const VIRTUAL_START: u64 = 1_000_000_000;
/// A host-clock wait shorter than this spins: a sleep would overshoot by more.
const SPIN_NS: u64 = 60_000;

static VIRTUAL: AtomicBool = AtomicBool::new(false);
static VIRTUAL_NOW: AtomicU64 = AtomicU64::new(VIRTUAL_START);

/// Chooses the clock; called once, before the driver is initialised.
pub(crate) fn choose(is_virtual: bool) {
    VIRTUAL.store(is_virtual, Ordering::Release);
}

/// Whether the virtual clock runs.
pub(crate) fn is_virtual() -> bool {
    VIRTUAL.load(Ordering::Acquire)
}

/// Now, in ns since an arbitrary start.
pub(crate) fn now() -> u64 {
    if is_virtual() {
        VIRTUAL_NOW.load(Ordering::Acquire)
    } else {
        host_now()
    }
}

/// Moves the virtual clock on; without effect under the host's clock.
pub(crate) fn advance(ns: u64) {
    if ns > 0 && is_virtual() {
        VIRTUAL_NOW.fetch_add(ns, Ordering::AcqRel);
    }
}

/// Returns when now is `deadline` or later: the virtual clock moves there, the host's is waited
/// for.
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

/// What of the host's time is not the simulator's: while the host computes a kernel's results or
/// sets a copy's source aside, a device would not have spent that time.
struct Stopped {
    since: Option<u64>,
    /// How many threads stop it.
    by: u32,
    left_out: u64,
}

static STOPPED: Mutex<Stopped> = Mutex::new(Stopped {
    since: None,
    by: 0,
    left_out: 0,
});

/// The simulator's clock stands still while one of these lives.
pub(crate) struct StandStill(());

impl StandStill {
    /// Stops the clock.
    pub(crate) fn begin() -> StandStill {
        let mut stopped = stopped();
        stopped.by += 1;
        stopped.since.get_or_insert_with(monotonic);
        StandStill(())
    }
}

impl Drop for StandStill {
    fn drop(&mut self) {
        let mut stopped = stopped();
        stopped.by -= 1;
        if stopped.by > 0 {
            return;
        }
        if let Some(since) = stopped.since.take() {
            stopped.left_out += monotonic() - since;
        }
    }
}

fn stopped() -> std::sync::MutexGuard<'static, Stopped> {
    STOPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn host_now() -> u64 {
    let stopped = stopped();
    stopped.since.unwrap_or_else(monotonic) - stopped.left_out
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
