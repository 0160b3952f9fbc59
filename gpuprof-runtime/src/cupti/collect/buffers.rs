//! The buffers that CUPTI writes its records into: a bounded pool, and the two callbacks through which they change hands.
//!
//! CUPTI calls these from inside the program's own CUDA calls. So they never wait, never panic, allocate nothing but the buffers
//! and call nothing of CUPTI's or CUDA's. Must not import anything that does.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Thread;

use crossbeam_queue::ArrayQueue;

/// Bytes of a buffer: some 3,700 launches with all that belongs to them. Each thread that calls CUDA fills one of its own, so many
/// small ones serve more threads than a few large ones.
pub(crate) const BYTES: usize = 1 << 20;
/// 64 MiB in all. Where the reader lags this far behind, CUPTI gets none and drops its records, which it counts.
pub(crate) const MOST: usize = 64;
/// Buffers kept ready, so that the program's threads are spared the making of one.
const READY: usize = 4;
/// What CUPTI asks for.
const ALIGNMENT: usize = 8;
/// Filled buffers that wake the reader before its time, to read these.
const MANY: usize = 2;
/// Buffers left to give below which it is woken as well, to ask for those that threads have open: there are that many at work.
const FEW: usize = 8;

/// A buffer that CUPTI has given back.
#[derive(Debug)]
pub(crate) struct Filled {
    address: usize,
    /// Bytes from the start that hold records.
    valid: usize,
}

/// See the module.
pub(crate) struct Pool {
    /// Made so far; none is ever unmade.
    made: AtomicUsize,
    free: ArrayQueue<usize>,
    filled: ArrayQueue<Filled>,
    reader: OnceLock<Thread>,
}

static POOL: OnceLock<Pool> = OnceLock::new();

/// The pool of the process. Called before CUPTI is given the callbacks, which only look whether it is there.
pub(crate) fn pool() -> &'static Pool {
    POOL.get_or_init(Pool::new)
}

impl Pool {
    fn new() -> Self {
        // Room for every buffer there will ever be: nothing is allocated later, and no push fails.
        Self {
            made: AtomicUsize::new(0),
            free: ArrayQueue::new(MOST),
            filled: ArrayQueue::new(MOST),
            reader: OnceLock::new(),
        }
    }

    /// Who is to be woken when many buffers are filled, or few are left.
    pub(crate) fn set_reader(&self, reader: Thread) {
        let _ = self.reader.set(reader);
    }

    /// A buffer for CUPTI, null where there is none.
    fn take(&self) -> *mut u8 {
        let taken = match self.free.pop() {
            Some(address) => address as *mut u8,
            None => self.make(),
        };
        if self.is_short() {
            self.wake_reader();
        }
        taken
    }

    /// Whether few buffers are left to give.
    pub(crate) fn is_short(&self) -> bool {
        self.free.len() + MOST.saturating_sub(self.made.load(Relaxed)) < FEW
    }

    fn wake_reader(&self) {
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
    }

    fn make(&self) -> *mut u8 {
        let more = |made| (made < MOST).then_some(made + 1);
        let Ok(layout) = Layout::from_size_align(BYTES, ALIGNMENT) else {
            return std::ptr::null_mut();
        };
        if self.made.fetch_update(Relaxed, Relaxed, more).is_err() {
            return std::ptr::null_mut();
        }
        // Zeroed, as CUPTI was told; so what is read of it later is initialized, whatever CUPTI writes.
        // SAFETY: the layout is not empty.
        let buffer = unsafe { alloc_zeroed(layout) };
        if buffer.is_null() {
            self.made.fetch_sub(1, Relaxed);
        }
        buffer
    }

    /// Takes a buffer back from CUPTI.
    fn complete(&self, address: usize, valid: usize) {
        if address == 0 {
            return;
        }
        // An empty one too: CUPTI may have written to it all the same, and wants it zeroed.
        let valid = valid.min(BYTES);
        let _ = self.filled.push(Filled { address, valid });
        if self.filled.len() >= MANY {
            self.wake_reader();
        }
    }

    /// The next buffer to be read.
    pub(crate) fn next_filled(&self) -> Option<Filled> {
        self.filled.pop()
    }

    /// Makes buffers until some are ready, and has the kernel find their memory, which takes longer than all else.
    pub(crate) fn prepare(&self) {
        while self.free.len() < READY {
            let buffer = self.make();
            if buffer.is_null() {
                return;
            }
            self.give(buffer as usize);
        }
    }

    /// Gives a buffer that was read back to CUPTI.
    pub(crate) fn recycle(&self, filled: Filled) {
        self.give(filled.address);
    }

    /// Zeroes a buffer that nobody else knows, and gives it to CUPTI.
    fn give(&self, address: usize) {
        // SAFETY: the buffer was allocated with so many bytes, and is in nobody's hands: it is new, or CUPTI has given it back and it
        // was taken off the queue.
        unsafe { (address as *mut u8).write_bytes(0, BYTES) };
        let _ = self.free.push(address);
    }
}

impl Filled {
    pub(crate) fn address(&self) -> *mut u8 {
        self.address as *mut u8
    }

    pub(crate) fn valid(&self) -> usize {
        self.valid
    }

