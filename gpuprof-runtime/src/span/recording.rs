//! The steps that spans and futures share: the GPU events around a call, its record
//! in the counters, and what these cost.

use std::sync::atomic::Ordering::Relaxed;

use super::thread_state::{NodeError, ThreadState};
use crate::clock;
use crate::collector::collector;
use crate::cupti;
use crate::gpu::frame_stack::SpanFrame;
use crate::gpu::{CallStreams, GpuThread, OpenGpuSpan, SiteAndPath, Timing};
use crate::os::own_work::OwnWork;
use crate::site::Site;
use crate::stats::call_outcome::{CallRecord, GpuOutcome, StatedWork};
use crate::stats::path_counters::PathCounters;
use crate::stats::profiled_call::{EndedCall, ProfiledCall};
use crate::stats::sampling_decisions::CallSampling;

/// Counts a call that cannot be recorded.
#[cold]
pub(super) fn count_dropped(thread: &ThreadState, error: NodeError) {
    match error {
        NodeError::LimitReached => thread.count(|counters| &counters.dropped, 1),
        NodeError::ThreadEnded => {
            collector().calls_after_thread_exit.fetch_add(1, Relaxed);
        }
    }
}

/// The work without the amounts that would spoil a sum. Counts a call that states one.
pub(super) fn valid_work(thread: &ThreadState, work: &StatedWork) -> StatedWork {
    let valid = work.without_invalid();
    if valid != *work {
        thread.count(|counters| &counters.invalid_amounts, 1);
    }
    valid
}

/// A call that CUPTI's records can be attributed to. `None` if CUPTI does not run in this process,
/// as in a forked child, which has no thread to take ended calls off the queue.
pub(super) fn begin_profiled_call(
    gpu: &mut GpuThread,
    site: &Site,
    path: u32,
) -> Option<ProfiledCall> {
    cupti::is_running()
        .then(|| gpu.begin_call(site, path))
        .flatten()
}

/// Runs `f` on the thread's GPU state and counts the time since `before` as overhead. Returns the
/// result with the clock at the end. `None`: the thread is ending, or the state is in use further
/// up the stack, which only broken nesting can cause.
#[inline]
pub(super) fn measure_overhead<R>(
    thread: &ThreadState,
    before: u64,
    f: impl FnOnce(&mut GpuThread) -> R,
) -> Option<(R, u64)> {
    thread.with_gpu(|gpu| {
        let result = f(gpu);
        let after = clock::now();
        let took = after.saturating_sub(before);
        let set_up = gpu.take_set_up();
        let stalled = clock::is_long(took) && has_stalled(gpu, took);
        gpu.count_cost(took, set_up || stalled);
        thread.count(
            |counters| {
                if set_up {
                    &counters.setup_ticks
                } else if stalled {
                    &counters.stalled_ticks
                } else {
                    &counters.overhead_ticks
                }
            },
            took,
        );
        (result, after)
    })
}

/// Whether a record that took long waited for a place in the stream's queue, as the next launch
/// would have. If not, it waited for locks of the driver that other threads held.
#[cold]
fn has_stalled(gpu: &GpuThread, took: u64) -> bool {
    !gpu.waits_for_threads() || clock::is_longer_than_a_turn(took)
}

/// Decides whether a call is timed, and if so records its start event. `None`: it has no stream.
#[inline]
pub(super) fn begin_gpu_timing(
    timing: &'static Timing,
    gpu: &mut GpuThread,
    streams: CallStreams,
    sampling: CallSampling<'_>,
    site: &Site,
    path: u32,
    is_async: bool,
) -> Option<Box<OpenGpuSpan>> {
    let place = SiteAndPath {
        site: site.id()?,
        path,
    };
    let streams = match streams {
        // Neither a span nor a `with_stream` is around the call.
        CallStreams::Inherit if !gpu.has_open() => {
            timing.hold_default(gpu, &collector().default_stream.stream()?)
        }
        streams => streams,
    };
    let open = timing.begin(gpu, streams, sampling, place, is_async);
    // Only once a stream exists: before that CUDA may not be initialized, and the driver would
    // register its exit handler after ours.
    if open.is_some() {
        collector().first_context.meet();
    }
    open
}

/// Records the end event of the frame that `take` returns, and the call, which ended when the clock
/// read `ended`. Returns whether the call was recorded.
#[inline]
pub(super) fn record_with_frame(
    thread: &ThreadState,
    node: &PathCounters,
    call: &mut CallRecord<'_>,
    ended: u64,
    take: impl FnOnce(&mut GpuThread) -> Option<SpanFrame<Box<OpenGpuSpan>>>,
) -> bool {
    let recorded = measure_overhead(thread, ended, |gpu| {
        let writer = thread.writer();
        let (timing, frame) = (&collector().gpu, take(gpu));
        let (open, profiled) = frame.map_or((None, None), |frame| (frame.gpu, frame.call));
        let ended = match open {
            Some(open) => timing.end(gpu, open, writer.epoch()),
            None => Err(GpuOutcome::NoStream),
        };
        call.outcome = match &ended {
            Ok(open) => open.outcome(),
            Err(outcome) => *outcome,
        };
        // The call is recorded before its sample is submitted, so that no profile has a GPU time
        // without its call.
        let recorded = node.record(call, writer);
        if let Ok(open) = ended {
            call.gpu_call = open.call_number();
            timing.submit(gpu, open, call);
        }
        if let Some(profiled) = profiled.filter(|_| recorded) {
            let ended = EndedCall::new(profiled, call.outcome, call.cpu_ticks, writer.epoch());
            collector().cupti.end_call(ended);
        }
        recorded
    });
    match recorded {
        Some((recorded, _)) => recorded,
        None => {
            let _own = OwnWork::begin();
            node.record(call, thread.writer())
        }
    }
}
