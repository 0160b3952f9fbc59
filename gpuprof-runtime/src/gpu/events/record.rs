//! The driver calls around a span: asks whether the stream is being captured, then records the
//! event.

use crate::driver::current_context::with_current;
use crate::driver::handles::Event;
use crate::driver::table::{Driver, FailedCall};
use crate::gpu::events::pair_stock::PairStock;
use crate::gpu::events::pool::{EventPair, NoPair};
use crate::gpu::events::thread_stream::ThreadStream;
use crate::stats::call_outcome::{GpuOutcome, UntimedReason};

/// Why no event is recorded.
enum Unrecorded {
    Untimed(GpuOutcome),
    Failed(FailedCall),
}

const UNAVAILABLE: Unrecorded =
    Unrecorded::Untimed(GpuOutcome::Untimed(UntimedReason::Unavailable));
const CUDA_ERROR: GpuOutcome = GpuOutcome::Untimed(UntimedReason::CudaError);

/// Whether an event can be recorded on the stream now.
#[inline]
pub(in crate::gpu) fn check(driver: &Driver, stream: &ThreadStream) -> Result<(), GpuOutcome> {
    with_context_of(driver, stream, || check_stream(driver, stream))
}

/// A span whose start event is recorded.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Started {
    pub(in crate::gpu) pair: EventPair,
    /// The context was handed over for it.
    pub(in crate::gpu) was_handed_over: bool,
}

/// Records the start event of a span, with a pair of the thread's `stock` for the stream, on
/// which it has `started` so many.
#[inline(always)]
pub(in crate::gpu) fn start(
    driver: &Driver,
    stream: &ThreadStream,
    stock: &mut PairStock,
    started: u32,
) -> Result<Started, GpuOutcome> {
    with_context_of(driver, stream, || {
        check_stream(driver, stream)?;
        let pair = stock
            .take(&stream.context, &stream.returned, started, driver)
            .map_err(|no_pair| {
                Unrecorded::Untimed(match no_pair {
                    NoPair::Exhausted => GpuOutcome::Untimed(UntimedReason::PoolExhausted),
                    NoPair::Failed => CUDA_ERROR,
                })
            })?;
        let announced = Started {
            pair,
            was_handed_over: stream.announce(started.wrapping_add(1)),
        };
        match driver.record(pair.start, stream.stream) {
            Ok(()) => Ok(announced),
            Err(failed) => {
                take_back(stream, announced, started);
                Err(Unrecorded::Failed(failed))
            }
        }
    })
}

/// Undoes what [`start`] did for a span that is not to start, after `started` ones.
#[cold]
pub(in crate::gpu) fn take_back(stream: &ThreadStream, span: Started, started: u32) {
    stream.retract(started, span.was_handed_over);
    stream.context.return_pair(span.pair);
}

/// Records the end event of a span.
#[inline(always)]
pub(in crate::gpu) fn end(
    driver: &Driver,
    stream: &ThreadStream,
    event: Event,
) -> Result<(), GpuOutcome> {
    with_context_of(driver, stream, || {
        check_stream(driver, stream)?;
        let recorded = driver.record(event, stream.stream);
        recorded.map_err(Unrecorded::Failed)
    })
}

/// Asked before any other call on the stream: an event recorded while it is captured would measure
/// nothing.
#[inline(always)]
fn check_stream(driver: &Driver, stream: &ThreadStream) -> Result<(), Unrecorded> {
    if stream.context.is_broken() || driver.has_ended() {
        return Err(UNAVAILABLE);
    }
    match driver.is_capturing(stream.stream) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Unrecorded::Untimed(GpuOutcome::CAPTURED)),
        Err(failed) => Err(Unrecorded::Failed(failed)),
    }
}

/// Runs `f`, which may run twice, with the stream's context current where the driver needs that.
#[inline(always)]
fn with_context_of<R>(
    driver: &Driver,
    stream: &ThreadStream,
    mut f: impl FnMut() -> Result<R, Unrecorded>,
) -> Result<R, GpuOutcome> {
    if stream.names_context && !driver.needs_current_context() {
        match f() {
            Err(Unrecorded::Failed(failed)) if failed.is_of_context() => {
                driver.note_needs_current_context();
            }
            result => return result.map_err(|unrecorded| outcome(stream, unrecorded)),
        }
    }
    with_current(driver, stream.context.handle, f).map_or_else(
        |failed| Err(not_current(driver, stream, failed)),
        |result| result.map_err(|unrecorded| outcome(stream, unrecorded)),
    )
}

#[cold]
fn outcome(stream: &ThreadStream, unrecorded: Unrecorded) -> GpuOutcome {
    match unrecorded {
        Unrecorded::Untimed(outcome) => outcome,
        Unrecorded::Failed(failed) => {
            stream.context.count_failure(failed);
            CUDA_ERROR
        }
    }
}

/// The stream's context could not be made current.
#[cold]
fn not_current(driver: &Driver, stream: &ThreadStream, failed: FailedCall) -> GpuOutcome {
    stream.context.count_failure(failed);
    // The driver's end is no error.
    GpuOutcome::Untimed(if driver.has_ended() {
        UntimedReason::Unavailable
    } else {
        UntimedReason::CudaError
    })
}
