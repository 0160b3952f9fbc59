//! The contexts that the program uses, by CUPTI's callbacks in its calls, if somebody asks for
//! them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

/// Contexts that are remembered at most: a program that keeps making contexts is not followed.
const MAX_CONTEXTS: usize = 64;

static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// That of the last call.
static LAST: AtomicUsize = AtomicUsize::new(0);
/// Those that nobody has taken yet.
static WAITING: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// From now on contexts are remembered.
pub(super) fn watch() {
    IS_WATCHED.store(true, Relaxed);
}

/// A call uses a context, or none if it is null.
#[inline]
pub(super) fn meet(context: *const c_void) {
    if IS_WATCHED.load(Relaxed) && LAST.load(Relaxed) != context as usize && !context.is_null() {
        remember(context as usize);
    }
}

#[cold]
fn remember(context: usize) {
    LAST.store(context, Relaxed);
    let mut waiting = WAITING.lock();
    if waiting.len() < MAX_CONTEXTS && !waiting.contains(&context) {
        waiting.push(context);
    }
}

/// The contexts of the calls since this was last called.
pub(super) fn take() -> Vec<usize> {
    std::mem::take(&mut *WAITING.lock())
}

/// The program destroys a context: another one may get its address.
pub(super) fn forget(context: usize) {
    WAITING.lock().retain(|waiting| *waiting != context);
    let _ = LAST.compare_exchange(context, 0, Relaxed, Relaxed);
}
