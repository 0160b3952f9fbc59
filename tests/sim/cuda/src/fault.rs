//! What happens around every driver call: it is counted, it costs modelled time, it fails when a
//! test asks for that, and a panic inside it becomes an error code. Must never import driver state,
//! so that the counters can be read while another thread is inside a call.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Answer;
use crate::clock;
use crate::codes::Code;
use crate::graph;
use crate::symbols::{NAMES, Symbol};

const COUNT: usize = NAMES.len();

static CALLS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
static COSTS_NS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
/// Rises with each reset; a thread whose own counts are of an older epoch starts at 0 again.
static EPOCH: AtomicU64 = AtomicU64::new(1);
/// The driver has been torn down.
static DOWN: AtomicBool = AtomicBool::new(false);
/// Functions that a test declares potentially unsafe during a capture, where documents do not say.
static DECLARED_UNSAFE: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
static ANY_RULE: AtomicBool = AtomicBool::new(false);
static RULES: Mutex<Vec<Rule>> = Mutex::new(Vec::new());

thread_local! {
    // Without destructors: calls from exit handlers still find them.
    static CALLS_HERE: [Cell<u64>; COUNT] = const { [const { Cell::new(0) }; COUNT] };
    static EPOCH_HERE: Cell<u64> = const { Cell::new(0) };
}

/// An order to fail: after `pass` more calls of `symbol`, `times` calls answer `code`.
struct Rule {
    symbol: Symbol,
    pass: u64,
    times: u64,
    code: i32,
}

/// Tears the driver down: from now on every call answers DEINITIALIZED (API reference, CUresult:
/// "the CUDA driver is in the process of shutting down"). Nothing brings it back.
pub(crate) fn shut_down() {
    DOWN.store(true, Ordering::Release);
}

/// Whether a test declared `symbol` potentially unsafe during a capture.
pub(crate) fn declared_unsafe(symbol: Symbol) -> bool {
    DECLARED_UNSAFE[symbol.0].load(Ordering::Acquire)
}

/// Declares `symbol` potentially unsafe during a capture, or takes that back.
pub(crate) fn declare_unsafe(symbol: Symbol, potentially: bool) {
    DECLARED_UNSAFE[symbol.0].store(potentially, Ordering::Release);
}

/// Runs one driver function: counts it, lets its modelled cost pass, then fails it by order or runs
/// `body`. After the driver's end it does nothing.
pub(crate) fn call(symbol: Symbol, body: impl FnOnce() -> Answer) -> i32 {
    count(symbol);
    clock::advance(COSTS_NS[symbol.0].load(Ordering::Relaxed));
    if DOWN.load(Ordering::Acquire) {
        return Code::DEINITIALIZED.0;
    }
    if graph::in_destructor() {
        return Code::NOT_PERMITTED.0;
    }
    if let Some(code) = ordered_failure(symbol) {
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
    renew_here();
    CALLS_HERE.with(|calls| calls[symbol.0].set(calls[symbol.0].get() + 1));
}

fn renew_here() {
    let epoch = EPOCH.load(Ordering::Acquire);
    if EPOCH_HERE.replace(epoch) != epoch {
        CALLS_HERE.with(|calls| calls.iter().for_each(|count| count.set(0)));
    }
}

fn ordered_failure(symbol: Symbol) -> Option<i32> {
    if !ANY_RULE.load(Ordering::Acquire) {
        return None;
    }
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
    ANY_RULE.store(!rules.is_empty(), Ordering::Release);
    failure
}

/// Orders the `nth` call of `symbol` from now (1-based) and the `times - 1` after it to answer
/// `code`.
pub(crate) fn order(symbol: Symbol, nth: u64, times: u64, code: i32) {
    if times > 0 {
        let mut rules = rules();
        rules.push(Rule {
            symbol,
            pass: nth.saturating_sub(1),
            times,
            code,
        });
        ANY_RULE.store(true, Ordering::Release);
    }
}

/// Forgets every order to fail.
pub(crate) fn clear_orders() {
    let mut rules = rules();
    rules.clear();
    ANY_RULE.store(false, Ordering::Release);
}

/// Calls of `symbol` since the library was loaded or the counts were reset.
pub(crate) fn calls(symbol: Symbol) -> u64 {
    CALLS[symbol.0].load(Ordering::Relaxed)
}

/// The same, made by the calling thread.
pub(crate) fn calls_here(symbol: Symbol) -> u64 {
    renew_here();
    CALLS_HERE.with(|calls| calls[symbol.0].get())
}

/// Sets all counts to 0.
pub(crate) fn reset_calls() {
    EPOCH.fetch_add(1, Ordering::AcqRel);
    CALLS
        .iter()
        .for_each(|count| count.store(0, Ordering::Relaxed));
}

/// How far a call of `symbol` advances the virtual clock, in ns, before it does its work.
pub(crate) fn set_cost(symbol: Symbol, ns: u64) {
    COSTS_NS[symbol.0].store(ns, Ordering::Relaxed);
}

fn rules() -> MutexGuard<'static, Vec<Rule>> {
    RULES.lock().unwrap_or_else(PoisonError::into_inner)
}
