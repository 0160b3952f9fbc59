//! The future around the user's, which enters its span for each poll, and how the body of an
//! `async fn` hands the span over to it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::future::{AsyncSpan, OpenPoll};

thread_local! {
    /// From a body that yields to the future around it, which polls it.
    static HANDED_OVER: Cell<Option<AsyncSpan>> = const { Cell::new(None) };
}

/// The first `.await` in the body of an `async fn`: yields to [`Instrumented`] if a span begins.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct HandOver {
    yields: bool,
}

impl HandOver {
    /// Hands `span` over to the future that polls this body.
    pub fn new(span: AsyncSpan) -> Self {
        // While the thread ends, the call is not measured.
        let yields = HANDED_OVER.try_with(|slot| slot.set(Some(span))).is_ok();
        Self { yields }
    }

    /// No span begins.
    pub fn none() -> Self {
        Self { yields: false }
    }
}

impl Future for HandOver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::take(&mut self.yields) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

pin_project! {
    /// A future whose polls are spans.
    #[must_use = "futures do nothing unless polled"]
    pub struct Instrumented<F> {
        #[pin]
        future: F,
        // After the future: work done by its drop still belongs to the call.
        span: AsyncSpan,
    }
}

/// Wraps `future` so that its polls are counted for `span`.
pub fn instrument<F: Future>(span: AsyncSpan, future: F) -> Instrumented<F> {
    Instrumented { future, span }
}

/// Leaves the span when a poll returns or panics.
struct PollGuard<'a> {
    span: &'a mut AsyncSpan,
    poll: Option<OpenPoll>,
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        if let Some(poll) = self.poll.take() {
            self.span.end_poll(poll);
        }
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if this.span.is_in_body() {
            *this.span = AsyncSpan::off();
            let polled = this.future.as_mut().poll(cx);
            match HANDED_OVER.try_with(Cell::take) {
                Ok(Some(span)) => *this.span = span,
                // No span begins: that was the first poll of the user's code.
                _ => return polled,
            }
        }
        let poll = this.span.begin_poll();
        let polled = {
            let _guard = PollGuard {
                span: this.span,
                poll,
            };
            this.future.poll(cx)
        };
        if polled.is_ready() {
            drop(std::mem::replace(this.span, AsyncSpan::off()));
        }
        polled
    }
}
