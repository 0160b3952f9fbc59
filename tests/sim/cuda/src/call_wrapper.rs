//! Around every driver call: it is counted, it takes modelled time, it fails if a test asked for
//! that, and a panic inside it becomes an error code. Uses nothing of the driver's state, so that
//! counts can be read while another thread is inside a call.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use simbase::requested_failures::RequestedFailures;

use crate::abi::Destructor;
use crate::clock;
use crate::function_names::{NAMES, Symbol};
use crate::result_codes::{Answer, Code};

const COUNT: usize = NAMES.len();

static CALLS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
static CALL_NS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
/// Incremented by each reset. A thread with counts of an older epoch clears them first.
static EPOCH: AtomicU64 = AtomicU64::new(1);
static IS_SHUT_DOWN: AtomicBool = AtomicBool::new(false);
/// Functions that a test declared potentially unsafe during a capture.
static DECLARED_UNSAFE: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
pub(crate) static FAILURES: RequestedFailures<i32> = RequestedFailures::new();

thread_local! {
    // They have no destructors, so that calls in exit handlers work.
    static THREAD_CALLS: [Cell<u64>; COUNT] = const { [const { Cell::new(0) }; COUNT] };
    static THREAD_EPOCH: Cell<u64> = const { Cell::new(0) };
}

/// Shuts the driver down for good: from now on every call returns DEINITIALIZED (API reference,
/// CUresult: "the CUDA driver is in the process of shutting down").
pub(crate) fn shut_down() {
    IS_SHUT_DOWN.store(true, Ordering::Release);
}

/// Whether a test declared `symbol` potentially unsafe during a capture.
pub(crate) fn declared_unsafe(symbol: Symbol) -> bool {
    DECLARED_UNSAFE[symbol.0].load(Ordering::Acquire)
}

/// Sets whether `symbol` is potentially unsafe during a capture.
pub(crate) fn forbid_during_capture(symbol: Symbol, is_unsafe: bool) {
    DECLARED_UNSAFE[symbol.0].store(is_unsafe, Ordering::Release);
}

/// Counts a call, lets its modelled time pass, and fails it if that was requested; otherwise runs
/// `body`. After shutdown it does nothing.
pub(crate) fn call(symbol: Symbol, body: impl FnOnce() -> Answer) -> i32 {
    count(symbol);
    clock::advance(CALL_NS[symbol.0].load(Ordering::Relaxed));
    if IS_SHUT_DOWN.load(Ordering::Acquire) {
        return Code::DEINITIALIZED.0;
    }
    if Destructor::is_running() {
        return Code::NOT_PERMITTED.0;
    }
    if let Some(code) = FAILURES.take(symbol.0) {
        return code;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code.0,
        Err(_) => Code::UNKNOWN.0,
    }
}

fn count(symbol: Symbol) {
    CALLS[symbol.0].fetch_add(1, Ordering::Relaxed);
    update_thread_counts();
    THREAD_CALLS.with(|calls| calls[symbol.0].set(calls[symbol.0].get() + 1));
}

fn update_thread_counts() {
    let epoch = EPOCH.load(Ordering::Acquire);
    if THREAD_EPOCH.replace(epoch) != epoch {
        THREAD_CALLS.with(|calls| calls.iter().for_each(|count| count.set(0)));
    }
}

/// Calls of `symbol` since the library was loaded or the counts were reset.
pub(crate) fn calls(symbol: Symbol) -> u64 {
    CALLS[symbol.0].load(Ordering::Relaxed)
}

/// The same for the calling thread.
pub(crate) fn calls_here(symbol: Symbol) -> u64 {
    update_thread_counts();
    THREAD_CALLS.with(|calls| calls[symbol.0].get())
}

/// Sets all counts to 0.
pub(crate) fn reset_calls() {
    EPOCH.fetch_add(1, Ordering::AcqRel);
    CALLS
        .iter()
        .for_each(|count| count.store(0, Ordering::Relaxed));
}

/// Sets how far a call of `symbol` advances the virtual clock, in ns, before its work.
pub(crate) fn set_call_ns(symbol: Symbol, ns: u64) {
    CALL_NS[symbol.0].store(ns, Ordering::Relaxed);
}
