//! Allocations and resident memory of a worker.
//!
//! The allocator counts only on request, so that times do not include the counting.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
/// Bytes in use since counting began, and their maximum.
static IN_USE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// The system's allocator with counters.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(bytes: usize) {
    if COUNTING.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(bytes as u64, Relaxed);
        let in_use = IN_USE.fetch_add(bytes as i64, Relaxed) + bytes as i64;
        PEAK.fetch_max(in_use, Relaxed);
    }
}

fn note_freed(bytes: usize) {
    if COUNTING.load(Relaxed) {
        IN_USE.fetch_sub(bytes as i64, Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        note_freed(layout.size());
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note_freed(layout.size());
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Starts counting on all threads.
pub(crate) fn start_counting() {
    ALLOCATIONS.store(0, Relaxed);
    BYTES.store(0, Relaxed);
    IN_USE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
}

/// Stops counting. Returns the allocations and their bytes since [`start_counting`].
pub(crate) fn stop_counting() -> (u64, u64) {
    COUNTING.store(false, Relaxed);
    (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed))
}

/// Stops counting. Returns the most bytes that were in use at once beyond those in use at
/// [`start_counting`].
pub(crate) fn stop_counting_peak() -> u64 {
    COUNTING.store(false, Relaxed);
    PEAK.load(Relaxed).unsigned_abs()
}

/// Resident memory in bytes, minus file-backed pages, whose number depends on which code was
/// executed.
///
/// # Errors
/// `/proc` cannot be read.
pub(crate) fn resident() -> Result<u64, String> {
    let text = std::fs::read_to_string("/proc/self/statm")
        .map_err(|error| format!("/proc/self/statm: {error}"))?;
    // SAFETY: only queries a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let mut fields = text.split(' ').skip(1).map(|pages| pages.parse().ok());
    let mut pages = || -> Option<u64> { fields.next()? };
    let bytes = |(resident, files): (u64, u64)| {
        Some(resident.checked_sub(files)? * u64::try_from(page).ok()?)
    };
    pages()
        .zip(pages())
        .and_then(bytes)
        .ok_or_else(|| format!("/proc/self/statm says {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_while_counting_is_counted() {
        start_counting();
        std::hint::black_box(Vec::<u8>::with_capacity(12_345));
        let (allocations, bytes) = stop_counting();
        // Other tests run at the same time.
        assert!(allocations >= 1 && bytes >= 12_345);
        start_counting();
        drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)));
        let peak = stop_counting_peak();
        assert!((1 << 20..2 << 20).contains(&peak), "{peak}");
        assert!(resident().is_ok_and(|bytes| bytes > 100_000));
    }
}
