//! Which calls of profiled functions are under way on a thread, by numbers, so that CUDA calls find the one that they are made in.
//!
//! Must not import span, collector or report.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::cupti::collect::subscriber;
use crate::site::Site;
use crate::stats::call::GpuOutcome;

/// Bits of a call's number that are its site's: records of a call that is still running thus find their function.
const SITE_BITS: u32 = 20;

/// Numbers that a thread takes at once.
const BLOCK: u64 = 1024;

/// Counts the rest of all calls' numbers; 0 is no call.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack::new()) };
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Its number.
    number: u64,
    /// That of the call around it; 0 for none.
    parent: u64,
    /// No call of the same site is around it.
    outermost: bool,
    /// The site's first call in the process.
    first: bool,
}

/// What is known of a call of a profiled function when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its number.
    pub(crate) call: u64,
    /// That of the call around it; 0 for none.
    pub(crate) parent: u64,
    /// No call of the same site is around it.
    pub(crate) outermost: bool,
    /// Its pair of events was handed over.
    pub(crate) timed: bool,
    /// Its stream was being captured: what it launched ran in no way yet.
    pub(crate) captured: bool,
    pub(crate) cpu_ns: u64,
    /// The site's first call in the process.
    pub(crate) first: bool,
    /// The window it is booked in.
    pub(crate) epoch: u32,
}

impl Ended {
    pub(crate) fn of(call: Call, outcome: GpuOutcome, cpu_ns: u64, epoch: u32) -> Self {
        Self {
            call: call.number,
            parent: call.parent,
            outermost: call.outermost,
            timed: outcome == GpuOutcome::Submitted,
            captured: matches!(outcome, GpuOutcome::Captured | GpuOutcome::InGraph),
            cpu_ns,
            first: call.first,
            epoch,
        }
    }
}

/// The calls under way on a thread, innermost last, and the numbers that it has left.
#[derive(Debug)]
struct Stack {
    calls: Vec<Call>,
    next: u64,
    end: u64,
}

impl Stack {
    const fn new() -> Self {
        Self {
            calls: Vec::new(),
            next: 0,
            end: 0,
        }
    }

    fn number(&mut self) -> u64 {
        if self.next == self.end {
            self.next = NEXT.fetch_add(BLOCK, Relaxed);
            self.end = self.next + BLOCK;
        }
        self.next += 1;
        self.next - 1
    }
}

/// The site of the call of this number.
pub(crate) fn site_of(call: u64) -> u32 {
    (call & ((1 << SITE_BITS) - 1)) as u32
}

/// A number for a call of `site` that begins here. `None`: CUPTI does not run here, the thread is ending, or the
/// program has a million sites.
pub(crate) fn begin(site: &Site) -> Option<Call> {
    // In a forked child it does not run, and nobody takes what ended.
    if !subscriber::is_running() {
        return None;
    }
    let first = site.is_first_call();
    let site = site.id().filter(|site| site >> SITE_BITS == 0)?;
    with(|stack| Call {
        number: stack.number() << SITE_BITS | u64::from(site),
        parent: stack.calls.last().map_or(0, |call| call.number),
        outermost: !stack.calls.iter().any(|call| site_of(call.number) == site),
        first,
    })
}

/// Goes into `call` on this thread; returns how many are around it, which [`leave`] takes. `None`: more than `deepest`, or
/// the thread is ending.
pub(crate) fn enter(call: Call, deepest: u32) -> Option<u32> {
    with(|stack| {
        let depth = u32::try_from(stack.calls.len()).ok()?;
        if depth > deepest {
            return None;
        }
        stack.calls.push(call);
        Some(depth)
    })
    .flatten()
}

/// Goes back out to `depth`, past whatever was not left before, and returns the call that is left. `None`: something further
/// out was left already, and it with that.
pub(crate) fn leave(depth: u32) -> Option<Call> {
    with(|stack| {
        let left = stack.calls.get(depth as usize).copied();
        stack.calls.truncate(depth as usize);
        left
    })
    .flatten()
}

/// The number of the innermost call on this thread, 0 for none.
pub(crate) fn innermost() -> u64 {
    let number = |stack: &mut Stack| stack.calls.last().map(|call| call.number);
    with(number).flatten().unwrap_or(0)
}

fn with<R>(f: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    STACK
        .try_with(|stack| Some(f(&mut *stack.try_borrow_mut().ok()?)))
        .ok()
        .flatten()
}
