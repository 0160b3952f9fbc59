//! The driver calls around a span: asks whether the stream is being captured, then records the
//! event.

use crate::gpu::driver::table::Driver;
use crate::gpu::events::pool::{NoPair, Pair, within};
use crate::gpu::frame::Pairs;
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::stream::resolve::{Lane, Lanes};
use crate::stats::ended_call::{GpuOutcome, UntimedReason};

/// Whether events can be recorded on all lanes now.
pub(in crate::gpu) fn check(driver: &Driver, lanes: &Lanes) -> Result<(), GpuOutcome> {
    let mut lanes = lanes.as_slice().iter();
    lanes.try_for_each(|lane| in_context_of(driver, lane, || check_stream(driver, lane)))
}

/// Start events on all lanes, or none.
#[inline]
pub(in crate::gpu) fn start(
    driver: &Driver,
    thread: &mut GpuThread,
    lanes: &Lanes,
) -> Result<Pairs, GpuOutcome> {
    match lanes {
        Lanes::One(lane) => start_lane(driver, thread, lane).map(Pairs::One),
        Lanes::Many(lanes) => start_many(driver, thread, lanes),
    }
}

/// The same for an async call, which occupies a pair of the share of each lane's context until it
/// ends.
pub(in crate::gpu) fn start_async(
    driver: &Driver,
    thread: &mut GpuThread,
    lanes: &Lanes,
) -> Result<Pairs, GpuOutcome> {
    let all = lanes.as_slice();
    let occupied = all
        .iter()
        .take_while(|lane| lane.context.async_share.occupy());
    let occupied = occupied.count();
    let started = if occupied == all.len() {
        start(driver, thread, lanes)
    } else {
        // A captured call is counted as captured.
        let exhausted = GpuOutcome::Untimed(UntimedReason::PoolExhausted);
        check(driver, lanes).and(Err(exhausted))
    };
    if started.is_err() {
        end_async(all.iter().take(occupied));
    }
    started
}

/// What an async call on these lanes occupied is free again.
pub(in crate::gpu) fn end_async<'a>(lanes: impl Iterator<Item = &'a Lane>) {
    lanes.for_each(|lane| lane.context.async_share.release());
}

#[cold]
fn start_many(
    driver: &Driver,
    thread: &mut GpuThread,
    lanes: &[Lane],
) -> Result<Pairs, GpuOutcome> {
    let mut pairs = Vec::with_capacity(lanes.len());
    for lane in lanes {
        match start_lane(driver, thread, lane) {
            Ok(pair) => pairs.push(pair),
            Err(outcome) => {
                let started = lanes.iter().zip(pairs);
                started.for_each(|(lane, pair)| lane.context.give(pair));
                return Err(outcome);
            }
        }
    }
    Ok(Pairs::Many(pairs))
}

/// End events on all lanes.
#[inline]
pub(in crate::gpu) fn end(driver: &Driver, lanes: &Lanes, pairs: &Pairs) -> Result<(), GpuOutcome> {
    match (lanes, pairs) {
        (Lanes::One(lane), Pairs::One(pair)) => end_lane(driver, lane, *pair),
        _ => end_many(driver, lanes.as_slice(), pairs.as_slice()),
    }
}

#[cold]
fn end_many(driver: &Driver, lanes: &[Lane], pairs: &[Pair]) -> Result<(), GpuOutcome> {
    let mut each = lanes.iter().zip(pairs);
    each.try_for_each(|(lane, pair)| end_lane(driver, lane, *pair))
}

#[inline]
fn end_lane(driver: &Driver, lane: &Lane, pair: Pair) -> Result<(), GpuOutcome> {
    in_context_of(driver, lane, || {
        check_stream(driver, lane)?;
        driver.record(pair.end, lane.stream).map_err(|failed| {
            lane.context.note(failed);
            GpuOutcome::Untimed(UntimedReason::CudaError)
        })
    })
}

#[inline]
fn start_lane(driver: &Driver, thread: &mut GpuThread, lane: &Lane) -> Result<Pair, GpuOutcome> {
    let context = &lane.context;
    in_context_of(driver, lane, || {
        check_stream(driver, lane)?;
        let pair = thread
            .contexts
            .pair(context, driver)
            .map_err(|no_pair| match no_pair {
                NoPair::Exhausted => GpuOutcome::Untimed(UntimedReason::PoolExhausted),
                NoPair::Failed => GpuOutcome::Untimed(UntimedReason::CudaError),
            })?;
        driver
            .record(pair.start, lane.stream)
            .map(|()| pair)
            .map_err(|failed| {
                context.note(failed);
                context.give(pair);
                GpuOutcome::Untimed(UntimedReason::CudaError)
            })
    })
}

#[inline]
fn in_context_of<R>(
    driver: &Driver,
    lane: &Lane,
    f: impl FnOnce() -> Result<R, GpuOutcome>,
) -> Result<R, GpuOutcome> {
    within(driver, lane.context.handle, f).unwrap_or_else(|failed| {
        lane.context.note(failed);
        // The driver's end is no error.
        Err(GpuOutcome::Untimed(match driver.has_ended() {
            true => UntimedReason::Unavailable,
            false => UntimedReason::CudaError,
        }))
    })
}

/// Asked before any other call on the stream: an event recorded while it is captured would measure
/// nothing.
#[inline]
fn check_stream(driver: &Driver, lane: &Lane) -> Result<(), GpuOutcome> {
    if lane.context.is_broken() || driver.has_ended() {
        return Err(GpuOutcome::Untimed(UntimedReason::Unavailable));
    }
    match driver.is_capturing(lane.stream) {
        Ok(false) => Ok(()),
        Ok(true) => Err(GpuOutcome::Captured),
        Err(failed) => {
            lane.context.note(failed);
            Err(GpuOutcome::Untimed(UntimedReason::CudaError))
        }
    }
}
