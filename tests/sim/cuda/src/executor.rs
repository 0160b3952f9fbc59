//! Deferred work: a launch is cheap for its caller, as on a real device, and its result is computed
//! when somebody needs it. One queue in the order of the calls serves all devices, so that copies
//! between devices and waits across them come out right; modelled time is independent of it.
//!
//! The executor lock is taken before the state lock, never the other way round, and the state lock
//! is not held while a kernel computes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::{Answer, Handle, Host};
use crate::clock;
use crate::kernels::Launch;
use crate::state;

/// So many operations of all streams wait before they are worked off. What a stream takes in
/// modelled time is `room`'s.
const DEPTH: usize = 1024;
/// Host memory that waits in the queue, in bytes, before it is worked off.
const BYTES: usize = 256 << 20;

static EXECUTOR: Mutex<()> = Mutex::new(());
static FULL: AtomicBool = AtomicBool::new(false);

/// What waits to be computed.
pub(crate) struct Queue {
    operations: VecDeque<(Handle, Task)>,
    bytes: usize,
    downloads: usize,
}

/// One deferred operation.
pub(crate) enum Task {
    Launch(Launch),
    Upload {
        target: u64,
        bytes: Vec<u8>,
    },
    Download {
        target: Host,
        source: u64,
        len: usize,
    },
    Copy {
        target: u64,
        source: u64,
        len: usize,
    },
    Fill {
        target: u64,
        value: u8,
        len: usize,
    },
    Free {
        address: u64,
        len: usize,
    },
}

impl Queue {
    /// Nothing waiting.
    pub(crate) const fn new() -> Queue {
        Queue {
            operations: VecDeque::new(),
            bytes: 0,
            downloads: 0,
        }
    }

    /// Appends `task`, whose faults go to `context`.
    pub(crate) fn push(&mut self, context: Handle, task: Task) {
        self.bytes += task.bytes();
        self.downloads += usize::from(matches!(task, Task::Download { .. }));
        self.operations.push_back((context, task));
        if self.operations.len() >= DEPTH || self.bytes >= BYTES {
            FULL.store(true, Ordering::Release);
        }
    }

    /// Whether something waits that the host can see without asking the driver again.
    pub(crate) fn has_downloads(&self) -> bool {
        self.downloads > 0
    }

    fn pop(&mut self) -> Option<(Handle, Task)> {
        let operation = self.operations.pop_front()?;
        self.bytes -= operation.1.bytes();
        self.downloads -= usize::from(matches!(operation.1, Task::Download { .. }));
        Some(operation)
    }
}

impl Task {
    /// Host memory that goes once it has run, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Task::Upload { bytes, .. } => bytes.len(),
            Task::Free { len, .. } => *len,
            _ => 0,
        }
    }

    fn run(&self) -> Answer {
        let reach = |address, len| state::lock().memory.resolve(address, len);
        match self {
            Task::Launch(launch) => launch.run(&reach)?,
            Task::Upload { target, bytes } => {
                Host(reach(*target, bytes.len())?.cast()).fill_from(bytes.as_ptr(), bytes.len());
            }
            Task::Download {
                target,
                source,
                len,
            } => target.fill_from(reach(*source, *len)?, *len),
            Task::Copy {
                target,
                source,
                len,
            } => {
                let source = reach(*source, *len)?;
                Host(reach(*target, *len)?.cast()).fill_from(source, *len);
            }
            Task::Fill { target, value, len } => {
                let target = reach(*target, *len)?;
                // SAFETY: the memory map checked that `len` bytes lie in one allocation, which only
                // this executor frees.
                unsafe { target.write_bytes(*value, *len) };
            }
            Task::Free { address, .. } => state::lock().memory.remove(*address),
        }
        Ok(())
    }
}

/// Computes everything that waits. A fault is stored in its context, whose later operations are
/// dropped. Must be called without the state lock.
pub(crate) fn drain() {
    drain_then(|| ());
}

/// Computes everything that waits, then does `last` before any other thread computes: for what
/// takes memory away. Must be called without the state lock.
pub(crate) fn drain_then<T>(last: impl FnOnce() -> T) -> T {
    let _alone = EXECUTOR.lock().unwrap_or_else(PoisonError::into_inner);
    FULL.store(false, Ordering::Release);
    let _no_time_passes = clock::StandStill::begin();
    while let Some((context, task)) = next() {
        if let Err(code) = task.run() {
            state::lock().poison(context, code);
        }
    }
    last()
}

/// The first waiting operation of a context without a stored error; memory is freed in any case.
fn next() -> Option<(Handle, Task)> {
    let mut state = state::lock();
    loop {
        let (context, task) = state.queue.pop()?;
        if state.healthy(context).is_ok() || matches!(task, Task::Free { .. }) {
            return Some((context, task));
        }
    }
}

/// Works the queue off where it has grown too long. Must be called without the state lock.
pub(crate) fn relieve() {
    if FULL.load(Ordering::Acquire) {
        drain();
    }
}

/// Computes everything that waits, lets modelled time reach `tail` and answers the stored error of
/// `context`: what every synchronizing call does. Must be called without the state lock.
pub(crate) fn settle(context: Handle, tail: u64) -> Answer {
    drain();
    clock::wait_until(tail);
    state::lock().healthy(context)
}
