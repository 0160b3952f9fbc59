//! Computes deferred operations. A launch returns to its caller at once, as on a real device; the
//! host computes its result when it is needed. Modelled time does not depend on that.
//!
//! The executor lock is taken before the state lock, never after it, and the state lock is not held
//! while a kernel computes. All functions here must be called without the state lock.

use std::sync::{Mutex, PoisonError};

use crate::abi::{Handle, HostPointer};
use crate::clock;
use crate::deferred::{self, Task};
use crate::result_codes::Answer;
use crate::state;
use crate::stream_gate;

static EXECUTOR: Mutex<()> = Mutex::new(());

/// Computes all deferred operations. A fault is stored in its context, whose later operations are
/// discarded.
pub(crate) fn drain() {
    drain_then(|| ());
}

/// Computes all deferred operations, then runs `last` before another thread computes: for what
/// frees memory.
pub(crate) fn drain_then<T>(last: impl FnOnce() -> T) -> T {
    let _executor = EXECUTOR.lock().unwrap_or_else(PoisonError::into_inner);
    deferred::clear_full();
    let _pause = clock::Pause::new();
    while let Some((context, task)) = next() {
        if let Err(code) = run(&task) {
            state::lock().set_sticky_error(context, code);
        }
    }
    last()
}

/// Drains the queue if it is full.
pub(crate) fn drain_if_full() {
    if deferred::is_full() {
        drain();
    }
}

/// What every synchronizing call does: computes all deferred operations, waits until modelled time
/// is `tail`, and returns the stored error of `context`.
pub(crate) fn synchronize(context: Handle, tail: u64) -> Answer {
    drain();
    stream_gate::wait_until(tail);
    state::lock().check_sticky_error(context)
}

/// The next operation of a context without a stored error. Memory is freed in any case.
fn next() -> Option<(Handle, Task)> {
    let mut state = state::lock();
    loop {
        let (context, task) = state.deferred.pop()?;
        if state.check_sticky_error(context).is_ok() || matches!(task, Task::Free { .. }) {
            return Some((context, task));
        }
    }
}

fn run(task: &Task) -> Answer {
    let resolve = |address, len| state::lock().memory.resolve(address, len);
    match task {
        Task::Launch(launch) => launch.run(&resolve)?,
        Task::Upload { target, bytes } => {
            let target = HostPointer(resolve(*target, bytes.len())?.cast());
            target.copy_from(bytes.as_ptr(), bytes.len());
        }
        Task::Download {
            target,
            source,
            len,
        } => target.copy_from(resolve(*source, *len)?, *len),
        Task::Copy {
            target,
            source,
            len,
        } => {
            let source = resolve(*source, *len)?;
            HostPointer(resolve(*target, *len)?.cast()).copy_from(source, *len);
        }
        Task::Memset { target, value, len } => {
            let target = resolve(*target, *len)?;
            // SAFETY: `resolve` checked that `len` bytes are in one allocation, which only the
            // executor frees.
            unsafe { target.write_bytes(*value, *len) };
        }
        Task::Free { address, .. } => state::lock().memory.remove(*address),
    }
    Ok(())
}
