//! What a span tells the resolver when it starts and when it ends.

use crate::driver::handles::Event;
use crate::gpu::events::pool::EventPair;
use crate::stats::adaptive_sampling::CallCosts;
use crate::stats::call_outcome::StatedWork;
use crate::stats::sampling_decisions::SamplingDraw;

/// The name of a span on one stream: no other one that is open or unresolved has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct SpanKey {
    /// [`ThreadStream::id`](super::thread_stream::ThreadStream::id).
    pub(in crate::gpu) thread_stream: u32,
    /// Its number among those of the thread's stream.
    pub(in crate::gpu) number: u32,
}

impl SpanKey {
    /// As the number of a call on the time line; never 0.
    #[inline]
    pub(in crate::gpu) fn call_number(self) -> u64 {
        (u64::from(self.thread_stream) + 1) << 32 | u64::from(self.number)
    }
}

/// A span when it starts.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct SpanStart {
    pub(in crate::gpu) key: SpanKey,
    pub(in crate::gpu) pair: EventPair,
    pub(in crate::gpu) path: u32,
    pub(in crate::gpu) site: u32,
    /// The window that it began in.
    pub(in crate::gpu) epoch: u32,
    /// The nearest timed span around it on the same stream.
    pub(in crate::gpu) parent: Option<SpanKey>,
    /// The product of the sampling rates between `parent` (exclusive) and this span (inclusive):
    /// the number of spans inside one timed parent for which this one stands.
    pub(in crate::gpu) weight_in_parent: u32,
    pub(in crate::gpu) draw: SamplingDraw,
    /// The streams that the call is timed on.
    pub(in crate::gpu) streams: u32,
    /// The call's span on the first of several streams.
    pub(in crate::gpu) first: Option<SpanKey>,
    /// The resolver's look at which it came.
    pub(in crate::gpu) came_at: u64,
}

/// A span when it ends.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct SpanEnd {
    pub(in crate::gpu) key: SpanKey,
    pub(in crate::gpu) event: Event,
    pub(in crate::gpu) work: StatedWork,
    /// Host time between its two events, in clock ticks, of a span that inherited its stream.
    pub(in crate::gpu) inherited_host_ticks: Option<u64>,
    /// CPU time of the call, in clock ticks.
    pub(in crate::gpu) cpu_ticks: u64,
    /// What timing calls has cost its thread lately.
    pub(in crate::gpu) costs: CallCosts,
    /// It ended in another window than it began in.
    pub(in crate::gpu) is_crossed: bool,
    /// Untimed calls ran between the polls of its future.
    pub(in crate::gpu) has_untimed_between: bool,
}

/// What has become of a span, as its thread tells the resolver.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) enum SpanStep {
    /// Its start event is recorded.
    Start(SpanStart),
    /// Its end event is recorded.
    End(SpanEnd),
    /// It will have no end event.
    Cancel(SpanKey),
}
