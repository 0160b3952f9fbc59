//! Spans of async functions. Their CPU time is the sum of the polls, on whatever threads they run;
//! the wall time is measured separately.
//!
//! The GPU events are recorded at the first poll and at the end. The thread on which the future
//! completes or is dropped records the call.
//!
//! The body of an `async fn` makes its own span, because the argument expressions borrow the
//! parameters, which the body owns. It hands the span over to the future around it and yields once,
//! before the user's code.

mod open_call;

use self::open_call::{MeasuredCall, PolledCall, close, open};
use super::call_in_progress::NamedPosition;
use super::position::ParentPosition;
use super::recording::measure_overhead;
use super::thread_state::with_thread;
use crate::clock;
use crate::collector::collector;
use crate::gpu::frame_stack::FrameToken;
use crate::gpu::{self, CallStreams, Streams};
use crate::nvtx::{OpenRange, Payload};
use crate::recorder::CallArguments;
use crate::site::labels::LabelNumber;
use crate::site::{Site, SiteFlags};
use crate::stats::call_outcome::StatedWork;
use crate::stats::path_counters::PathCounters;

/// The span of one call of an async function. It begins at the first poll.
#[derive(Debug)]
#[must_use]
pub struct AsyncSpan {
    state: FutureState,
    range: OpenRange,
    /// It has ended with its last poll, and is dropped some time later: a span of `tracing` is
    /// closed after those that were made inside it.
    ends_with_poll: bool,
}

#[derive(Debug)]
enum FutureState {
    Off,
    /// The body of an `async fn`, not polled yet.
    InBody,
    /// Not polled yet. A future that is dropped in this state was no call.
    Created(Box<CreatedCall>),
    Open(Box<PolledCall>),
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

/// One poll of a future, while it runs.
#[derive(Debug)]
pub(crate) struct OpenPoll {
    parent: ParentPosition,
    frame: Option<FrameToken>,
    began: u64,
    named_around: Option<NamedPosition>,
    /// The thread's outermost path before.
    outermost_before: Option<&'static PathCounters>,
}

impl AsyncSpan {
    /// A span that does nothing.
    pub fn off() -> Self {
        Self::with_state(FutureState::Off)
    }

    /// A span that the body of the future hands over in its first poll; see
    /// [`HandOver`](super::instrumented::HandOver).
    pub fn handed_over_by_body() -> Self {
        Self::with_state(FutureState::InBody)
    }

    /// A call of `site`. It begins at the first poll: of a future that is made now and holds no
    /// borrow of what the closures borrow, if `LATER`; otherwise that poll has begun. A closure
    /// runs only if its result is used.
    pub fn created<'a, const LATER: bool>(
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
        arguments: impl FnOnce() -> CallArguments,
    ) -> Self {
        let flags = site.flags();
        let measured = flags.contains(SiteFlags::MEASURE).then(|| {
            // The user's expressions run before any state of the thread is borrowed.
            let streams = flags.contains(SiteFlags::TIME_GPU).then(streams);
            let held = streams.as_ref().and_then(|streams| {
                with_thread(|thread| {
                    // The overhead is counted there.
                    thread.counters()?;
                    if matches!(streams, Streams::Inherit) {
                        return Some(CallStreams::Inherit);
                    }
                    measure_overhead(thread, clock::now(), |gpu| {
                        collector().gpu.hold(gpu, streams, LATER)
                    })
                    .map(|(held, _)| held)
                })
            });
            MeasuredCall {
                streams: held,
                work: work(),
                correlates: flags.contains(SiteFlags::CORRELATE),
                arguments: flags.contains(SiteFlags::RECORD).then(arguments),
            }
        });
        let shown = flags.contains(SiteFlags::EMIT_NVTX) && site.is_shown();
        Self::with_state(FutureState::Created(Box::new(CreatedCall {
            site,
            label: label(),
            measured,
            payload: shown.then(payload),
        })))
    }

