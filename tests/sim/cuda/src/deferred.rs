//! The queue of operations whose results the host has not computed yet. One queue in the order of
//! the calls serves all devices, so that copies and waits between devices give the right results.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::{Handle, HostPointer};
use crate::kernels::Launch;

/// The queue is full with this many operations of all streams. `stream_queue` models how many
/// operations a stream of a real device takes.
const MAX_OPERATIONS: usize = 1024;
/// The queue is full with this many bytes of host memory.
const MAX_BYTES: usize = 256 << 20;

static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Operations to be computed, each with the context in which its faults are stored.
pub(crate) struct DeferredQueue {
    tasks: VecDeque<(Handle, Task)>,
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
        target: HostPointer,
        source: u64,
        len: usize,
    },
    Copy {
        target: u64,
        source: u64,
        len: usize,
    },
    Memset {
        target: u64,
        value: u8,
        len: usize,
    },
    Free {
        address: u64,
        len: usize,
    },
}

/// Whether the queue should be drained.
pub(crate) fn is_full() -> bool {
    IS_FULL.load(Ordering::Acquire)
}

/// Says that the queue is about to be drained.
pub(crate) fn clear_full() {
    IS_FULL.store(false, Ordering::Release);
}

impl DeferredQueue {
    pub(crate) const fn new() -> DeferredQueue {
        DeferredQueue {
            tasks: VecDeque::new(),
            bytes: 0,
            downloads: 0,
        }
    }

    /// Appends `task`, whose faults are stored in `context`.
    pub(crate) fn push(&mut self, context: Handle, task: Task) {
        self.bytes += task.bytes();
        self.downloads += usize::from(matches!(task, Task::Download { .. }));
        self.tasks.push_back((context, task));
        if self.tasks.len() >= MAX_OPERATIONS || self.bytes >= MAX_BYTES {
            IS_FULL.store(true, Ordering::Release);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<(Handle, Task)> {
        let task = self.tasks.pop_front()?;
        self.bytes -= task.1.bytes();
        self.downloads -= usize::from(matches!(task.1, Task::Download { .. }));
        Some(task)
    }

    /// Whether the queue contains a write to host memory, which the caller can observe without
    /// another driver call.
    pub(crate) fn has_downloads(&self) -> bool {
        self.downloads > 0
    }
}

impl Task {
    /// Host memory that is freed once the task has run, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Task::Upload { bytes, .. } => bytes.len(),
            Task::Free { len, .. } => *len,
            _ => 0,
        }
    }
}
