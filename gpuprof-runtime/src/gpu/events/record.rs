//! The driver calls around a span: asks whether the stream is being captured, then records the
//! event.

use crate::gpu::driver::current_context::within;
use crate::gpu::driver::handles::Event;
use crate::gpu::driver::table::Driver;
use crate::gpu::events::pair_stock::PairStock;
use crate::gpu::events::pool::{NoPair, Pair};
use crate::gpu::events::thread_stream::ThreadStream;
use crate::stats::ended_call::{GpuOutcome, UntimedReason};

/// Whether an event can be recorded on the stream now.
#[inline]
pub(in crate::gpu) fn check(driver: &Driver, stream: &ThreadStream) -> Result<(), GpuOutcome> {
    in_context_of(driver, stream, || check_stream(driver, stream))
}

/// Records the start event of a span, with a pair of the thread's `stock` for the stream, on
/// which it has `started` so many.
#[inline]
pub(in crate::gpu) fn start(
    driver: &Driver,
    stream: &ThreadStream,
    (stock, started): (&mut PairStock, u32),
) -> Result<Pair, GpuOutcome> {
    in_context_of(driver, stream, || {
        check_stream(driver, stream)?;
        let pair = stock.take(&stream.context, &stream.returned, started, driver);
        let pair = pair.map_err(|no_pair| match no_pair {
            NoPair::Exhausted => GpuOutcome::Untimed(UntimedReason::PoolExhausted),
            NoPair::Failed => GpuOutcome::Untimed(UntimedReason::CudaError),
        })?;
        record(driver, stream, pair.start)
            .map(|()| pair)
            .inspect_err(|_| stream.context.give(pair))
    })
}

/// Records the end event of a span.
#[inline]
pub(in crate::gpu) fn end(
    driver: &Driver,
    stream: &ThreadStream,
    event: Event,
) -> Result<(), GpuOutcome> {
    in_context_of(driver, stream, || {
        check_stream(driver, stream)?;
        record(driver, stream, event)
    })
}

#[inline]
fn record(driver: &Driver, stream: &ThreadStream, event: Event) -> Result<(), GpuOutcome> {
    driver.record(event, stream.stream).map_err(|failed| {
        stream.context.note(failed);
        GpuOutcome::Untimed(UntimedReason::CudaError)
    })
}

#[inline]
fn in_context_of<R>(
    driver: &Driver,
    stream: &ThreadStream,
    f: impl FnOnce() -> Result<R, GpuOutcome>,
) -> Result<R, GpuOutcome> {
    within(driver, stream.context.handle, f).unwrap_or_else(|failed| {
        stream.context.note(failed);
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
fn check_stream(driver: &Driver, stream: &ThreadStream) -> Result<(), GpuOutcome> {
    if stream.context.is_broken() || driver.has_ended() {
        return Err(GpuOutcome::Untimed(UntimedReason::Unavailable));
    }
    match driver.is_capturing(stream.stream) {
        Ok(false) => Ok(()),
        Ok(true) => Err(GpuOutcome::CAPTURED),
        Err(failed) => {
            stream.context.note(failed);
            Err(GpuOutcome::Untimed(UntimedReason::CudaError))
        }
    }
}
