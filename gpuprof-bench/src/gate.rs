//! Holds a stream until everything of a sample is queued.
//!
//! The stream waits for a number in page-locked memory, which the host writes. If the benchmarked
//! code waits for the GPU meanwhile, or queues more than the stream takes, it would wait for ever:
//! a thread then opens the gate.

#![allow(unsafe_code, reason = "cudarc has no safe call that holds a stream")]

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUstreamWaitValue_flags, cuStreamWaitValue32_v2};
use cudarc::driver::{CudaStream, PinnedHostSlice};

use crate::error::{BenchError, Purpose};

/// How long a call may take while the stream is held.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often the thread looks.
const LOOK: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    stream: Arc<CudaStream>,
    /// The number that the stream waits for. It is freed after the stream has passed.
    _memory: PinnedHostSlice<u32>,
    shared: Arc<Shared>,
    began: Instant,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    flag: Flag,
    /// What the stream waits for.
    number: AtomicU32,
    /// Until when the present call may take, µs since the gate was made; 0 if none is held.
    deadline_us: AtomicU64,
    /// The thread has opened it.
    is_forced: AtomicBool,
    is_over: AtomicBool,
}

/// The address of the number.
#[derive(Debug)]
struct Flag(*mut u32);

// SAFETY: the memory lives until the thread has ended, and every access of it is volatile.
unsafe impl Send for Flag {}
// SAFETY: as above; a value is written whole.
unsafe impl Sync for Flag {}

impl Flag {
    fn write(&self, number: u32) {
        // SAFETY: it is valid and aligned, see above; only the device reads it.
        unsafe { self.0.write_volatile(number) };
    }
}

impl Gate {
    /// # Errors
    /// There is no page-locked memory, or the stream cannot wait for a value in it.
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Self, BenchError> {
        let allocate = "allocate page-locked memory";
        // SAFETY: any bits are a number, and it is written before it is waited for.
        let memory = unsafe { stream.context().alloc_pinned::<u32>(1) };
        let mut memory = memory.to(allocate)?;
        let flag = Flag(memory.as_mut_ptr().to(allocate)?);
        flag.write(0);
        let shared = Arc::new(Shared {
            flag,
            number: AtomicU32::new(0),
            deadline_us: AtomicU64::new(0),
            is_forced: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let began = Instant::now();
        let watched = Arc::clone(&shared);
        let watcher = thread::Builder::new().name("gpuprof bench gate".to_owned());
        let watcher = watcher
            .spawn(move || watch(&watched, began))
            .map_err(|error| BenchError::Setting(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            stream: Arc::clone(stream),
            _memory: memory,
            shared,
            began,
            watcher: Some(watcher),
        })
    }

    /// Holds the stream behind what is queued now.
    ///
    /// # Errors
    /// The stream cannot wait for a value.
    pub(crate) fn close(&mut self) -> Result<(), BenchError> {
        let number = self.shared.number.load(Acquire).wrapping_add(1);
        self.shared.number.store(number, Release);
        self.shared.is_forced.store(false, Release);
        let flags = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ as u32;
        let address = self.shared.flag.0 as u64;
        let stream = self.stream.cu_stream();
        // SAFETY: the memory is page-locked, so that host and device have it at one address, and it
        // lives until the stream has passed: `drop` waits for it.
        let status = unsafe { cuStreamWaitValue32_v2(stream, address, number, flags) };
        status.result().to("hold the stream")?;
        self.extend();
        Ok(())
    }

    /// A call goes on: it has its time from now on.
    pub(crate) fn extend(&self) {
        let deadline = self.began.elapsed() + PATIENCE;
        let deadline = u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX);
        self.shared.deadline_us.store(deadline, Release);
    }

    /// Lets the stream go on. False if it had to be let go before.
    pub(crate) fn open(&self) -> bool {
        self.shared.deadline_us.store(0, Release);
        self.shared.flag.write(self.shared.number.load(Acquire));
        !self.shared.is_forced.load(Acquire)
    }
}

fn watch(shared: &Shared, began: Instant) {
    while !shared.is_over.load(Acquire) {
        thread::park_timeout(LOOK);
        let deadline = shared.deadline_us.load(Acquire);
        if deadline == 0 || began.elapsed().as_micros() <= u128::from(deadline) {
            continue;
        }
        // Unless the call has ended, or another one has begun, since the look.
        let late = (shared.deadline_us).compare_exchange(deadline, 0, AcqRel, Acquire);
        if late.is_ok() {
            shared.is_forced.store(true, Release);
            shared.flag.write(shared.number.load(Acquire));
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
        self.shared.is_over.store(true, Release);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
        // The stream reads the memory, which is freed next.
        let _ = self.stream.synchronize();
    }
}