    /// A call of `site` that begins now: a span of `tracing`, which has its arguments
    /// [later](Self::set_arguments).
    #[cfg(any(feature = "tracing", feature = "inject"))]
    pub(crate) fn begun(site: &'static Site, label: impl FnOnce() -> LabelNumber) -> Self {
        let flags = site.flags();
        let label = label();
        let mut begun = Self::off();
        begun.ends_with_poll = true;
        if flags.contains(SiteFlags::EMIT_NVTX) && site.is_shown() {
            begun.range = site.start_range(label, || Payload::None);
        }
        let measured = flags.contains(SiteFlags::MEASURE).then(|| MeasuredCall {
            streams: flags
                .contains(SiteFlags::TIME_GPU)
                .then_some(CallStreams::Inherit),
            work: StatedWork::NONE,
            correlates: flags.contains(SiteFlags::CORRELATE),
            arguments: flags
                .contains(SiteFlags::RECORD)
                .then(CallArguments::default),
        });
        if let Some(open) = measured.and_then(|measured| open(site, label, measured)) {
            begun.state = FutureState::Open(open);
        }
        begun
    }

    /// The arguments of the call on the time line, unless a part of it is there already.
    #[cfg(feature = "tracing")]
    pub(crate) fn set_arguments(&mut self, arguments: CallArguments) {
        if let FutureState::Open(open) = &mut self.state {
            open.set_arguments(arguments);
        }
    }

    fn with_state(state: FutureState) -> Self {
        Self {
            state,
            range: OpenRange::None,
            ends_with_poll: false,
        }
    }
}

impl AsyncSpan {
    /// Whether the body hands the span over in its first poll.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.state, FutureState::InBody)
    }

    /// The first poll: from now on it is a call.
    fn begin(&mut self, created: CreatedCall) {
        let CreatedCall {
            site,
            label,
            measured,
            payload,
        } = created;
        // Start and end, not push and pop: the future may move to another thread.
        let range = payload.map(|payload| site.start_range(label, || payload));
        self.range = range.unwrap_or(OpenRange::None);
        if let Some(open) = measured.and_then(|measured| open(site, label, measured)) {
            self.state = FutureState::Open(open);
        }
    }

    /// Enters the span on this thread for the time of one poll.
    pub(crate) fn begin_poll(&mut self) -> Option<OpenPoll> {
        match std::mem::replace(&mut self.state, FutureState::Off) {
            FutureState::Created(created) => self.begin(*created),
            other => self.state = other,
        }
        let FutureState::Open(open) = &mut self.state else {
            return None;
        };
        Some(with_thread(|thread| {
            let outermost = open.outermost(thread);
            let parent = thread.enter(open.path);
            let named_around = thread.begin_named_poll(open.as_value.take());
            open.resume(thread);
            let outermost_before = thread.sampling.set_outermost(outermost);
            let has_frame = open.gpu.is_some() || open.profiled.is_some();
            let is_first = open.last_polled.is_none();
            let push = |gpu: &mut gpu::GpuThread| gpu.push_poll(open.gpu.as_deref(), open.profiled);
            OpenPoll {
                parent,
                frame: has_frame.then(|| thread.with_gpu(push)).flatten(),
                began: if is_first && !has_frame {
                    open.started
                } else {
                    clock::now()
                },
                named_around,
                outermost_before,
            }
        }))
    }

    pub(crate) fn end_poll(&mut self, poll: OpenPoll) {
        let ended = clock::now();
        with_thread(|thread| {
            if let Some(frame) = poll.frame {
                thread.with_gpu(|gpu| gpu.close(frame));
            }
            let as_value = thread.end_named_poll(poll.named_around);
            thread.sampling.set_outermost(poll.outermost_before);
            if let FutureState::Open(open) = &mut self.state {
                open.last_polled = Some(ended);
                open.as_value = as_value;
                open.pause(thread);
                let ticks = ended.saturating_sub(poll.began);
                open.busy_ticks += ticks;
                open.nested_ticks += thread.leave(poll.parent, ticks);
                // The site may have to decide anew, which only its next call does.
                if collector().recorder.is_on() {
                    open.record_poll(thread, poll.began, ended);
                }
            }
        });
    }
}

/// The call ends: its future completed or was dropped.
impl Drop for AsyncSpan {
    fn drop(&mut self) {
        if let FutureState::Open(open) = std::mem::replace(&mut self.state, FutureState::Off) {
            close(open, self.ends_with_poll);
        }
        self.range.close();
    }
}
