//! A clock that stops for one thread, which then keeps the locks that it holds.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

thread_local! {
    /// Reads of the clock after which it stops for this thread. `None`: it does not stop.
    static READS_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

static STOPPED: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);

/// Blocks the threads with [`READS_LEFT`]. A thread that makes a profile reads the clock first
/// while it holds the window's lock, and again when it makes the profile of what it has copied.
extern "C" fn stopping_clock() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let left = READS_LEFT.get();
    READS_LEFT.set(left.map(|left| left.saturating_sub(1)));
    if left == Some(0) {
        STOPPED.store(true, Ordering::Release);
        while !RELEASED.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
    }
    BEGAN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Makes this gpuprof's clock. To be called before the first span.
pub(crate) fn install() {
    assert!(gpuprof::__private::drive_clock(stopping_clock));
}

/// Starts a thread that makes a profile and copies counters until [`release`].
pub(crate) fn hold_the_window() {
    make_a_profile(0);
}

/// Starts a thread that makes a profile of what it has copied until [`release`].
pub(crate) fn hold_a_profile() {
    make_a_profile(1);
}

fn make_a_profile(reads: u32) {
    thread::spawn(move || {
        READS_LEFT.set(Some(reads));
        drop(gpuprof::snapshot());
    });
    while !STOPPED.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Lets the thread go on.
pub(crate) fn release() {
    RELEASED.store(true, Ordering::Release);
}
