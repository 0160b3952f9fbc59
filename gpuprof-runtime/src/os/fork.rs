//! Forked children, in which nothing of gpuprof runs: a lock may be held for ever by a thread that
//! does not exist in the child, and CUDA does not work there.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked from one in which gpuprof ran.
#[inline]
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Marks this process as a forked child.
pub(crate) fn set_is_child() {
    IS_CHILD.store(true, Relaxed);
}

/// Has `handler` run in each child that is forked from now on, on the thread that forked. Only the
/// first call has an effect.
pub(crate) fn set_handler(handler: unsafe extern "C" fn()) {
    static ONCE: Once = Once::new();
    // If this fails for lack of memory, a forked child may find a lock held for ever.
    ONCE.call_once(|| {
        // SAFETY: the handler is a plain function of the right type that lives as long as the
        // program.
        unsafe { libc::pthread_atfork(None, None, Some(handler)) };
    });
}
