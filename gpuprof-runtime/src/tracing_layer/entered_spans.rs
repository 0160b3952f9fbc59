//! The spans that this thread has entered, in order.
//!
//! Spans of `tracing` may be exited in another order than that of a stack, on another thread, or
//! never. Calls cannot: a call ends when those inside it have, and that of a span that is closed
//! ends when the thread enters or exits the next.

use std::cell::RefCell;
use std::sync::Arc;

use super::options::CallRule;
use super::span_data::SpanData;
use crate::span::Span;
use crate::span::future::OpenPoll;

struct EnteredSpan {
    id: u64,
    has_exited: bool,
    data: Arc<SpanData>,
    /// The call by the rule `PerEnter`, which ends when it is dropped; `None` if not measured.
    _call: Option<Span>,
    /// The part of a call by the rule `PerSpan`; `None` if not measured.
    part: Option<OpenPoll>,
}

impl Drop for EnteredSpan {
    fn drop(&mut self) {
        if let Some(part) = self.part.take() {
            self.data.end_part(part);
        }
    }
}

struct EnteredSpans(Vec<EnteredSpan>);

/// The thread ends.
impl Drop for EnteredSpans {
    fn drop(&mut self) {
        while let Some(innermost) = self.0.pop() {
            drop(innermost);
        }
    }
}

thread_local! {
    static ENTERED: RefCell<EnteredSpans> = const { RefCell::new(EnteredSpans(Vec::new())) };
}

/// This thread enters a span.
pub(super) fn enter(id: u64, data: &Arc<SpanData>) {
    end_left_over();
    let (call, part) = match data.callsite.rule {
        CallRule::PerEnter => (data.begin_call(), None),
        CallRule::PerSpan => (None, data.begin_part()),
    };
    let entered = EnteredSpan {
        id,
        has_exited: false,
        data: Arc::clone(data),
        _call: call,
        part,
    };
    // While the thread ends there is no list: the call ends now.
    let _ = ENTERED.try_with(|spans| {
        if let Ok(mut spans) = spans.try_borrow_mut() {
            spans.0.push(entered);
        }
    });
}

/// This thread exits a span.
pub(super) fn exit(id: u64) {
    let _ = ENTERED.try_with(|spans| {
        let mut spans = spans.try_borrow_mut().ok()?;
        let mut open = spans.0.iter_mut().rev();
        // One that was entered on another thread is not here.
        open.find(|span| span.id == id && !span.has_exited)?
            .has_exited = true;
        Some(())
    });
    end_left_over();
}

/// Ends the calls of the innermost spans that are exited or closed.
fn end_left_over() {
    let innermost = || {
        ENTERED
            .try_with(|spans| {
                let mut spans = spans.try_borrow_mut().ok()?;
                let is_over = |span: &mut EnteredSpan| span.has_exited || span.data.is_closed();
                spans.0.pop_if(is_over)
            })
            .ok()
            .flatten()
    };
    // Outside the borrow, as code of a tool may run in it.
    while let Some(span) = innermost() {
        drop(span);
    }
}
