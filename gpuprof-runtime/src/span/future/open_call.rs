//! A call of an async function from its first poll to its end.

use crate::clock;
use crate::collector::collector;
use crate::gpu::frame_stack::SpanFrame;
use crate::gpu::{self, CallStreams};
use crate::os::own_work::OwnWork;
use crate::recorder::CallArguments;
use crate::site::Site;
use crate::site::labels::LabelNumber;
use crate::span::call_in_progress::CallInProgress;
use crate::span::recording::{
    begin_gpu_timing, begin_profiled_call, count_dropped, measure_overhead, record_with_frame,
    valid_work,
};
use crate::span::thread_state::{NodeError, ThreadState, with_thread};
use crate::span::time_line::EndedSpan;
use crate::stats::call_outcome::{CallRecord, GpuOutcome, StatedWork, UntimedReason};
use crate::stats::path_counters::PathCounters;
use crate::stats::profiled_call::ProfiledCall;
use crate::stats::sampling_decisions::CallSampling;

#[derive(Debug)]
pub(super) struct MeasuredCall {
    /// `None`: it is not GPU-timed.
    pub(super) streams: Option<CallStreams>,
    pub(super) work: StatedWork,
    /// CUPTI's records are attributed to it.
    pub(super) correlates: bool,
    /// `None`: the call is not on the time line, or only from a later poll on.
    pub(super) arguments: Option<CallArguments>,
}

/// A call between its first poll and its end.
#[derive(Debug)]
pub(super) struct PolledCall {
    site: &'static Site,
    label: LabelNumber,
    /// The path of the span in which the first poll ran.
    parent: u32,
    pub(super) path: u32,
    pub(super) started: u64,
    pub(super) busy_ticks: u64,
    pub(super) nested_ticks: u64,
    pub(super) gpu: Option<Box<gpu::OpenGpuSpan>>,
    work: StatedWork,
    pub(super) profiled: Option<ProfiledCall>,
    /// It began inside a call that sampling left out.
    is_left_out: bool,
    /// Sampling had decided on no call around it.
    is_outermost: bool,
    /// For the first poll on the time line.
    arguments: Option<CallArguments>,
    /// When the last poll ended, clock ticks.
    pub(super) last_polled: Option<u64>,
    /// If anybody has asked for it: see [`current_span`](crate::span::thread_state::current_span).
    pub(super) as_value: Option<CallInProgress>,
}

impl PolledCall {
    /// A poll begins on this thread.
    pub(super) fn resume(&mut self, thread: &ThreadState) {
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
    pub(super) fn pause(&mut self, thread: &ThreadState) {
        if self.is_untimed() {
            thread.end_untimed();
        } else if let Some(gpu) = &mut self.gpu {
            gpu.pause(thread.untimed_begun());
        }
    }

    /// The outermost path, in the counters of the thread that begins a poll, for what is polled.
    /// `None`: it is not known here.
    pub(super) fn outermost(&self, thread: &ThreadState) -> Option<&'static PathCounters> {
        if self.is_outermost && self.gpu.is_some() {
            thread.node(self.parent, self.site, self.label).ok()
        } else if thread.path() == self.parent {
            // Polled where it began, it is in what is around the poll.
            thread.sampling.outermost()
        } else {
            None
        }
    }

    /// Puts a poll on the time line.
    #[cold]
    pub(super) fn record_poll(&mut self, thread: &ThreadState, started: u64, ended: u64) {
        let span = EndedSpan {
            path: self.path,
            started,
            ended,
            gpu_call: self.gpu.as_ref().map_or(0, |gpu| gpu.call_number()),
        };
        let arguments = self.arguments.take().filter(|own| !own.is_empty());
        thread.with_recorder(|recorder| recorder.record(&span, arguments));
    }

    #[cfg(feature = "tracing")]
    pub(super) fn set_arguments(&mut self, arguments: CallArguments) {
        if let Some(kept) = &mut self.arguments {
            *kept = arguments;
        }
    }

    fn is_untimed(&self) -> bool {
        let of_gpu = || self.gpu.as_ref().and_then(|gpu| gpu.untimed_reason());
        self.is_left_out || of_gpu().is_some()
    }
}

pub(super) fn open(
    site: &'static Site,
    label: LabelNumber,
    measured: MeasuredCall,
) -> Option<Box<PolledCall>> {
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
            thread.with_gpu(|gpu| gpu.recycle_streams(unused));
        }
        let is_outermost = thread.is_outside();
        // Most spans of a program without a default stream stop here.
        let may_be_timed = |streams: &CallStreams| {
            !matches!(streams, CallStreams::Inherit) || thread.may_inherit_stream()
        };
        let gpu = streams.filter(may_be_timed).and_then(|streams| {
            let sampling = CallSampling {
                rate: thread.rate(site, node),
                decisions: &thread.sampling.decisions,
                made: None,
            };
            let begin = |gpu: &mut gpu::GpuThread| {
                let timing = &collector().gpu;
                begin_gpu_timing(timing, gpu, streams, sampling, site, node.path, true)
            };
            measure_overhead(thread, clock::now(), begin).and_then(|(open, _)| open)
        });
        let reason = gpu.as_ref().and_then(|gpu| gpu.untimed_reason());
        if is_left_out || reason.is_some_and(UntimedReason::is_by_sampling) {
            thread.sampling.miss(site, node);
        }
        let begin_call = || {
            thread
                .with_gpu(|gpu| begin_profiled_call(gpu, site, node.path))
                .flatten()
        };
        let started = clock::now();
        node.begin_async(started);
        Some(Box::new(PolledCall {
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
            last_polled: None,
            as_value: None,
        }))
    })
}

/// An end event that is recorded so long after the last poll, ns, measures other work too.
const LATE_NS: u64 = 50_000;

/// The call ends. `ends_with_poll`: it ended with its last poll, and that is noticed now.
#[expect(
    clippy::boxed_local,
    reason = "it is on the heap, and copying it here takes as long as a clock read"
)]
pub(super) fn close(mut open: Box<PolledCall>, ends_with_poll: bool) {
    let _own = OwnWork::begin();
    let last_polled = open.last_polled.filter(|_| ends_with_poll);
    let ended = last_polled.unwrap_or_else(clock::now);
    let is_late = || clock::rough_ns(clock::now().saturating_sub(ended)) > LATE_NS;
    let has_gpu_span = open.gpu.as_ref().is_some_and(|gpu| gpu.is_started());
    let is_cancelled = has_gpu_span && is_late();
    if is_cancelled {
        // Its drop cancels it.
        open.gpu = None;
    }
    if let Some(as_value) = &open.as_value {
        as_value.end();
    }
    let mut call = CallRecord {
        started: open.started,
        cpu_ticks: open.busy_ticks,
        nested_ticks: open.nested_ticks,
        wall_ticks: Some(ended.saturating_sub(open.started)),
        outcome: if is_cancelled {
            GpuOutcome::Untimed(UntimedReason::StreamUnsafe)
        } else if open.is_left_out {
            GpuOutcome::Untimed(UntimedReason::LeftOutUnasked)
        } else {
            GpuOutcome::NoStream
        },
        work: &open.work,
        gpu_call: 0,
    };
    let frame = SpanFrame {
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
