//! The start events of a timed call, and what the resolver is told of them.

use smallvec::SmallVec;

use crate::driver::table::Driver;
use crate::gpu::events::pool::EventPair;
use crate::gpu::events::record::{self, Started};
use crate::gpu::events::span::{SpanKey, SpanStart};
use crate::gpu::thread::gpu_thread::GpuThread;
use crate::gpu::thread::local_streams::LocalStream;
use crate::gpu::thread::span_streams::{SpanStream, TimedSpan};
use crate::stats::call_outcome::{GpuOutcome, UntimedReason};
use crate::stats::sampling_decisions::SamplingDecision;

pub(super) const UNAVAILABLE: GpuOutcome = GpuOutcome::Untimed(UntimedReason::Unavailable);

/// Where in the call tree a span is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteAndPath {
    pub(crate) site: u32,
    pub(crate) path: u32,
}

/// A call that starts: where, in which window, and what sampling decided.
pub(super) type StartedCall<'a> = (SiteAndPath, u32, &'a SamplingDecision);

/// Records the start event on one stream.
#[inline(always)]
fn record_start(
    driver: &Driver,
    local: &mut LocalStream,
    stream: &mut SpanStream,
) -> Result<(SpanKey, Started), GpuOutcome> {
    if !local.has_room() {
        // A captured call is counted as captured.
        let full = Err(GpuOutcome::Untimed(UntimedReason::QueueFull));
        return record::check(driver, &local.shared).and(full);
    }
    let key = local.next_key();
    let started = record::start(driver, &local.shared, &mut local.stock, key.number)?;
    let end = started.pair.end;
    stream.timed = Some(TimedSpan { key, end });
    Ok((key, started))
}

/// What the resolver is told of a call that has started.
#[inline(always)]
fn span_start(
    (key, pair): (SpanKey, EventPair),
    (parent, weight_between): (Option<SpanKey>, u32),
    (place, epoch, decision): StartedCall<'_>,
    (streams, first): (u32, Option<SpanKey>),
) -> SpanStart {
    SpanStart {
        key,
        pair,
        path: place.path,
        site: place.site,
        epoch,
        parent,
        weight_in_parent: weight_between.saturating_mul(decision.own_weight),
        draw: decision.draw,
        streams,
        first,
        came_at: 0,
    }
}

/// Starts a call on one stream.
#[inline(always)]
pub(super) fn start_on_one(
    driver: &Driver,
    thread: &mut GpuThread,
    stream: &mut SpanStream,
    call: StartedCall<'_>,
) -> Result<(), GpuOutcome> {
    let around = if thread.has_open() {
        thread.timed_around(&stream.shared)
    } else {
        (None, 1)
    };
    let local = thread.streams.get_mut(&stream.shared).ok_or(UNAVAILABLE)?;
    let (key, started) = record_start(driver, local, stream)?;
    local.send_start(span_start((key, started.pair), around, call, (1, None)));
    Ok(())
}

/// The same on several, or on none.
#[cold]
pub(super) fn start_on_several(
    driver: &Driver,
    thread: &mut GpuThread,
    streams: &mut [SpanStream],
    call: StartedCall<'_>,
) -> Result<(), GpuOutcome> {
    let mut all = SmallVec::<[Started; 4]>::new();
    for stream in &mut *streams {
        let local = thread.streams.get_mut(&stream.shared);
        let started = local
            .ok_or(UNAVAILABLE)
            .and_then(|local| record_start(driver, local, stream));
        match started {
            Ok((_, started)) => all.push(started),
            Err(outcome) => {
                for (stream, started) in streams.iter_mut().zip(all) {
                    if let Some(timed) = stream.timed.take() {
                        record::take_back(&stream.shared, started, timed.key.number);
                    }
                }
                return Err(outcome);
            }
        }
    }
    let first = streams.first().and_then(|first| first.timed);
    let of_call = (streams.len() as u32, first.map(|first| first.key));
    for (stream, started) in streams.iter().zip(all) {
        let around = thread.timed_around(&stream.shared);
        let local = thread.streams.get_mut(&stream.shared);
        if let (Some(local), Some(timed)) = (local, stream.timed) {
            local.send_start(span_start((timed.key, started.pair), around, call, of_call));
        }
    }
    Ok(())
}