    /// What it holds from `record` on, and how far into it that is; `None` for an address outside.
    pub(crate) fn bytes_at(&self, record: *const u8) -> Option<(usize, &[u8])> {
        let offset = (record as usize).checked_sub(self.address)?;
        // SAFETY: the buffer was allocated with more bytes than this and zeroed, is never freed, and CUPTI has given it back: nobody
        // writes to it before `recycle`, which takes this value.
        let bytes = unsafe { std::slice::from_raw_parts(self.address as *const u8, self.valid) };
        Some((offset, bytes.get(offset..)?))
    }
}

/// `CUpti_BuffersCallbackRequestFunc`.
///
/// # Safety
/// For CUPTI alone, which hands over three places to write to.
pub(crate) unsafe extern "C" fn requested(
    buffer: *mut *mut u8,
    size: *mut usize,
    most_records: *mut usize,
) {
    let taken = POOL.get().map_or(std::ptr::null_mut(), Pool::take);
    let bytes = if taken.is_null() { 0 } else { BYTES };
    // SAFETY: the place is CUPTI's own, for this.
    unsafe { buffer.write(taken) };
    // SAFETY: as above.
    unsafe { size.write(bytes) };
    // SAFETY: as above. 0 is as many as there is room for.
    unsafe { most_records.write(0) };
}

/// `CUpti_BuffersCallbackCompleteFunc`.
///
/// # Safety
/// For CUPTI alone, which hands back what [`requested`] gave it.
pub(crate) unsafe extern "C" fn completed(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid: usize,
) {
    if let Some(pool) = POOL.get() {
        pool.complete(buffer as usize, valid);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use std::sync::atomic::Ordering::Relaxed;

    use super::{ALIGNMENT, BYTES, FEW, MOST, Pool, READY};

    #[test]
    fn no_more_than_64_mib_are_ever_alive() {
        assert_eq!(MOST * BYTES, 64 << 20);
        let pool = Pool::new();
        let buffers: Vec<_> = (0..MOST).map(|_| pool.take()).collect();
        assert!(buffers.iter().all(|buffer| !buffer.is_null()));
        assert!(
            buffers
                .iter()
                .all(|buffer| (*buffer as usize).is_multiple_of(ALIGNMENT))
        );
        assert!(pool.take().is_null(), "one too many");
        // Read and given back it is there again, and it alone.
        pool.complete(buffers[3] as usize, 100);
        assert!(pool.take().is_null(), "one that is not read yet");
        let filled = pool.next_filled().expect("it was completed");
        pool.recycle(filled);
        assert_eq!(pool.take(), buffers[3]);
        assert!(pool.take().is_null());
    }

    #[test]
    fn the_reader_is_woken_while_a_few_buffers_are_left() {
        let pool = Pool::new();
        pool.set_reader(thread::current());
        // Whether this thread, which stands for the reader, was woken.
        let is_woken = |limit| {
            let began = Instant::now();
            thread::park_timeout(limit);
            began.elapsed() < limit
        };
        for _ in 0..MOST - FEW {
            assert!(!pool.take().is_null());
        }
        assert!(!is_woken(Duration::from_millis(20)));
        assert!(!pool.take().is_null());
        assert!(is_woken(Duration::from_secs(20)));
        while !pool.take().is_null() {}
        assert!(is_woken(Duration::from_secs(20)));
        // One that got none.
        assert!(pool.take().is_null());
        assert!(is_woken(Duration::from_secs(20)));
    }

    #[test]
    fn an_empty_buffer_is_zeroed_as_well() {
        let pool = Pool::new();
        let buffer = pool.take();
        // SAFETY: the pool has just handed it out.
        unsafe { buffer.write(7) };
        pool.complete(buffer as usize, 0);
        let filled = pool.next_filled().expect("it was completed");
        assert_eq!(filled.valid(), 0);
        pool.recycle(filled);
        assert_eq!(pool.take(), buffer);
        // SAFETY: as above, and nobody else has it.
        assert_eq!(unsafe { buffer.read() }, 0);
    }

    #[test]
    fn buffers_are_zeroed_before_they_are_given_again_and_some_are_ready() {
        let pool = Pool::new();
        let buffer = pool.take();
        // SAFETY: the pool has just handed it out.
        unsafe { buffer.write_bytes(7, BYTES) };
        pool.complete(buffer as usize, 100);
        let filled = pool.next_filled().expect("it was completed");
        pool.recycle(filled);
        assert_eq!(pool.take(), buffer);
        // SAFETY: as above, and nobody else has it.
        let bytes = unsafe { std::slice::from_raw_parts(buffer, BYTES) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        pool.prepare();
        assert_eq!(
            (pool.free.len(), pool.made.load(Relaxed)),
            (READY, 1 + READY)
        );
        pool.prepare();
        assert_eq!(pool.free.len(), READY);
        while !pool.take().is_null() {}
        pool.prepare();
        assert_eq!(
            pool.made.load(Relaxed),
            MOST,
            "never more than there may be"
        );
    }

    #[test]
    fn addresses_outside_of_the_valid_bytes_are_none() {
        let pool = Pool::new();
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
