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
use crate::span::nested_calls::{NestedCall, NestedCalls};
use crate::span::thread_state::prepare_thread;

struct EnteredSpan {
    id: u64,
    has_exited: bool,
    /// `None`: this is spare.
    data: Option<Arc<SpanData>>,
    /// The call by the rule `PerEnter`, which ends when it is dropped; off if not measured.
    call: Span,
    /// The part of a call by the rule `PerSpan`; `None` if not measured.
    part: Option<OpenPoll>,
}

impl EnteredSpan {
    const fn spare() -> Self {
        Self {
            id: 0,
            has_exited: false,
            data: None,
            call: Span::off(),
            part: None,
        }
    }

    fn begin(&mut self, id: u64, data: Arc<SpanData>) {
        (self.id, self.has_exited) = (id, false);
        match data.callsite.rule {
            CallRule::PerEnter => data.begin_call(&mut self.call),
            CallRule::PerSpan => self.part = data.begin_part(),
        }
        self.data = Some(data);
    }
}

impl NestedCall for EnteredSpan {
    fn is_over(&self) -> bool {
        self.has_exited || self.data.as_ref().is_none_or(|data| data.is_closed())
    }

    fn end(&mut self) {
        self.call = Span::off();
        if let (Some(data), Some(part)) = (&self.data, self.part.take()) {
            data.end_part(part);
        }
        self.data = None;
    }
}

thread_local! {
    static ENTERED: RefCell<NestedCalls<EnteredSpan>> = const { RefCell::new(NestedCalls::NEW) };
}

/// Runs `with` unless the thread ends, or is in here already by an allocator of the program's.
fn with_spans<T>(with: impl FnOnce(&mut NestedCalls<EnteredSpan>) -> Option<T>) -> Option<T> {
    let borrowed = |spans: &RefCell<_>| with(&mut *spans.try_borrow_mut().ok()?);
    ENTERED.try_with(borrowed).ok().flatten()
}

/// This thread enters a span.
pub(super) fn enter(id: u64, data: Arc<SpanData>) {
    prepare_thread();
    end_left_over();
    let spare = with_spans(NestedCalls::take_spare);
    let mut entered = spare.unwrap_or_else(|| Box::new(EnteredSpan::spare()));
    // Outside the borrow, as code of a tool may run in it.
    entered.begin(id, data);
    let mut entered = Some(entered);
    with_spans(|spans| {
        spans.open.extend(entered.take());
        Some(())
    });
    // There is no list: the call ends now.
    if let Some(mut entered) = entered {
        entered.end();
    }
}

/// This thread exits a span.
pub(super) fn exit(id: u64) {
    with_spans(|spans| {
        let mut open = spans.open.iter_mut().rev();
        // One that was entered on another thread is not here.
        open.find(|span| span.id == id && !span.has_exited)?
            .has_exited = true;
        Some(())
    });
    end_left_over();
}

/// Ends the calls of the innermost spans that are exited or closed.
fn end_left_over() {
    while let Some(mut span) = with_spans(NestedCalls::take_over) {
        // Outside the borrow, as code of a tool may run in it.
        span.end();
        with_spans(|spans| {
            spans.keep_spare(span);
            Some(())
        });
    }
}
