//! The ceiling of the memory that counters take, and how much of it is taken.
//!
//! Counters are never given back, so without a ceiling a program of many functions on many threads would pay without end.
//! Must not import anything of gpuprof.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Most bytes that the counters of all threads take together: enough for 10,000 functions on 64 threads. A function takes
/// about 1,000 bytes on a thread, and about 450 more for each further place that it is called from. Past the ceiling, calls
/// from places that are new to their thread are counted as dropped, and durations unlike any that a thread has seen of a
/// function are left out of its percentiles, and counted as well.
pub(crate) const MAX_COUNTER_BYTES: usize = 1 << 30;

/// What the allocator adds to a block, in bytes.
pub(super) const BLOCK_OVERHEAD: usize = 16;

/// The counters of all threads.
pub(crate) static COUNTER_MEMORY: MemoryLimit = MemoryLimit::new(MAX_COUNTER_BYTES);

/// So many bytes, taken bit by bit.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    ceiling: usize,
    taken: AtomicUsize,
}

impl MemoryLimit {
    pub(super) const fn new(ceiling: usize) -> Self {
        Self {
            ceiling,
            taken: AtomicUsize::new(0),
        }
    }

    /// Takes room for a block of `bytes`, if there is any.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let bytes = bytes + BLOCK_OVERHEAD;
        let fits = self.taken.fetch_add(bytes, Relaxed) + bytes <= self.ceiling;
        if !fits {
            self.taken.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_OVERHEAD, MemoryLimit};

    #[test]
    fn what_does_not_fit_takes_nothing() {
        let limit = MemoryLimit::new(100);
        assert!(limit.take(60 - BLOCK_OVERHEAD));
        assert!(!limit.take(41 - BLOCK_OVERHEAD));
        assert!(limit.take(40 - BLOCK_OVERHEAD));
        assert!(!limit.take(0));
    }
}
