//! The streams of a call that has not begun.

use crate::gpu::thread::open_gpu_span::OpenGpuSpan;
use crate::stats::call_outcome::GpuOutcome;

/// The streams of a call, held so that nothing borrowed is left; in the entry that the call will
/// have.
#[derive(Debug)]
pub(crate) enum CallStreams {
    /// The enclosing span's, when the call begins.
    Inherit,
    /// Its own.
    Own(Box<OpenGpuSpan>),
    /// The default of all threads.
    Default(Box<OpenGpuSpan>),
    /// Its own, which cannot be used.
    Refused(GpuOutcome),
}
