//! The limit of the memory that counters take.
//!
//! Counters are never freed, so without a limit a program of many functions on many threads would
//! use ever more memory.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that the counters of all threads may take: enough for 10,000 functions on 64 threads. A
/// function takes about 1,000 bytes on a thread, and about 450 more for each further path that it
/// is called on. Past the limit, calls on paths that are new to their thread are counted as
/// dropped, and durations in buckets that a thread has not filled before are omitted from its
/// percentiles and counted.
pub(crate) const MAX_COUNTER_BYTES: usize = 1 << 30;

/// Bytes that the allocator adds to a block.
pub(super) const BLOCK_OVERHEAD: usize = 16;

/// The memory of the counters of all threads.
pub(crate) static COUNTER_MEMORY: MemoryLimit = MemoryLimit::new(MAX_COUNTER_BYTES);

/// A number of bytes that is reserved piece by piece.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    limit: usize,
    reserved: AtomicUsize,
}

impl MemoryLimit {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            limit,
            reserved: AtomicUsize::new(0),
        }
    }

    /// Reserves a block of `bytes`. Returns whether it fits.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let bytes = bytes + BLOCK_OVERHEAD;
        let fits = self.reserved.fetch_add(bytes, Relaxed) + bytes <= self.limit;
        if !fits {
            self.reserved.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_OVERHEAD, MemoryLimit};

    #[test]
    fn a_block_that_does_not_fit_reserves_nothing() {
        let limit = MemoryLimit::new(100);
        assert!(limit.reserve(60 - BLOCK_OVERHEAD));
        assert!(!limit.reserve(41 - BLOCK_OVERHEAD));
        assert!(limit.reserve(40 - BLOCK_OVERHEAD));
        assert!(!limit.reserve(0));
    }
}
