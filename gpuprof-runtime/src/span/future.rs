//! Spans of async functions: CPU time is the sum of the polls, on whatever threads they run; wall time stands apart.
//!
//! The GPU events are recorded at the first poll and at the end. What was measured is recorded by the thread on which the
//! future completes or is dropped.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::clock;
use crate::collector::collector;
use crate::cupti::call_stack::{self, EndedCall};
use crate::gpu::{self, GpuThread, Held, Streams};
use crate::nvtx::{OpenRange, Payload};
use crate::site::{EMIT_NVTX, MEASURE, Site, TIME_GPU, correlates};
use crate::span::thread_state::{self, NodeError};
use crate::span::{
    ParentFrame, begin_gpu_timing, count_dropped, measure_overhead, record_with_events,
};
use crate::stats::call::{Call, GpuOutcome, StatedWork};

/// The span of one call of an async function; begun at the first poll.
#[derive(Debug)]
#[must_use]
pub struct AsyncSpan {
    state: State,
    range: OpenRange,
}

#[derive(Debug)]
enum State {
    Off,
    /// Not polled yet. A future that is dropped like this was no call.
    Waiting(Box<Waiting>),
    Open(Box<Open>),
}

/// What was evaluated when the function was called, for the first poll.
#[derive(Debug)]
struct Waiting {
    site: &'static Site,
    /// `None`: nothing is to be measured, only shown to NVTX.
    measured: Option<CallInputs>,
    payload: Option<Payload>,
}

#[derive(Debug)]
struct CallInputs {
    /// `None`: not to be timed on the GPU.
    streams: Option<Held>,
    work: StatedWork,
    /// CUPTI is to know of it.
    correlates: bool,
}

#[derive(Debug)]
struct Open {
    site: &'static Site,
    /// Path of the span in which the first poll ran.
    parent: u32,
    path: u32,
    started: u64,
    busy_ns: u64,
    nested_ns: u64,
    gpu: Option<Box<gpu::Open>>,
    work: StatedWork,
    /// What CUPTI knows it as.
    call: Option<call_stack::ProfiledCall>,
}

impl AsyncSpan {
    /// A span that does nothing.
    pub fn off() -> Self {
        Self {
            state: State::Off,
            range: OpenRange::None,
        }
    }

    /// Begins a call of `site`, in its first poll. Each closure runs only if what it gives is used.
    pub fn new<'a>(
        site: &'static Site,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
    ) -> Self {
        let mut span = Self::prepare(site, streams, work, payload, false);
        span.begin();
        span
    }

    /// A call of `site` that begins at the first poll of a future made now, which may hold nothing of what the closures
    /// borrow.
    pub fn later<'a>(
        site: &'static Site,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
    ) -> Self {
        Self::prepare(site, streams, work, payload, true)
    }

    fn prepare<'a>(
        site: &'static Site,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
        later: bool,
    ) -> Self {
        let duties = site.duties();
        let measured = (duties & MEASURE != 0).then(|| {
            let timed = duties & TIME_GPU != 0;
            // The user's expressions run before anything of the thread's is borrowed.
            let streams = timed.then(streams);
            let held = streams.as_ref().and_then(|streams| {
                thread_state::with_thread(|thread| {
                    // Its counters take what this costs.
                    thread.shared()?;
                    measure_overhead(thread, clock::now(), |gpu| {
                        collector().gpu.hold(gpu, streams, later)
                    })
                    .map(|(held, _)| held)
                })
            });
            CallInputs {
                streams: held,
                work: work(),
                correlates: correlates(duties),
            }
        });
        let shown = duties & EMIT_NVTX != 0 && site.is_shown();
        let waiting = Waiting {
            site,
            measured,
            payload: shown.then(payload),
        };
        Self {
            state: State::Waiting(Box::new(waiting)),
            range: OpenRange::None,
        }
    }

    /// The first poll: from now on it is a call.
    fn begin(&mut self) {
        let State::Waiting(waiting) = std::mem::replace(&mut self.state, State::Off) else {
            return;
        };
        let Waiting {
            site,
            measured,
            payload,
        } = *waiting;
        // Start and end, not push and pop: the future may move to another thread.
        self.range = payload.map_or(OpenRange::None, |payload| site.start_range(|| payload));
        if let Some(open) = measured.and_then(|measured| open(site, measured)) {
            self.state = State::Open(Box::new(open));
        }
    }

    /// Enters the span on this thread for the time of one poll.
    fn poll_begins(&mut self) -> Option<OpenPoll> {
        if matches!(self.state, State::Waiting(_)) {
            self.begin();
        }
        let State::Open(open) = &self.state else {
            return None;
        };
        Some(thread_state::with_thread(|thread| OpenPoll {
            outer: ParentFrame::enter(thread, open.path),
            scope: open.gpu.as_ref().and_then(|open| {
                thread_state::with_gpu(|gpu| {
                    let scope = open.for_poll(gpu);
                    gpu.push(scope)
                })
            }),
            depth: open.call.and_then(|call| call_stack::enter(call, u32::MAX)),
            began: clock::now(),
        }))
    }

    fn poll_ends(&mut self, poll: &OpenPoll) {
        let ended = clock::now();
        if let Some(depth) = poll.depth {
            call_stack::leave(depth);
        }
        let State::Open(open) = &mut self.state else {
            return;
        };
        thread_state::with_thread(|thread| {
            let ns = clock::ns_between(poll.began, ended);
            open.busy_ns += ns;
            open.nested_ns += poll.outer.leave(thread, ns);
        });
        if let Some(number) = poll.scope {
            thread_state::with_gpu(|gpu| gpu.close(number));
        }
    }
}

