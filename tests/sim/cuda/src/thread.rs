//! What belongs to the calling thread: its number, its stack of current contexts, and its capture
//! interaction mode. No thread-local has a destructor, so that calls in exit handlers work.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::abi::Handle;
use crate::result_codes::{Answer, Code};

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`; 1 is THREAD_LOCAL.
pub(crate) const GLOBAL: i32 = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub(crate) const RELAXED: i32 = 2;

/// A real driver takes longer than this to create a context.
const SHORTEST_CREATION: Duration = Duration::from_millis(50);

/// The largest number of contexts on a thread's stack.
const MAX_CONTEXTS: usize = 32;

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static CONTEXTS: [Cell<Handle>; MAX_CONTEXTS] =
        const { [const { Cell::new(0) }; MAX_CONTEXTS] };
    static CONTEXT_COUNT: Cell<usize> = const { Cell::new(0) };
    static CAPTURE_MODE: Cell<i32> = const { Cell::new(GLOBAL) };
    static LAST_TOLD_OF: Cell<Option<(u64, Instant)>> = const { Cell::new(None) };
}

/// Notes that `cuCtxGetId` tells the calling thread that the context with this id lives.
pub(crate) fn note_told_of(context_id: u64) {
    LAST_TOLD_OF.set(Some((context_id, Instant::now())));
}

/// Whether the calling thread was told that this context lives so recently that no other can have
/// been created since its end: here that takes no time, and so a thread that asks before each call,
/// as nobody can do better, would meet the next one now and then.
pub(crate) fn was_just_told_of(context_id: u64) -> bool {
    LAST_TOLD_OF
        .get()
        .is_some_and(|(id, at)| id == context_id && at.elapsed() < SHORTEST_CREATION)
}

/// The number of the calling thread, from 1.
pub(crate) fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    if NUMBER.get() == 0 {
        NUMBER.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    NUMBER.get()
}

/// The calling thread's current context, or 0. It may have been destroyed.
pub(crate) fn current_context() -> Handle {
    match CONTEXT_COUNT.get() {
        0 => 0,
        count => CONTEXTS.with(|contexts| contexts[count - 1].get()),
    }
}

/// Pushes `context` on the calling thread's stack; OUT_OF_MEMORY if the stack is full.
pub(crate) fn push_context(context: Handle) -> Answer {
    let count = CONTEXT_COUNT.get();
    CONTEXTS.with(|contexts| match contexts.get(count) {
        Some(slot) => {
            slot.set(context);
            CONTEXT_COUNT.set(count + 1);
            Ok(())
        }
        None => Err(Code::OUT_OF_MEMORY),
    })
}

/// Pops the calling thread's current context; `None` if the stack is empty.
pub(crate) fn pop_context() -> Option<Handle> {
    let popped = current_context();
    CONTEXT_COUNT.set(CONTEXT_COUNT.get().saturating_sub(1));
    (popped != 0).then_some(popped)
}

/// `cuCtxSetCurrent`: replaces the top of the stack, or pops it if `context` is 0.
pub(crate) fn set_current_context(context: Handle) -> Answer {
    pop_context();
    if context == 0 {
        Ok(())
    } else {
        push_context(context)
    }
}

/// The calling thread's capture interaction mode.
pub(crate) fn capture_mode() -> i32 {
    CAPTURE_MODE.get()
}

/// Sets the calling thread's capture interaction mode and returns the former one.
pub(crate) fn exchange_capture_mode(mode: i32) -> Answer<i32> {
    if (GLOBAL..=RELAXED).contains(&mode) {
        Ok(CAPTURE_MODE.replace(mode))
    } else {
        Err(Code::INVALID_VALUE)
    }
}
