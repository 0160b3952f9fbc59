//! Around every call: it is counted, it fails if a test asked for that, and a panic inside it
//! becomes an error code. Uses nothing of the library's state, so that counts can be read while
//! another thread is inside a call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::function_names::{NAMES, Symbol};
use crate::result_codes::{Answer, Code};

static CALLS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
static RULES: Mutex<Vec<Rule>> = Mutex::new(Vec::new());

/// A requested failure: after `pass` more calls of `symbol`, `times` calls return `code`.
struct Rule {
    symbol: Symbol,
    pass: u64,
    times: u64,
    code: u32,
}

/// Counts a call, and fails it if that was requested; otherwise runs `body`.
pub(crate) fn call(symbol: Symbol, body: impl FnOnce() -> Answer) -> u32 {
    CALLS[symbol.0].fetch_add(1, Ordering::Relaxed);
    if let Some(code) = take_requested_failure(symbol) {
        return code;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code.0,
        Err(_) => Code::UNKNOWN.0,
    }
}

fn take_requested_failure(symbol: Symbol) -> Option<u32> {
    let mut failure = None;
    let mut rules = rules();
    for rule in rules.iter_mut().filter(|rule| rule.symbol == symbol) {
        if rule.pass > 0 {
            rule.pass -= 1;
        } else if failure.is_none() {
            rule.times -= 1;
            failure = Some(rule.code);
        }
    }
    rules.retain(|rule| rule.times > 0);
    failure
}

/// Makes the `nth` call of `symbol` from now (1-based) and the `times - 1` after it return `code`.
pub(crate) fn request_failure(symbol: Symbol, nth: u64, times: u64, code: u32) {
    if times > 0 {
        rules().push(Rule {
            symbol,
            pass: nth.saturating_sub(1),
            times,
            code,
        });
    }
}

pub(crate) fn clear_failures() {
    rules().clear();
}

/// Calls of `symbol` since the library was loaded or the counts were reset.
pub(crate) fn calls(symbol: Symbol) -> u64 {
    CALLS[symbol.0].load(Ordering::Relaxed)
}

pub(crate) fn reset_calls() {
    CALLS
        .iter()
        .for_each(|count| count.store(0, Ordering::Relaxed));
}

fn rules() -> MutexGuard<'static, Vec<Rule>> {
    RULES.lock().unwrap_or_else(PoisonError::into_inner)
}
