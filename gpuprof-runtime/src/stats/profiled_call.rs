//! Calls of profiled functions as CUPTI's records are attributed to them: by id.
//!
//! The open calls of a thread are frames of its stack in `gpu`. Only the id of the innermost one is
//! stored here, for the CUDA calls that the thread makes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::call_outcome::GpuOutcome;
use super::path_ids::ROOT;
use crate::site::Site;

/// The low bits of a call's id are its site's, so that records of a running call find its function.
const SITE_BITS: u32 = 20;

/// Ids that a thread reserves at once.
const ID_BLOCK: u64 = 1024;

/// The next free id, without the site's bits; 0 is no call.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The innermost open call. Not in the frame stack, because CUPTI calls back while that is
    /// borrowed.
    static INNERMOST: Cell<CallPosition> = const { Cell::new(CallPosition { id: 0, path: ROOT }) };
}

/// A call of a profiled function, by its id and its call path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallPosition {
    /// 0 for none.
    pub(crate) id: u64,
    pub(crate) path: u32,
}

/// A profiled call that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProfiledCall {
    id: u64,
    path: u32,
    /// The id of the enclosing call; 0 for none.
    parent: u64,
    /// Whether no enclosing call is of the same site.
    is_outermost: bool,
    /// The site's first call in the process.
    is_first: bool,
}

/// A profiled call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedCall {
    pub(crate) id: u64,
    pub(crate) path: u32,
    /// The id of the enclosing call; 0 for none.
    pub(crate) parent: u64,
    /// Whether no enclosing call is of the same site.
    pub(crate) is_outermost: bool,
    /// Its event pair was submitted.
    pub(crate) is_timed: bool,
    /// Sampling left it out.
    pub(crate) is_left_out: bool,
    /// Its stream was being captured: what it launched did not run.
    pub(crate) is_captured: bool,
    pub(crate) cpu_ticks: u64,
    /// The site's first call in the process.
    pub(crate) is_first: bool,
    /// The window that counts it.
    pub(crate) epoch: u32,
}

impl EndedCall {
    pub(crate) fn new(call: ProfiledCall, outcome: GpuOutcome, cpu_ticks: u64, epoch: u32) -> Self {
        Self {
            id: call.id,
            path: call.path,
            parent: call.parent,
            is_outermost: call.is_outermost,
            is_timed: outcome == GpuOutcome::Submitted,
            is_left_out: matches!(outcome, GpuOutcome::Untimed(reason) if reason.is_by_sampling()),
            is_captured: matches!(outcome, GpuOutcome::Captured { .. }),
            cpu_ticks,
            is_first: call.is_first,
            epoch,
        }
    }
}

/// Ids that a thread has reserved and not used yet.
#[derive(Debug, Default)]
pub(crate) struct ReservedIds {
    next: u64,
    end: u64,
}

impl ReservedIds {
    fn take(&mut self) -> u64 {
        if self.next == self.end {
            self.next = NEXT_ID.fetch_add(ID_BLOCK, Relaxed);
            self.end = self.next + ID_BLOCK;
        }
        self.next += 1;
        self.next - 1
    }
}

/// The site of the call with this id.
pub(crate) fn site_of(call: u64) -> u32 {
    (call & ((1 << SITE_BITS) - 1)) as u32
}

impl ProfiledCall {
    /// Begins a call of `site` on `path` inside the open calls `enclosing`, of which the innermost
    /// comes first. `None` if the program has more than a million sites.
    pub(crate) fn begin(
        site: &Site,
        path: u32,
        ids: &mut ReservedIds,
        enclosing: impl Iterator<Item = Self>,
    ) -> Option<Self> {
        let is_first = site.is_first_call();
        let site = site.id().filter(|site| site >> SITE_BITS == 0)?;
        let mut enclosing = enclosing.peekable();
        let parent = enclosing.peek().map_or(0, |call| call.id);
        Some(Self {
            id: ids.take() << SITE_BITS | u64::from(site),
            path,
            parent,
            is_outermost: !enclosing.any(|call| site_of(call.id) == site),
            is_first,
        })
    }
}

#[cfg(test)]
impl ProfiledCall {
    pub(crate) fn with_id(id: u64) -> Self {
        Self {
            id,
            path: ROOT,
            parent: 0,
            is_outermost: true,
            is_first: false,
        }
    }
}

/// Makes `call` the one that CUDA calls of this thread are attributed to.
#[inline]
pub(crate) fn set_innermost(call: Option<ProfiledCall>) {
    let position = call.map(|call| CallPosition {
        id: call.id,
        path: call.path,
    });
    INNERMOST.set(position.unwrap_or_default());
}

/// The innermost call on this thread.
pub(crate) fn innermost() -> CallPosition {
    INNERMOST.get()
}
