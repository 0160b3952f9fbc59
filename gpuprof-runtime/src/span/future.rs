//! Spans of async functions. Their CPU time is the sum of the polls, on whatever threads they run;
//! the wall time is measured separately.
//!
//! The GPU events are recorded at the first poll and at the end. The thread on which the future
//! completes or is dropped records the call.
//!
//! The body of an `async fn` makes its own span, because the argument expressions borrow the
//! parameters, which the body owns. It hands the span over to the future around it and yields once,
//! before the user's code.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::recording::{
    begin_gpu_timing, count_dropped, measure_overhead, record_with_frame, valid_work,
};
use super::thread_state::{NodeError, ParentPosition, with_thread};
use crate::clock;
use crate::collector::collector;
use crate::cupti::call_stack::ProfiledCall;
use crate::gpu::frame_stack::{Frame, FrameToken};
use crate::gpu::{self, CallStreams, Streams};
use crate::nvtx::{OpenRange, Payload};
use crate::site::labels::LabelNumber;
use crate::site::{Site, SiteFlags};
use crate::stats::ended_call::{CallRecord, GpuOutcome, StatedWork};

/// The span of one call of an async function. It begins at the first poll.
#[derive(Debug)]
#[must_use]
pub struct AsyncSpan {
    state: State,
    range: OpenRange,
}

#[derive(Debug)]
enum State {
    Off,
    /// The body of an `async fn`, not polled yet.
    InBody,
    /// Not polled yet. A future that is dropped in this state was no call.
    Created(Box<CreatedCall>),
    Open(Box<OpenCall>),
}

/// What was evaluated when the function was called, for the first poll.
#[derive(Debug)]
struct CreatedCall {
    site: &'static Site,
    label: LabelNumber,
    /// `None`: only an NVTX range.
    measured: Option<MeasuredCall>,
    payload: Option<Payload>,
}

#[derive(Debug)]
struct MeasuredCall {
    /// `None`: it is not GPU-timed.
    streams: Option<CallStreams>,
    work: StatedWork,
    /// CUPTI's records are attributed to it.
    correlates: bool,
}

/// A call between its first poll and its end.
#[derive(Debug)]
struct OpenCall {
    site: &'static Site,
    label: LabelNumber,
    /// The path of the span in which the first poll ran.
    parent: u32,
    path: u32,
    started: u64,
    busy_ticks: u64,
    nested_ticks: u64,
    gpu: Option<Box<gpu::OpenSpan>>,
    work: StatedWork,
    profiled: Option<ProfiledCall>,
}

/// One poll of a future, while it runs.
struct OpenPoll {
    parent: ParentPosition,
    frame: Option<FrameToken>,
    began: u64,
}

impl AsyncSpan {
    /// A span that does nothing.
    pub fn off() -> Self {
        Self {
            state: State::Off,
            range: OpenRange::None,
        }
    }

    /// A span that the body of the future hands over in its first poll; see [`HandOver`].
    pub fn in_body() -> Self {
        Self {
            state: State::InBody,
            range: OpenRange::None,
        }
    }

