//! A clock that stops for one thread, which then keeps the locks that it holds.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

thread_local! {
    /// Whether the clock stops for this thread.
    static STOPS: Cell<bool> = const { Cell::new(false) };
}

static STOPPED: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);

/// Blocks the threads with [`STOPS`] when they read it. A thread that makes a profile does so while
/// it holds the window's lock.
extern "C" fn stopping_clock() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    if STOPS.get() {
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

/// Starts a thread that makes a profile and cannot finish before [`release`].
pub(crate) fn hold_the_window() {
    thread::spawn(|| {
        STOPS.set(true);
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
