//! The profiled calls that each thread is in, by id, so that a CUDA call finds the innermost one.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::cupti::collect::lifecycle;
use crate::site::Site;
use crate::stats::call::GpuOutcome;

/// The low bits of a call's id are its site's, so that records of a running call find its function.
const SITE_BITS: u32 = 20;

/// Ids that a thread reserves at once.
const ID_BLOCK: u64 = 1024;

/// The next free id, without the site's bits; 0 is no call.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack::new()) };
}

/// A profiled call that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProfiledCall {
    id: u64,
    /// The id of the call around it; 0 for none.
    parent: u64,
    /// No call of the same site is around it.
    is_outermost: bool,
    /// The site's first call in the process.
    is_first: bool,
}

/// A profiled call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedCall {
    pub(crate) id: u64,
    /// The id of the call around it; 0 for none.
    pub(crate) parent: u64,
    /// No call of the same site is around it.
    pub(crate) is_outermost: bool,
    /// Its event pair was submitted.
    pub(crate) is_timed: bool,
    /// Its stream was being captured: what it launched did not run.
    pub(crate) is_captured: bool,
    pub(crate) cpu_ns: u64,
    /// The site's first call in the process.
    pub(crate) is_first: bool,
    /// The window that counts it.
    pub(crate) epoch: u32,
}

impl EndedCall {
    pub(crate) fn new(call: ProfiledCall, outcome: GpuOutcome, cpu_ns: u64, epoch: u32) -> Self {
        Self {
            id: call.id,
            parent: call.parent,
            is_outermost: call.is_outermost,
            is_timed: outcome == GpuOutcome::Submitted,
            is_captured: matches!(outcome, GpuOutcome::Captured | GpuOutcome::InGraph),
            cpu_ns,
            is_first: call.is_first,
            epoch,
        }
    }
}

/// The open calls of a thread, innermost last, and its reserved ids.
#[derive(Debug)]
struct Stack {
    calls: Vec<ProfiledCall>,
    next_id: u64,
    reserved_end: u64,
}

impl Stack {
    const fn new() -> Self {
        Self {
            calls: Vec::new(),
            next_id: 0,
            reserved_end: 0,
        }
    }

    fn take_id(&mut self) -> u64 {
        if self.next_id == self.reserved_end {
            self.next_id = NEXT_ID.fetch_add(ID_BLOCK, Relaxed);
            self.reserved_end = self.next_id + ID_BLOCK;
        }
        self.next_id += 1;
        self.next_id - 1
    }
}

/// The site of the call with this id.
pub(crate) fn site_of(call: u64) -> u32 {
    (call & ((1 << SITE_BITS) - 1)) as u32
}

/// Starts a call of `site`. `None` if CUPTI does not run in this process, the thread is ending, or
/// the program has more than a million sites.
pub(crate) fn begin(site: &Site) -> Option<ProfiledCall> {
    // False in a forked child, where nobody takes ended calls off the queue.
    if !lifecycle::is_running() {
        return None;
    }
    let is_first = site.is_first_call();
    let site = site.id().filter(|site| site >> SITE_BITS == 0)?;
    with(|stack| ProfiledCall {
        id: stack.take_id() << SITE_BITS | u64::from(site),
        parent: stack.calls.last().map_or(0, |call| call.id),
        is_outermost: !stack.calls.iter().any(|call| site_of(call.id) == site),
        is_first,
    })
}

/// Enters `call` on this thread; returns its depth, for [`leave`]. `None` if it is deeper than
/// `max_depth`, or the thread is ending.
pub(crate) fn enter(call: ProfiledCall, max_depth: u32) -> Option<u32> {
    with(|stack| {
        let depth = u32::try_from(stack.calls.len()).ok()?;
        if depth > max_depth {
            return None;
        }
        stack.calls.push(call);
        Some(depth)
    })
    .flatten()
}

/// Leaves the call at `depth` and all calls inside it that were not left; returns the former.
/// `None` if it was already left together with a call around it.
pub(crate) fn leave(depth: u32) -> Option<ProfiledCall> {
    with(|stack| {
        let call = stack.calls.get(depth as usize).copied();
        stack.calls.truncate(depth as usize);
        call
    })
    .flatten()
}

/// The id of the innermost call on this thread; 0 for none.
pub(crate) fn innermost() -> u64 {
    let id = |stack: &mut Stack| stack.calls.last().map(|call| call.id);
    with(id).flatten().unwrap_or(0)
}

fn with<R>(f: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    STACK
        .try_with(|stack| Some(f(&mut *stack.try_borrow_mut().ok()?)))
        .ok()
        .flatten()
}
