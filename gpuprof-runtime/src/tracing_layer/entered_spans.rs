//! The spans that this thread has entered, in order.
//!
//! Spans of `tracing` may be exited in another order than that of a stack, and calls cannot: a call
//! ends when those inside it have.

use std::cell::RefCell;
use std::sync::Arc;

use super::options::CallRule;
use super::span_data::SpanData;
use crate::span::Span;
use crate::span::future::OpenPoll;

struct EnteredSpan {
    id: u64,
    has_exited: bool,
    call: EnteredCall,
}

enum EnteredCall {
    /// It is not measured.
    None,
    PerEnter {
        /// Ends when it is dropped.
        _call: Span,
    },
    PerSpan(Arc<SpanData>, OpenPoll),
}

thread_local! {
    static ENTERED: RefCell<Vec<EnteredSpan>> = const { RefCell::new(Vec::new()) };
}

/// This thread enters a span.
pub(super) fn enter(id: u64, data: &Arc<SpanData>) {
    let call = match data.callsite.rule {
        CallRule::PerEnter => data
            .begin_call()
            .map(|call| EnteredCall::PerEnter { _call: call }),
        CallRule::PerSpan => data
            .begin_part()
            .map(|part| EnteredCall::PerSpan(Arc::clone(data), part)),
    };
    let entered = EnteredSpan {
        id,
        has_exited: false,
        call: call.unwrap_or(EnteredCall::None),
    };
    // While the thread ends there is no list: the call ends now.
    let kept = ENTERED.try_with(|spans| match spans.try_borrow_mut() {
        Ok(mut spans) => {
            spans.push(entered);
            None
        }
        Err(_) => Some(entered),
    });
    if let Ok(Some(entered)) = kept {
        entered.end();
    }
}

/// This thread exits a span.
pub(super) fn exit(id: u64) {
    let found = ENTERED.try_with(|spans| {
        let mut spans = spans.try_borrow_mut().ok()?;
        let mut open = spans.iter_mut().rev();
        // One that was entered before the layer, or on another thread, is not here.
        open.find(|span| span.id == id && !span.has_exited)?
            .has_exited = true;
        Some(())
    });
    if let Ok(Some(())) = found {
        end_exited();
    }
}

/// Ends the calls of the innermost spans that are exited.
fn end_exited() {
    let innermost = || {
        ENTERED
            .try_with(|spans| {
                let mut spans = spans.try_borrow_mut().ok()?;
                spans.pop_if(|span| span.has_exited)
            })
            .ok()
            .flatten()
    };
    // Outside the borrow, as code of a tool may run in it.
    while let Some(span) = innermost() {
        span.end();
    }
}

impl EnteredSpan {
    fn end(self) {
        if let EnteredCall::PerSpan(data, part) = self.call {
            data.end_part(part);
        }
    }
}
