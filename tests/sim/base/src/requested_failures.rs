//! Calls that a test asks to fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The requested failures of a library's functions, by the index of the function; `C` is the type
/// of its result codes.
#[derive(Debug)]
pub struct RequestedFailures<C> {
    rules: Mutex<Vec<Rule<C>>>,
    /// Whether there is a rule: most calls take no lock.
    any: AtomicBool,
}

/// After `pass` more calls of `function`, `times` calls return `code`.
#[derive(Debug)]
struct Rule<C> {
    function: usize,
    pass: u64,
    times: u64,
    code: C,
}

impl<C: Copy> RequestedFailures<C> {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            rules: Mutex::new(Vec::new()),
            any: AtomicBool::new(false),
        }
    }

    /// Makes the `nth` call of `function` from now (1-based) and the `times - 1` after it return
    /// `code`.
    pub fn add(&self, function: usize, nth: u64, times: u64, code: C) {
        if times > 0 {
            let mut rules = self.lock();
            rules.push(Rule {
                function,
                pass: nth.saturating_sub(1),
                times,
                code,
            });
            self.any.store(true, Ordering::Release);
        }
    }

    /// What this call of `function` returns instead of doing its work; counts the call.
    pub fn take(&self, function: usize) -> Option<C> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut failure = None;
        let mut rules = self.lock();
        for rule in rules.iter_mut().filter(|rule| rule.function == function) {
            if rule.pass > 0 {
                rule.pass -= 1;
            } else if failure.is_none() {
                rule.times -= 1;
                failure = Some(rule.code);
            }
        }
        rules.retain(|rule| rule.times > 0);
        self.any.store(!rules.is_empty(), Ordering::Release);
        failure
    }

    /// Removes all.
    pub fn clear(&self) {
        let mut rules = self.lock();
        rules.clear();
        self.any.store(false, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Rule<C>>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Copy> Default for RequestedFailures<C> {
    fn default() -> Self {
        Self::new()
    }
}
