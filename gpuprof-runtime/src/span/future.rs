//! Spans of async functions. Their CPU time is the sum of the polls, on whatever threads they run;
//! the wall time is measured separately.
//!
//! The GPU events are recorded at the first poll and at the end. The thread on which the future
//! completes or is dropped records the call.
//!
//! The body of an `async fn` makes its own span, because the argument expressions borrow the
//! parameters, which the body owns. It hands the span over to the future around it and yields once,
//! before the user's code.

use super::call_in_progress::{CallInProgress, NamedPosition};
use super::position::ParentPosition;
use super::recording::{
    begin_gpu_timing, count_dropped, measure_overhead, record_with_frame, valid_work,
};
use super::thread_state::{NodeError, ThreadState, with_thread};
use super::time_line::EndedSpan;
use crate::clock;
use crate::collector::collector;
use crate::cupti::call_stack::ProfiledCall;
use crate::gpu::frame_stack::{Frame, FrameToken};
use crate::gpu::{self, CallStreams, Streams};
use crate::nvtx::{OpenRange, Payload};
use crate::os::own_work::OwnWork;
use crate::recorder::Arguments;
use crate::site::labels::LabelNumber;
use crate::site::{Site, SiteFlags};
use crate::stats::ended_call::{CallRecord, GpuOutcome, StatedWork, UntimedReason};
use crate::stats::path_counters::PathCounters;

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
    /// `None`: the call is not on the time line, or only from a later poll on.
    arguments: Option<Arguments>,
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
    /// It began inside a call that sampling left out.
    is_left_out: bool,
    /// Sampling had decided on no call around it.
    is_outermost: bool,
    /// For the first poll on the time line.
    arguments: Option<Arguments>,
    /// If anybody has asked for it: see [`current`](super::thread_state::current_span::current).
    as_value: Option<CallInProgress>,
}

