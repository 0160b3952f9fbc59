//! The static objects that NVIDIA's libraries make when sampling begins, and destroy at exit.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ARE_DESTROYED: AtomicBool = AtomicBool::new(false);

/// As NVIDIA's libraries do, in a call that begins sampling.
pub(crate) fn make() {
    extern "C" fn destroy() {
        ARE_DESTROYED.store(true, Ordering::Relaxed);
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function that stays loaded.
        unsafe { libc::atexit(destroy) };
    });
}

/// Ends the process after the objects were destroyed: a call that uses them corrupts the heap
/// (H100, CUDA 13.0).
pub(crate) fn assert_alive() {
    if ARE_DESTROYED.load(Ordering::Relaxed) {
        std::process::abort();
    }
}
