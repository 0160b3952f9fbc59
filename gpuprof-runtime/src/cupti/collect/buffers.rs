//! The buffers that CUPTI writes its records into: a bounded pool, and the two callbacks through
//! which CUPTI takes a buffer and returns it.
//!
//! CUPTI calls these from inside the program's CUDA calls. They never wait, never panic, allocate
//! only buffers, and call nothing of CUPTI or CUDA.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Thread;

use crossbeam_queue::ArrayQueue;

use crate::os::own_work::OwnWork;

/// Bytes per buffer: room for about 3,700 launches with their records. Each thread that calls CUDA
/// fills a buffer of its own, so many small buffers serve more threads than a few large ones.
pub(crate) const BUFFER_BYTES: usize = 1 << 20;
/// 64 MiB in all. If the reader falls this far behind, CUPTI gets no buffer, drops its records and
/// counts them.
pub(crate) const MAX_BUFFERS: usize = 64;
/// Free buffers that the reader prepares, so that the program's threads need not allocate.
const READY_BUFFERS: usize = 4;
/// Required by CUPTI.
const ALIGNMENT: usize = 8;
/// Filled buffers from which on the reader is woken.
const WAKE_AT_FILLED: usize = 2;
/// Available buffers below which the reader is woken, to flush those that threads have open.
const WAKE_BELOW_AVAILABLE: usize = 8;

/// A buffer that CUPTI has returned.
#[derive(Debug)]
pub(crate) struct FilledBuffer {
    address: usize,
    /// Leading bytes that hold records.
    valid_bytes: usize,
}

pub(crate) struct BufferPool {
    /// Never freed.
    allocated: AtomicUsize,
    free: ArrayQueue<usize>,
    filled: ArrayQueue<FilledBuffer>,
    reader: OnceLock<Thread>,
}

static POOL: OnceLock<BufferPool> = OnceLock::new();

/// The pool of the process. Must be called before CUPTI gets the callbacks, which do not create it.
pub(crate) fn pool() -> &'static BufferPool {
    POOL.get_or_init(BufferPool::new)
}

impl BufferPool {
    fn new() -> Self {
        // The queues have room for every buffer, so no push allocates or fails.
        Self {
            allocated: AtomicUsize::new(0),
            free: ArrayQueue::new(MAX_BUFFERS),
            filled: ArrayQueue::new(MAX_BUFFERS),
            reader: OnceLock::new(),
        }
    }

    /// The thread to wake when buffers are filled or few are available.
    pub(crate) fn set_reader(&self, reader: Thread) {
        let _ = self.reader.set(reader);
    }

    /// A buffer for CUPTI; null if none is available.
    fn take(&self) -> *mut u8 {
        let buffer = match self.free.pop() {
            Some(address) => address as *mut u8,
            None => self.allocate(),
        };
        if self.is_short() {
            self.wake_reader();
        }
        buffer
    }

    /// Whether CUPTI holds buffers.
    pub(crate) fn is_lent(&self) -> bool {
        self.free.len() + self.filled.len() < self.allocated.load(Relaxed)
    }

    /// Whether few buffers are available.
    pub(crate) fn is_short(&self) -> bool {
        self.free.len() + MAX_BUFFERS.saturating_sub(self.allocated.load(Relaxed))
            < WAKE_BELOW_AVAILABLE
    }

    fn wake_reader(&self) {
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
    }

    fn allocate(&self) -> *mut u8 {
        let add_one = |allocated| (allocated < MAX_BUFFERS).then_some(allocated + 1);
        let Ok(layout) = Layout::from_size_align(BUFFER_BYTES, ALIGNMENT) else {
            return std::ptr::null_mut();
        };
        if self
            .allocated
            .fetch_update(Relaxed, Relaxed, add_one)
            .is_err()
        {
            return std::ptr::null_mut();
        }
        // Zeroed, as CUPTI was promised. Also, every byte read later is initialized, whatever
        // CUPTI writes.
        // SAFETY: the layout is not empty.
        let buffer = unsafe { alloc_zeroed(layout) };
        if buffer.is_null() {
            self.allocated.fetch_sub(1, Relaxed);
        }
        buffer
    }