/// One poll of a future, while it runs.
pub(super) struct OpenPoll {
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
        Self {
            state: State::Off,
            range: OpenRange::None,
        }
    }

    /// A span that the body of the future hands over in its first poll; see
    /// [`HandOver`](super::instrumented::HandOver).
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
        arguments: impl FnOnce() -> Arguments,
    ) -> Self {
        Self::prepare(site, label, streams, work, payload, arguments, false)
    }

    /// A call of `site` that begins at the first poll of a future made now. The future holds no
    /// borrow of what the closures borrow.
    pub fn later<'a>(
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
        arguments: impl FnOnce() -> Arguments,
    ) -> Self {
        Self::prepare(site, label, streams, work, payload, arguments, true)
    }

    fn prepare<'a>(
        site: &'static Site,
        label: impl FnOnce() -> LabelNumber,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
        arguments: impl FnOnce() -> Arguments,
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
                arguments: flags.contains(SiteFlags::RECORD).then(arguments),
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

    /// Whether the body hands the span over in its first poll.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.state, State::InBody)
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
    pub(super) fn begin_poll(&mut self) -> Option<OpenPoll> {
        if matches!(self.state, State::Created(_)) {
            self.begin();
        }
        let State::Open(open) = &mut self.state else {
            return None;
        };
        Some(with_thread(|thread| {
            let parent = thread.enter(open.path);
            let named_around = thread.begin_named_poll(open.as_value.take());
            open.resume(thread);
            let outermost_before = thread.sampling.set_outermost(open.outermost(thread));
            let has_frame = open.gpu.is_some() || open.profiled.is_some();
            let push = |gpu: &mut gpu::GpuThread| gpu.push_poll(open.gpu.as_deref(), open.profiled);
            OpenPoll {
                parent,
                frame: has_frame.then(|| thread.with_gpu(push)).flatten(),
                began: clock::now(),
                named_around,
                outermost_before,
            }
        }))
    }

    pub(super) fn end_poll(&mut self, poll: OpenPoll) {
        let ended = clock::now();
        with_thread(|thread| {
            if let Some(frame) = poll.frame {
                thread.with_gpu(|gpu| gpu.close(frame));
            }
            let as_value = thread.end_named_poll(poll.named_around);
            thread.sampling.set_outermost(poll.outermost_before);
            if let State::Open(open) = &mut self.state {
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

impl OpenCall {
    /// A poll begins on this thread.
    fn resume(&mut self, thread: &ThreadState) {
        if self.is_left_out || self.gpu.is_some() {
            thread.set_left_out(self.is_left_out);
        }
        if self.is_untimed() {
            thread.begin_untimed();
        } else if let Some(gpu) = &mut self.gpu {
            gpu.resume(thread.untimed_begun());
        }
    }

    /// The poll ends.
    fn pause(&mut self, thread: &ThreadState) {
        if self.is_untimed() {
            thread.end_untimed();
        } else if let Some(gpu) = &mut self.gpu {
            gpu.pause(thread.untimed_begun());
        }
    }

    /// Its path in the counters of the thread that polls it, if it is an outermost one.
    fn outermost(&self, thread: &ThreadState) -> Option<&'static PathCounters> {
        let has_decided = self.is_outermost && self.gpu.is_some();
        let node = || thread.node(self.parent, self.site, self.label).ok();
        has_decided.then(node).flatten()
    }

    /// Puts a poll on the time line.
    #[cold]
    fn record_poll(&mut self, thread: &ThreadState, started: u64, ended: u64) {
        let span = EndedSpan {
            path: self.path,
            started,
            ended,
            gpu_call: self.gpu.as_ref().map_or(0, |gpu| gpu.call_number()),
        };
        let arguments = self.arguments.take().filter(|own| !own.is_empty());
        thread.with_recorder(|recorder| recorder.record(&span, arguments));
    }

    fn is_untimed(&self) -> bool {
        let of_gpu = || self.gpu.as_ref().and_then(|gpu| gpu.untimed_reason());
        self.is_left_out || of_gpu().is_some()
    }
}

fn open(site: &'static Site, label: LabelNumber, measured: MeasuredCall) -> Option<OpenCall> {
    let _own = OwnWork::begin();
    with_thread(|thread| {
        let parent = thread.path();
        let node = thread
            .node(parent, site, label)
            .map_err(|error| count_dropped(thread, error))
            .ok()?;
        let is_inside_left_out = thread.is_left_out() && !measured.correlates;
        let is_left_out = is_inside_left_out && measured.streams.is_some();
        let mut streams = measured.streams;
        if is_left_out && let Some(unused) = streams.take() {
            thread.with_gpu(|gpu| gpu.give_back(unused));
        }
        let is_outermost = thread.is_outside();
        let gpu = streams.and_then(|streams| {
            let rate = thread.rate(site, node);
            let begin = |gpu: &mut gpu::GpuThread| {
                let streams = (streams, rate);
                begin_gpu_timing(&collector().gpu, gpu, streams, site, node.path, true)
            };
            measure_overhead(thread, clock::now(), begin).and_then(|(open, _)| open)
        });
        let reason = gpu.as_ref().and_then(|gpu| gpu.untimed_reason());
        if reason.is_some_and(UntimedReason::is_by_sampling) {
            thread.sampling.miss(site, node);
        }
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
            is_left_out,
            is_outermost,
            arguments: measured.arguments,
            as_value: None,
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
    let _own = OwnWork::begin();
    let ended = clock::now();
    if let Some(as_value) = &open.as_value {
        as_value.end();
    }
    let mut call = CallRecord {
        started: open.started,
        cpu_ticks: open.busy_ticks,
        nested_ticks: open.nested_ticks,
        wall_ticks: Some(ended.saturating_sub(open.started)),
        outcome: match open.is_left_out {
            true => GpuOutcome::Untimed(UntimedReason::LeftOut),
            false => GpuOutcome::NoStream,
        },
        work: &open.work,
        gpu_call: 0,
    };
    let frame = Frame {
        gpu: open.gpu,
        call: open.profiled,
    };
    with_thread(|thread| {
        // The thread may have no node for this path yet.
        let node = thread.node(open.parent, open.site, open.label);
        let recorded = node.and_then(|node| {
            if open.is_outermost && frame.gpu.is_some() {
                node.watch_outliers(open.busy_ticks, node);
            }
            let recorded = match (&frame.gpu, &frame.call) {
                (None, None) => node.record(&call, thread.writer()),
                _ => record_with_frame(thread, node, &mut call, ended, |_| Some(frame)),
            };
            recorded.then_some(()).ok_or(NodeError::ThreadEnded)
        });
        if let Err(error) = recorded {
            collector().end_unrecorded_future(open.path, open.started);
            count_dropped(thread, error);
        }
    });
}
