//! Around every call: it is counted, it fails if a test asked for that, and a panic inside it
//! becomes an error code. Uses nothing of the library's state, so that counts can be read while
//! another thread is inside a call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use simbase::requested_failures::RequestedFailures;

use crate::function_names::{NAMES, Symbol};
use crate::result_codes::{Answer, Code};

static CALLS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
/// How long each call of a function takes of the host's time, ms.
static DELAYS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
pub(crate) static FAILURES: RequestedFailures<u32> = RequestedFailures::new();

/// Counts a call, delays it, and fails it if that was requested; otherwise runs `body`.
pub(crate) fn call(symbol: Symbol, body: impl FnOnce() -> Answer) -> u32 {
    CALLS[symbol.0].fetch_add(1, Ordering::Relaxed);
    let delay = DELAYS[symbol.0].load(Ordering::Relaxed);
    if delay > 0 {
        thread::sleep(Duration::from_millis(delay));
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

/// Calls of `symbol` since the library was loaded or the counts were reset.
pub(crate) fn calls(symbol: Symbol) -> u64 {
    CALLS[symbol.0].load(Ordering::Relaxed)
}

/// From now on each call of `symbol` takes so long.
pub(crate) fn delay(symbol: Symbol, ms: u64) {
    DELAYS[symbol.0].store(ms, Ordering::Relaxed);
}

pub(crate) fn reset_calls() {
    CALLS
        .iter()
        .for_each(|count| count.store(0, Ordering::Relaxed));
}