    /// Takes a buffer back from CUPTI.
    fn complete(&self, address: usize, valid_bytes: usize) {
        if address == 0 {
            return;
        }
        // Also an empty buffer goes through the reader: CUPTI may have written to it, and wants it
        // zeroed.
        let valid_bytes = valid_bytes.min(BUFFER_BYTES);
        let _ = self.filled.push(FilledBuffer {
            address,
            valid_bytes,
        });
        if self.filled.len() >= WAKE_AT_FILLED {
            self.wake_reader();
        }
    }

    /// The next buffer to read.
    pub(crate) fn next_filled(&self) -> Option<FilledBuffer> {
        self.filled.pop()
    }

    /// Allocates buffers until some are ready. Zeroing them here makes the operating system back
    /// them with memory, which takes longer than anything else about a buffer.
    pub(crate) fn prepare(&self) {
        while self.free.len() < READY_BUFFERS {
            let buffer = self.allocate();
            if buffer.is_null() {
                return;
            }
            self.make_available(buffer as usize);
        }
    }

    /// Makes a buffer that was read available again.
    pub(crate) fn recycle(&self, filled: FilledBuffer) {
        self.make_available(filled.address);
    }

    /// Zeroes a buffer that is not in use.
    fn make_available(&self, address: usize) {
        // SAFETY: the buffer has this size, and nothing else uses it: it is new, or CUPTI has
        // returned it and it was taken off the queue.
        unsafe { (address as *mut u8).write_bytes(0, BUFFER_BYTES) };
        let _ = self.free.push(address);
    }
}

impl FilledBuffer {
    pub(crate) fn address(&self) -> *mut u8 {
        self.address as *mut u8
    }

    pub(crate) fn valid_bytes(&self) -> usize {
        self.valid_bytes
    }

    /// The offset of `record`, and the bytes from there on; `None` for an address outside.
    pub(crate) fn bytes_at(&self, record: *const u8) -> Option<(usize, &[u8])> {
        let offset = (record as usize).checked_sub(self.address)?;
        let start = self.address as *const u8;
        // SAFETY: the buffer was allocated zeroed with at least this size and is never freed. CUPTI
        // has returned it, so nothing writes to it before `recycle`, which consumes this value.
        let bytes = unsafe { std::slice::from_raw_parts(start, self.valid_bytes) };
        Some((offset, bytes.get(offset..)?))
    }
}

/// `CUpti_BuffersCallbackRequestFunc`.
///
/// # Safety
/// Only CUPTI may call it, with three valid places to write to.
pub(crate) unsafe extern "C" fn on_buffer_requested(
    buffer: *mut *mut u8,
    size: *mut usize,
    max_records: *mut usize,
) {
    let _own = OwnWork::begin();
    let taken = POOL.get().map_or(std::ptr::null_mut(), BufferPool::take);
    let bytes = if taken.is_null() { 0 } else { BUFFER_BYTES };
    // SAFETY: CUPTI passes a valid place.
    unsafe { buffer.write(taken) };
    // SAFETY: as above.
    unsafe { size.write(bytes) };
    // 0 means as many as fit.
    // SAFETY: as above.
    unsafe { max_records.write(0) };
}

/// `CUpti_BuffersCallbackCompleteFunc`.
///
/// # Safety
/// Only CUPTI may call it, with a buffer from [`on_buffer_requested`].
pub(crate) unsafe extern "C" fn on_buffer_completed(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid_bytes: usize,
) {
    let _own = OwnWork::begin();
    if let Some(pool) = POOL.get() {
        pool.complete(buffer as usize, valid_bytes);
    }
}

/// `CUpti_BuffersCallbackRequestFunc_v2`.
///
/// # Safety
/// As [`on_buffer_requested`].
pub(crate) unsafe extern "C" fn on_own_buffer_requested(
    buffer: *mut *mut u8,
    size: *mut usize,
    max_records: *mut usize,
    _info: *const c_void,
) {
    // SAFETY: as the caller promises.
    unsafe { on_buffer_requested(buffer, size, max_records) };
}

