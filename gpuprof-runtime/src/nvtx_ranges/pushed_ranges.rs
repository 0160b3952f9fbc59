//! Ranges that a thread has pushed: calls, which nest.
//!
//! NVTX has a stack for each domain. A call ends when those inside it have, whichever domain they
//! are of.

use std::cell::{Cell, RefCell};

use super::names::{Domain, RangeSite};
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::os::own_work::{self, OwnWork};
use crate::recorder::CallArguments;
use crate::site::labels::LabelNumber;
use crate::span::Span;
use crate::span::nested_calls::{NestedCall, NestedCalls};
use crate::span::thread_state::prepare_thread;
use crate::stats::call_outcome::StatedWork;

/// Ranges that a thread has open; those pushed beyond are counted as skipped.
const MAX_OPEN_RANGES: usize = 512;
/// Of those, the ones whose pops are told from those of others.
const MAX_IGNORED_RANGES: usize = 65_536;

struct PushedRange {
    domain: *const Domain,
    has_ended: bool,
    call: Span,
}

impl NestedCall for PushedRange {
    fn is_over(&self) -> bool {
        self.has_ended
    }

    fn end(&mut self) {
        self.call = Span::off();
    }
}

struct PushedRanges {
    calls: NestedCalls<PushedRange>,
    /// The domains of those beyond the limit, which are not measured.
    ignored: Vec<*const Domain>,
}

thread_local! {
    /// Without a destructor, unlike the list.
    static HAS_PUSHED: Cell<bool> = const { Cell::new(false) };
    static PUSHED: RefCell<PushedRanges> = const {
        RefCell::new(PushedRanges { calls: NestedCalls::NEW, ignored: Vec::new() })
    };
}

/// Runs `with` unless the thread ends, or is in here already by an allocator of the program's.
fn with_ranges<T>(with: impl FnOnce(&mut PushedRanges) -> Option<T>) -> Option<T> {
    // The lists grow: an allocator of the program's must not come back to them.
    let _own = OwnWork::begin();
    let borrowed = |ranges: &RefCell<PushedRanges>| with(&mut *ranges.try_borrow_mut().ok()?);
    PUSHED.try_with(borrowed).ok().flatten()
}

/// This thread pushes a range.
pub fn push(domain: &Domain, site: RangeSite) {
    if !HAS_PUSHED.replace(true) {
        prepare_thread();
    }
    let spare = with_ranges(|ranges| {
        if ranges.calls.open.len() < MAX_OPEN_RANGES {
            return Some(ranges.calls.take_spare());
        }
        own_work::count_skipped();
        if ranges.ignored.len() < MAX_IGNORED_RANGES {
            ranges.ignored.push(domain);
        }
        None
    });
    let Some(spare) = spare else {
        return;
    };
    let mut range = spare.unwrap_or_else(|| {
        let _own = OwnWork::begin();
        Box::new(PushedRange {
            domain,
            has_ended: false,
            call: Span::off(),
        })
    });
    (range.domain, range.has_ended) = (domain, false);
    let site = site.0;
    if site.active() {
        range.call.enter(
            site,
            || LabelNumber::NONE,
            || Streams::Untimed,
            || StatedWork::NONE,
            || Payload::None,
            CallArguments::default,
        );
    }
    with_ranges(|ranges| {
        ranges.calls.open.push(range);
        Some(())
    });
}

/// This thread pops the last range of the domain that it has pushed, if there is one.
pub fn pop(domain: &Domain) {
    // The list is made after the thread's counters, by the first push.
    if !HAS_PUSHED.get() {
        return;
    }
    with_ranges(|ranges| {
        if ranges
            .ignored
            .pop_if(|last| std::ptr::eq(*last, domain))
            .is_some()
        {
            return None;
        }
        let mut open = ranges.calls.open.iter_mut().rev();
        let is_last =
            |range: &&mut Box<PushedRange>| !range.has_ended && std::ptr::eq(range.domain, domain);
        open.find(is_last)?.has_ended = true;
        Some(())
    });
    while let Some(mut range) = with_ranges(|ranges| ranges.calls.take_over()) {
        // Outside the borrow.
        range.end();
        with_ranges(|ranges| {
            ranges.calls.keep_spare(range);
            Some(())
        });
    }
}
