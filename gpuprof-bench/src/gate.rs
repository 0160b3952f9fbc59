//! Holds a stream until everything of a sample is queued.
//!
//! The stream waits for a number in page-locked memory, which the host writes. If the benchmarked
//! code waits for the GPU meanwhile, or queues more than the stream takes, it would wait for ever:
//! a thread then opens the gate.

#![allow(unsafe_code, reason = "cudarc has no safe call that holds a stream")]

use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Release, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUstreamWaitValue_flags, cuStreamWaitValue32_v2};
use cudarc::driver::{CudaStream, PinnedHostSlice};

use crate::error::{BenchError, WithPurpose};

/// How long a call may take while the stream is held.
const PATIENCE: Duration = Duration::from_millis(100);
/// Memory that is not write-combining: the store must not wait for others.
const PLAIN: u32 = 0;
/// How often the thread looks.
const LOOK: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Debug)]
pub(crate) struct StreamGate {
    stream: Arc<CudaStream>,
    /// The number that the stream waits for. It is freed after the stream has passed.
    _memory: PinnedHostSlice<u32>,
    shared: Arc<GateState>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct GateState {
    flag: Flag,
    held: Mutex<Held>,
    is_over: AtomicBool,
}

/// The present call. Both threads change it, and write the flag, under its lock.
#[derive(Debug, Default)]
struct Held {
    /// What the stream waits for.
    number: u32,
    /// Until when the present call may take; `None` if none is held.
    deadline: Option<Instant>,
    /// The thread has opened it.
    is_forced: bool,
}

impl GateState {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of the number.
#[derive(Debug)]
struct Flag(*mut u32);

// SAFETY: the memory lives until the thread has ended, and every access of it is atomic.
unsafe impl Send for Flag {}
// SAFETY: as above.
unsafe impl Sync for Flag {}

impl Flag {
    fn write(&self, number: u32) {
        // SAFETY: it is valid and aligned, see above, and only accessed in this way.
        unsafe { AtomicU32::from_ptr(self.0) }.store(number, SeqCst);
    }
}

impl StreamGate {
    /// # Errors
    /// There is no page-locked memory, or the stream cannot wait for a value in it.
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Self, BenchError> {
        let allocate = "allocate page-locked memory";
        // SAFETY: any bits are a number, and it is written before it is waited for.
        let memory = unsafe { stream.context().alloc_pinned_with_flags::<u32>(1, PLAIN) };
        let mut memory = memory.to(allocate)?;
        let flag = Flag(memory.as_mut_ptr().to(allocate)?);
        flag.write(0);
        let shared = Arc::new(GateState {
            flag,
            held: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let watched = Arc::clone(&shared);
        let watcher = thread::Builder::new()
            .name("gpuprof bench gate".to_owned())
            .spawn(move || watch(&watched))
            .map_err(|error| BenchError::Setting(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            stream: Arc::clone(stream),
            _memory: memory,
            shared,
            watcher: Some(watcher),
        })
    }

    /// Holds the stream behind what is queued now.
    ///
    /// # Errors
    /// The stream cannot wait for a value.
    pub(crate) fn close(&mut self) -> Result<(), BenchError> {
        let number = {
            let mut held = self.shared.held();
            held.number = held.number.wrapping_add(1);
            held.is_forced = false;
            held.number
        };
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
        self.shared.held().deadline = Some(Instant::now() + PATIENCE);
    }

    /// Lets the stream go on. False if it had to be let go before.
    pub(crate) fn open(&self) -> bool {
        let mut held = self.shared.held();
        held.deadline = None;
        self.shared.flag.write(held.number);
        !held.is_forced
    }
}

fn watch(shared: &GateState) {
    while !shared.is_over.load(Acquire) {
        thread::park_timeout(LOOK);
        let mut held = shared.held();
        if held
            .deadline
            .is_some_and(|deadline| Instant::now() > deadline)
        {
            held.deadline = None;
            held.is_forced = true;
            shared.flag.write(held.number);
        }
    }
}

impl Drop for StreamGate {
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
