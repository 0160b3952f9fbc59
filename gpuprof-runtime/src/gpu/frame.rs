//! A span that is open on a thread: its streams, its sampling decision and its event pairs.

use std::sync::Arc;
use std::thread::ThreadId;

use crate::gpu::child_time::Inside;
use crate::gpu::events::pool::Pair;
use crate::gpu::events::record;
use crate::gpu::frame_stack::FrameToken;
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::sampling::Chosen;
use crate::gpu::stream::resolve::{Lane, Lanes};
use crate::gpu::stream::stream_ref::StreamRef;
use crate::gpu::timer::Timing;
use crate::stats::ended_call::GpuOutcome;
use crate::stats::gpu_totals::TimedCall;
use crate::stats::path_ids::ROOT;

/// A span that is open on this thread, or a `with_stream`.
#[derive(Debug)]
pub(crate) struct Open {
    pub(super) site: u32,
    pub(super) path: u32,
    /// Spans inside inherit the first.
    pub(super) lanes: Lanes,
    /// The frame of the call that lends the stream, of one that inherits a stream and does not own
    /// it.
    pub(super) lender: Option<FrameToken>,
    /// What sampling decided; spans inside follow. `None`: it had nothing to decide.
    pub(super) chosen: Option<Chosen>,
    /// It has its start events.
    pub(super) timed: bool,
    /// The window it began in.
    pub(super) epoch: u32,
    /// Made when the first span inside begins on the same single stream, at once for futures.
    pub(super) inside: Option<Arc<Inside>>,
    pub(super) state: State,
    /// The call as it goes to the resolver, of one that is [`Started`](State::Started); so are the
    /// next four. Beside the state and not in it: what is written here stays where it is.
    pub(super) call: TimedCall,
    pub(super) pairs: Pairs,
    /// Where the time goes that the enclosing span must not count as its own.
    pub(super) enclosing: Option<Arc<Inside>>,
    /// Where it began.
    pub(super) thread: Option<ThreadId>,
    /// Its pairs are of the share for async calls.
    pub(super) is_async: bool,
}

/// What became of the call so far.
#[derive(Debug)]
pub(super) enum State {
    /// No call at all: a default stream, or a future's part between its polls.
    None,
    Untimed(GpuOutcome),
    /// Untimed because its own stream cannot be used. Spans inside must not inherit one from
    /// further out instead.
    Unusable(GpuOutcome),
    /// Its start events are recorded.
    Started,
}

/// The pairs of a call, one for each lane.
#[derive(Debug)]
pub(super) enum Pairs {
    One(Pair),
    Many(Vec<Pair>),
}

impl Pairs {
    pub(super) const NONE: Self = Self::Many(Vec::new());

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Many(none) if none.capacity() == 0)
    }

    pub(super) fn as_slice(&self) -> &[Pair] {
        match self {
            Self::One(pair) => std::slice::from_ref(pair),
            Self::Many(pairs) => pairs,
        }
    }
}

/// What is dropped without an end has no end event, as when a thread is taking its thread-locals
/// down: its pairs go back.
impl Drop for Open {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Open {
    #[inline]
    pub(super) fn give_back(&self) {
        if let State::Started = self.state {
            let lanes = self.lanes.as_slice().iter();
            let started = lanes.zip(self.pairs.as_slice());
            started.for_each(|(lane, pair)| lane.context.give(*pair));
            if self.is_async {
                record::end_async(self.lanes.as_slice().iter());
            }
            if let Some(inside) = &self.inside {
                inside.close(false, 0);
            }
        }
    }
}

impl Open {
    #[cold]
    pub(super) fn boxed() -> Box<Self> {
        Box::new(Self {
            site: u32::MAX,
            path: ROOT,
            lanes: Lanes::NONE,
            lender: None,
            chosen: None,
            timed: false,
            epoch: 0,
            inside: None,
            state: State::None,
            call: TimedCall::EMPTY,
            pairs: Pairs::NONE,
            enclosing: None,
            thread: None,
            is_async: false,
        })
    }

    /// For an entry that is blank: it has nothing to let go of, which need not be found out.
    #[inline]
    pub(super) fn set_lanes(&mut self, lanes: Lanes) {
        std::mem::forget(std::mem::replace(&mut self.lanes, lanes));
    }

    /// The same.
    #[inline]
    pub(super) fn set_pairs(&mut self, pairs: Pairs) {
        std::mem::forget(std::mem::replace(&mut self.pairs, pairs));
    }

    /// The entry for one poll of a future: what spans inside need to know, without the call itself.
    pub(crate) fn for_poll(&self, thread: &mut GpuThread) -> Box<Self> {
        let mut open = thread.blank();
        open.site = self.site;
        open.path = self.path;
        open.lanes = self.lanes.clone();
        open.chosen = self.chosen;
        open.timed = self.timed && !self.is_on_another_stream(thread.id);
        if let State::Unusable(outcome) = self.state {
            open.state = State::Unusable(outcome);
        }
        open.epoch = self.epoch;
        open.inside = self.inside.clone();
        open
    }

    /// Whether its stream's handle stands for another stream on this thread, so that nothing here
    /// is in its time.
    fn is_on_another_stream(&self, here: ThreadId) -> bool {
        let mut lanes = self.lanes.as_slice().iter();
        self.thread.is_some_and(|thread| thread != here)
            && lanes.any(|lane| lane.stream == crate::gpu::driver::handles::Stream::PER_THREAD)
    }

    /// A default stream without a span, as `with_stream` sets it.
    pub(crate) fn default_stream(
        timing: &Timing,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> Option<Box<Self>> {
        let lane = timing.lane(thread, stream, false).ok()?;
        let mut open = thread.blank();
        open.site = u32::MAX;
        open.path = ROOT;
        open.lanes = Lanes::One(lane);
        open.epoch = crate::stats::window_epoch::current();
        Some(open)
    }

    /// Whether it will have a time in this window: one that began before a reset will not.
    pub(super) fn is_timed(&self) -> bool {
        self.timed && self.epoch == crate::stats::window_epoch::current()
    }

    /// Whether it is timed on exactly this stream.
    pub(super) fn times_alone(&self, lane: &Lane) -> bool {
        self.is_timed() && matches!(&self.lanes, Lanes::One(mine) if mine.is_same_stream(lane))
    }
}