/// `CUpti_BuffersCallbackCompleteFunc_v2`.
///
/// # Safety
/// As [`on_buffer_completed`].
pub(crate) unsafe extern "C" fn on_own_buffer_completed(
    buffer: *mut u8,
    size: usize,
    valid_bytes: usize,
    _info: *const c_void,
) {
    // SAFETY: as the caller promises.
    unsafe { on_buffer_completed(std::ptr::null_mut(), 0, buffer, size, valid_bytes) };
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use std::sync::atomic::Ordering::Relaxed;

    use super::{
        ALIGNMENT, BUFFER_BYTES, BufferPool, MAX_BUFFERS, READY_BUFFERS, WAKE_BELOW_AVAILABLE,
    };

    #[test]
    fn at_most_64_mib_are_allocated() {
        assert_eq!(MAX_BUFFERS * BUFFER_BYTES, 64 << 20);
        let pool = BufferPool::new();
        let buffers: Vec<_> = (0..MAX_BUFFERS).map(|_| pool.take()).collect();
        assert!(buffers.iter().all(|buffer| !buffer.is_null()));
        assert!(
            buffers
                .iter()
                .all(|buffer| (*buffer as usize).is_multiple_of(ALIGNMENT))
        );
        assert!(pool.take().is_null(), "one too many");
        // Once read and recycled, this one is available again.
        pool.complete(buffers[3] as usize, 100);
        assert!(pool.take().is_null(), "it is not read yet");
        let filled = pool.next_filled().expect("it was completed");
        pool.recycle(filled);
        assert_eq!(pool.take(), buffers[3]);
        assert!(pool.take().is_null());
    }

    #[test]
    fn the_reader_is_woken_when_few_buffers_are_available() {
        let pool = BufferPool::new();
        pool.set_reader(thread::current());
        // Whether this thread, which acts as the reader, was woken.
        let is_woken = |limit| {
            let began = Instant::now();
            thread::park_timeout(limit);
            began.elapsed() < limit
        };
        for _ in 0..MAX_BUFFERS - WAKE_BELOW_AVAILABLE {
            assert!(!pool.take().is_null());
        }
        assert!(!is_woken(Duration::from_millis(20)));
        assert!(!pool.take().is_null());
        assert!(is_woken(Duration::from_secs(20)));
        while !pool.take().is_null() {}
        assert!(is_woken(Duration::from_secs(20)));
        // Also by a request that fails.
        assert!(pool.take().is_null());
        assert!(is_woken(Duration::from_secs(20)));
    }

    #[test]
    fn an_empty_buffer_is_zeroed_too() {
        let pool = BufferPool::new();
        let buffer = pool.take();
        // SAFETY: the pool has just handed it out.
        unsafe { buffer.write(7) };
        pool.complete(buffer as usize, 0);
        let filled = pool.next_filled().expect("it was completed");
        assert_eq!(filled.valid_bytes(), 0);
        pool.recycle(filled);
        assert_eq!(pool.take(), buffer);
        // SAFETY: as above, and nothing else holds it.
        assert_eq!(unsafe { buffer.read() }, 0);
    }

    #[test]
    fn recycled_buffers_are_zeroed_and_some_are_ready() {
        let pool = BufferPool::new();
        let buffer = pool.take();
        // SAFETY: the pool has just handed it out.
        unsafe { buffer.write_bytes(7, BUFFER_BYTES) };
        pool.complete(buffer as usize, 100);
        let filled = pool.next_filled().expect("it was completed");
        pool.recycle(filled);
        assert_eq!(pool.take(), buffer);
        // SAFETY: as above, and nothing else holds it.
        let bytes = unsafe { std::slice::from_raw_parts(buffer, BUFFER_BYTES) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        pool.prepare();
        assert_eq!(
            (pool.free.len(), pool.allocated.load(Relaxed)),
            (READY_BUFFERS, 1 + READY_BUFFERS)
        );
        pool.prepare();
        assert_eq!(pool.free.len(), READY_BUFFERS);
        while !pool.take().is_null() {}
        pool.prepare();
        assert_eq!(
            pool.allocated.load(Relaxed),
            MAX_BUFFERS,
            "never more than the limit"
        );
    }

    #[test]
    fn addresses_outside_the_valid_bytes_are_rejected() {
        let pool = BufferPool::new();
        let buffer = pool.take();
        pool.complete(buffer as usize, 64);
        let filled = pool.next_filled().expect("it was completed");
        let at = |offset: isize| filled.bytes_at(buffer.wrapping_offset(offset));
        assert_eq!(
            at(24).map(|(offset, bytes)| (offset, bytes.len())),
            Some((24, 40))
        );
        assert_eq!(at(64).map(|(_, bytes)| bytes.len()), Some(0));
        assert!(at(65).is_none() && at(-8).is_none());
        pool.recycle(filled);
    }
}
