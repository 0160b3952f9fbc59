//! The contexts that the program uses, by CUPTI's callbacks in its calls, if somebody asks for
//! them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

/// Contexts that are told apart: others are not sampled.
pub(super) const MAX_CONTEXTS: usize = 64;

static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// Those that were met, for a look without the lock; 0 for none.
static KNOWN: [AtomicUsize; MAX_CONTEXTS] = [const { AtomicUsize::new(0) }; MAX_CONTEXTS];
static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts {
    waiting: Vec::new(),
    destroyed: Vec::new(),
    left_out: 0,
});

struct Contexts {
    /// Those that nobody has taken yet.
    waiting: Vec<usize>,
    /// Addresses without a context: a thread may still name one.
    destroyed: Vec<usize>,
    left_out: usize,
}

/// From now on contexts are remembered.
pub(super) fn watch() {
    IS_WATCHED.store(true, Relaxed);
}

/// Contexts are not remembered from now on.
pub(super) fn end_watch() {
    IS_WATCHED.store(false, Relaxed);
    forget_all();
}

/// Calls of the program meet all contexts again.
pub(super) fn forget_all() {
    let mut all = CONTEXTS.lock();
    for known in KNOWN.iter().rev() {
        known.store(0, Relaxed);
    }
    (all.waiting, all.destroyed, all.left_out) = (Vec::new(), Vec::new(), 0);
}

/// A call uses a context, or none if it is null. Returns whether the context is a new one.
#[inline]
pub(super) fn meet(context: *const c_void) -> bool {
    IS_WATCHED.load(Relaxed) && !context.is_null() && !is_known(context as usize) && {
        remember(context as usize)
    }
}

#[inline]
fn is_known(context: usize) -> bool {
    let known = KNOWN.iter().map(|known| known.load(Relaxed));
    known
        .take_while(|known| *known != 0)
        .any(|known| known == context)
}

#[cold]
fn remember(context: usize) -> bool {
    let mut all = CONTEXTS.lock();
    if is_known(context) || all.destroyed.contains(&context) {
        return false;
    }
    let free = KNOWN.iter().find(|known| known.load(Relaxed) == 0);
    let Some(free) = free else {
        all.left_out += 1;
        return false;
    };
    free.store(context, Relaxed);
    all.waiting.push(context);
    true
}

/// Whether there are contexts to take.
pub(super) fn has_waiting() -> bool {
    !CONTEXTS.lock().waiting.is_empty()
}

/// A context of a call that this has not returned yet.
pub(super) fn take() -> Option<usize> {
    CONTEXTS.lock().waiting.pop()
}

/// The program destroys a context.
pub(super) fn forget(context: usize) {
    let mut all = CONTEXTS.lock();
    all.waiting.retain(|waiting| *waiting != context);
    if is_known(context) {
        all.destroyed.push(context);
        // The last one takes its place, so that there is no gap.
        let last = KNOWN.iter().rev().find(|known| known.load(Relaxed) != 0);
        let place = KNOWN.iter().find(|known| known.load(Relaxed) == context);
        if let (Some(last), Some(place)) = (last, place) {
            place.store(last.load(Relaxed), Relaxed);
            last.store(0, Relaxed);
        }
    }
}

/// Whether the context was destroyed, and its address has no other.
pub(super) fn is_destroyed(context: usize) -> bool {
    CONTEXTS.lock().destroyed.contains(&context)
}

/// The program has made a context, perhaps at the address of another one.
pub(super) fn renew(context: usize) {
    if IS_WATCHED.load(Relaxed) {
        CONTEXTS.lock().destroyed.retain(|old| *old != context);
    }
}

/// Whether there were too many.
pub(super) fn is_full() -> bool {
    CONTEXTS.lock().left_out > 0
}