/// One poll under way.
struct OpenPoll {
    outer: ParentFrame,
    /// What spans inside inherit, by its number.
    scope: Option<u64>,
    /// Where it stands among the calls that CUPTI knows of.
    depth: Option<u32>,
    began: u64,
}

fn open(site: &'static Site, measured: CallInputs) -> Option<Open> {
    thread_state::with_thread(|thread| {
        let parent = thread.position.get().path();
        let node = thread
            .node(parent, site)
            .map_err(|why| count_dropped(thread, why))
            .ok()?;
        let gpu = measured.streams.and_then(|streams| {
            let begin = |gpu: &mut GpuThread| {
                begin_gpu_timing(&collector().gpu, gpu, streams, site, node.path, true)
            };
            measure_overhead(thread, clock::now(), begin).and_then(|(open, _)| open)
        });
        Some(Open {
            site,
            parent,
            path: node.path,
            started: clock::now(),
            busy_ns: 0,
            nested_ns: 0,
            gpu,
            work: measured.work,
            call: measured
                .correlates
                .then(|| call_stack::begin(site))
                .flatten(),
        })
    })
}

/// The call ends: its future completed, or was dropped on the way.
impl Drop for AsyncSpan {
    fn drop(&mut self) {
        if let State::Open(open) = std::mem::replace(&mut self.state, State::Off) {
            close(*open);
        }
        self.range.close();
    }
}

fn close(open: Open) {
    let ended = clock::now();
    let wall_ns = clock::ns_between(open.started, ended);
    let call = Call {
        cpu_ns: open.busy_ns,
        nested_ns: open.nested_ns,
        wall_ns: Some(wall_ns),
        outcome: GpuOutcome::NoStream,
        work: &open.work,
    };
    thread_state::with_thread(|thread| {
        // The thread may never have been at this place of the tree.
        let recorded = thread.node(open.parent, open.site).and_then(|node| {
            let outcome = match open.gpu {
                None => node
                    .record(&call, thread.writer())
                    .then_some(GpuOutcome::NoStream),
                gpu => record_with_events(thread, node, call, ended, |_| gpu),
            };
            outcome.ok_or(NodeError::ThreadEnded)
        });
        if let (Some(call), Ok(outcome)) = (open.call, &recorded) {
            collector().work.end_call(EndedCall::new(
                call,
                *outcome,
                open.busy_ns,
                thread.writer().epoch(),
            ));
        }
        if let Err(why) = recorded {
            count_dropped(thread, why);
        }
    });
}

pin_project! {
    /// A future whose polls are spans.
    #[must_use = "futures do nothing unless polled"]
    pub struct Instrumented<F> {
        #[pin]
        future: F,
        // After the future: what it does when it is dropped still belongs to the call.
        span: AsyncSpan,
    }
}

/// Wraps `future` so that its polls count for `span`.
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
        if let Some(poll) = &self.poll {
            self.span.poll_ends(poll);
        }
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let poll = this.span.poll_begins();
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
