//! Ranges that a thread has pushed: calls, which nest.
//!
//! NVTX has a stack for each domain. A call ends when those inside it have, whichever domain they
//! are of.

use std::cell::RefCell;

use super::names::{Domain, RangeSite};
use crate::gpu::Streams;
use crate::nvtx::Payload;
use crate::recorder::CallArguments;
use crate::site::labels::LabelNumber;
use crate::span::Span;
use crate::stats::call_outcome::StatedWork;

/// Ranges that a thread has open; those pushed beyond are not measured.
const MAX_OPEN_RANGES: usize = 512;

struct PushedRange {
    domain: *const Domain,
    has_ended: bool,
    call: Span,
}

/// On the heap, because calls are large and begin and end in them.
#[expect(
    clippy::vec_box,
    reason = "they are large, and calls begin and end in them while the list is free"
)]
struct PushedRanges {
    open: Vec<Box<PushedRange>>,
    spare: Vec<Box<PushedRange>>,
    /// Those beyond the limit.
    ignored: usize,
}

/// The thread ends.
impl Drop for PushedRanges {
    fn drop(&mut self) {
        while let Some(innermost) = self.open.pop() {
            drop(innermost);
        }
    }
}

thread_local! {
    static PUSHED: RefCell<PushedRanges> = const {
        RefCell::new(PushedRanges { open: Vec::new(), spare: Vec::new(), ignored: 0 })
    };
}

/// Runs `with` unless the thread ends, or is in here already by an allocator of the program's.
fn with_ranges<T>(with: impl FnOnce(&mut PushedRanges) -> Option<T>) -> Option<T> {
    let borrowed = |ranges: &RefCell<PushedRanges>| with(&mut *ranges.try_borrow_mut().ok()?);
    PUSHED.try_with(borrowed).ok().flatten()
}

/// This thread pushes a range.
pub fn push(domain: &Domain, site: RangeSite) {
    let spare = with_ranges(|ranges| {
        if ranges.open.len() >= MAX_OPEN_RANGES {
            ranges.ignored += 1;
            return None;
        }
        Some(ranges.spare.pop())
    });
    let Some(spare) = spare else {
        return;
    };
    let mut range = spare.unwrap_or_else(|| {
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
        ranges.open.push(range);
        Some(())
    });
}

/// This thread pops the last range of the domain that it has pushed, if there is one.
pub fn pop(domain: &Domain) {
    with_ranges(|ranges| {
        if ranges.ignored > 0 {
            ranges.ignored -= 1;
            return None;
        }
        let mut open = ranges.open.iter_mut().rev();
        let is_last =
            |range: &&mut Box<PushedRange>| !range.has_ended && std::ptr::eq(range.domain, domain);
        open.find(is_last)?.has_ended = true;
        Some(())
    });
    while let Some(mut range) = with_ranges(|ranges| ranges.open.pop_if(|last| last.has_ended)) {
        // Outside the borrow.
        range.call = Span::off();
        with_ranges(|ranges| {
            ranges.spare.push(range);
            Some(())
        });
    }
}
