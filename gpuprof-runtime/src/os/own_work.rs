//! Whether this thread is in gpuprof's own work, in which allocations can call the program: an
//! annotated function that its `#[global_allocator]` calls would meet locks that this thread holds
//! and statics that it is initializing. Such a call is counted and does nothing else.
//!
//! The work also leaves the thread's `errno` as it was, as the program may read it after a call.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    /// Constant and without a destructor, so that it is available at any time.
    static IS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Calls that were skipped since the count was last taken.
static SKIPPED: AtomicU64 = AtomicU64::new(0);

/// Whether this thread is in gpuprof's own work.
#[inline]
pub(crate) fn is_here() -> bool {
    IS_HERE.get()
}

/// Counts a call that is skipped because of that.
#[cold]
pub(crate) fn count_skipped() {
    SKIPPED.fetch_add(1, Relaxed);
}

/// How many were skipped.
pub(crate) fn skipped() -> u64 {
    SKIPPED.load(Relaxed)
}

/// The same, and counts from zero again.
pub(crate) fn take_skipped() -> u64 {
    SKIPPED.swap(0, Relaxed)
}

/// This thread is one of gpuprof's own.
pub(crate) fn note_own_thread() {
    IS_HERE.set(true);
}

/// While it exists, this thread is in gpuprof's own work.
#[derive(Debug)]
#[must_use]
pub(crate) struct OwnWork {
    was_here: bool,
    errno: c_int,
}

impl OwnWork {
    #[inline]
    pub(crate) fn begin() -> Self {
        Self {
            was_here: IS_HERE.replace(true),
            errno: errno(),
        }
    }
}

impl Drop for OwnWork {
    #[inline]
    fn drop(&mut self) {
        IS_HERE.set(self.was_here);
        set_errno(self.errno);
    }
}

/// Runs code of the program within gpuprof's own work.
pub(crate) fn run_programs<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_HERE.set(self.0);
        }
    }
    let _restore = Restore(IS_HERE.replace(false));
    f()
}

fn errno_location() -> *mut c_int {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::__errno_location() }
}

fn errno() -> c_int {
    // SAFETY: the pointer is to this thread's errno, which lives as long as the thread.
    unsafe { *errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *errno_location() = value };
}