    /// A call of `site` whose first poll has begun. A closure runs only if its result is used.
    pub fn new<'a>(
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
    ) -> Self {
        Self::prepare(site, label, streams, work, payload, false)
    }

    /// A call of `site` that begins at the first poll of a future made now. The future holds no
    /// borrow of what the closures borrow.
    pub fn later<'a>(
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
    ) -> Self {
        Self::prepare(site, label, streams, work, payload, true)
    }

    fn prepare<'a>(
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
        later: bool,
    ) -> Self {
        let flags = site.flags();
        let measured = flags.contains(SiteFlags::MEASURE).then(|| {
            // The user's expressions run before any state of the thread is borrowed.
            let streams = flags.contains(SiteFlags::TIME_GPU).then(streams);
            let held = streams.as_ref().and_then(|streams| {
                with_thread(|thread| {
                    // The overhead is counted there.
                    thread.counters()?;
                    measure_overhead(thread, clock::now(), |gpu| {
                        collector().gpu.hold(gpu, streams, later)
                    })
                    .map(|(held, _)| held)
                })
            });
            MeasuredCall {
                streams: held,
                work: work(),
                correlates: flags.contains(SiteFlags::CORRELATE),
            }
        });
        let shown = flags.contains(SiteFlags::EMIT_NVTX) && site.is_shown();
        let created = CreatedCall {
            site,
            label: label(),
            measured,
            payload: shown.then(payload),
        };
        Self {
            state: State::Created(Box::new(created)),
            range: OpenRange::None,
        }
    }

    /// The first poll: from now on it is a call.
    fn begin(&mut self) {
        let State::Created(created) = std::mem::replace(&mut self.state, State::Off) else {
            return;
        };
        let CreatedCall {
            site,
            label,
            measured,
            payload,
        } = *created;
        // Start and end, not push and pop: the future may move to another thread.
        let range = payload.map(|payload| site.start_range(label, || payload));
        self.range = range.unwrap_or(OpenRange::None);
        if let Some(open) = measured.and_then(|measured| open(site, label, measured)) {
            self.state = State::Open(Box::new(open));
        }
    }

    /// Enters the span on this thread for the time of one poll.
    fn begin_poll(&mut self) -> Option<OpenPoll> {
        if matches!(self.state, State::Created(_)) {
            self.begin();
        }
        let State::Open(open) = &self.state else {
            return None;
        };
        Some(with_thread(|thread| {
            let parent = ParentPosition::enter(thread, open.path);
            let has_frame = open.gpu.is_some() || open.profiled.is_some();
            let push = |gpu: &mut gpu::GpuThread| gpu.push_poll(open.gpu.as_deref(), open.profiled);
            OpenPoll {
                parent,
                frame: has_frame.then(|| thread.with_gpu(push)).flatten(),
                began: clock::now(),
            }
        }))
    }

    fn end_poll(&mut self, poll: &OpenPoll) {
        let ended = clock::now();
        with_thread(|thread| {
            if let Some(frame) = poll.frame {
                thread.with_gpu(|gpu| gpu.close(frame));
            }
            if let State::Open(open) = &mut self.state {
                let ticks = ended.saturating_sub(poll.began);
                open.busy_ticks += ticks;
                open.nested_ticks += poll.parent.leave(thread, ticks);
            }
        });
    }
}

fn open(site: &'static Site, label: LabelNumber, measured: MeasuredCall) -> Option<OpenCall> {
    with_thread(|thread| {
        let parent = thread.path();
        let node = thread
            .node(parent, site, label)
            .map_err(|error| count_dropped(thread, error))
            .ok()?;
        let gpu = measured.streams.and_then(|streams| {
            let begin = |gpu: &mut gpu::GpuThread| {
                begin_gpu_timing(&collector().gpu, gpu, streams, site, node.path, true)
            };
            measure_overhead(thread, clock::now(), begin).and_then(|(open, _)| open)
        });
        let begin_call = || {
            thread
                .with_gpu(|gpu| gpu.begin_call(site, node.path))
                .flatten()
        };
        let started = clock::now();
        node.begin_async(started);
        Some(OpenCall {
            site,
            label,
            parent,
            path: node.path,
            started,
            busy_ticks: 0,
            nested_ticks: 0,
            gpu,
            work: valid_work(thread, &measured.work),
            profiled: measured.correlates.then(begin_call).flatten(),
        })
    })
}

/// The call ends: its future completed or was dropped.
impl Drop for AsyncSpan {
    fn drop(&mut self) {
        if let State::Open(open) = std::mem::replace(&mut self.state, State::Off) {
            close(*open);
        }
        self.range.close();
    }
}

fn close(open: OpenCall) {
    let ended = clock::now();
    let call = CallRecord {
        started: open.started,
        cpu_ticks: open.busy_ticks,
        nested_ticks: open.nested_ticks,
        wall_ticks: Some(ended.saturating_sub(open.started)),
        outcome: GpuOutcome::NoStream,
        work: &open.work,
    };
    let frame = Frame {
        gpu: open.gpu,
        call: open.profiled,
    };
    with_thread(|thread| {
        // The thread may have no node for this path yet.
        let node = thread.node(open.parent, open.site, open.label);
        let recorded = node.and_then(|node| {
            let recorded = match (&frame.gpu, &frame.call) {
                (None, None) => node.record(&call, thread.writer()),
                _ => record_with_frame(thread, node, call, ended, |_| Some(frame)),
            };
            recorded.then_some(()).ok_or(NodeError::ThreadEnded)
        });
        if let Err(error) = recorded {
            collector().end_unrecorded_future(open.path, open.started);
            count_dropped(thread, error);
        }
    });
}

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
        match std::mem::take(&mut self.yields) {
            true => Poll::Pending,
            false => Poll::Ready(()),
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
        if let Some(poll) = &self.poll {
            self.span.end_poll(poll);
        }
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if matches!(this.span.state, State::InBody) {
            this.span.state = State::Off;
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
