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
static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts {
    known: Vec::new(),
    waiting: Vec::new(),
});

struct Contexts {
    known: Vec<usize>,
    /// Those that nobody has taken yet.
    waiting: Vec<usize>,
}

/// From now on contexts are remembered.
pub(super) fn watch() {
    IS_WATCHED.store(true, Relaxed);
}

/// A call uses a context, or none if it is null. Returns whether the context is a new one.
#[inline]
pub(super) fn meet(context: *const c_void) -> bool {
    IS_WATCHED.load(Relaxed)
        && LAST.load(Relaxed) != context as usize
        && !context.is_null()
        && remember(context as usize)
}

#[cold]
fn remember(context: usize) -> bool {
    LAST.store(context, Relaxed);
    let mut all = CONTEXTS.lock();
    let is_new = all.known.len() < MAX_CONTEXTS && !all.known.contains(&context);
    if is_new {
        all.known.push(context);
        all.waiting.push(context);
    }
    is_new
}

/// The contexts of the calls since this was last called.
pub(super) fn take() -> Vec<usize> {
    std::mem::take(&mut CONTEXTS.lock().waiting)
}

/// The program destroys a context: another one may get its address.
pub(super) fn forget(context: usize) {
    let mut all = CONTEXTS.lock();
    all.known.retain(|known| *known != context);
    all.waiting.retain(|waiting| *waiting != context);
    let _ = LAST.compare_exchange(context, 0, Relaxed, Relaxed);
}
