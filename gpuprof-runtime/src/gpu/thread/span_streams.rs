//! The streams of one call, with all that their events need.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::driver::handles::Event;
use crate::gpu::events::span::SpanKey;
use crate::gpu::events::thread_stream::ThreadStream;
use crate::gpu::stream::hold::Hold;

/// A stream of a call.
#[derive(Clone, Debug)]
pub(crate) struct SpanStream {
    /// As the thread uses it that the call began on.
    pub(in crate::gpu) shared: Arc<ThreadStream>,
    pub(in crate::gpu) hold: Hold,
    /// The call's span there, if it is timed.
    pub(in crate::gpu) timed: Option<TimedSpan>,
}

/// A span whose start event is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedSpan {
    pub(in crate::gpu) key: SpanKey,
    pub(in crate::gpu) end: Event,
}

impl SpanStream {
    pub(in crate::gpu) fn new(shared: Arc<ThreadStream>, hold: Hold) -> Self {
        Self {
            shared,
            hold,
            timed: None,
        }
    }
}

/// The streams of a call, almost always one.
pub(crate) type SpanStreams = SmallVec<[SpanStream; 1]>;
