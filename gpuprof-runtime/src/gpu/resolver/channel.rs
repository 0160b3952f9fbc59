//! Sends samples from the thread that ended a span to the resolver: one wait-free ring per thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_queue::SegQueue;
use crossbeam_utils::CachePadded;
use cudarc::driver::CudaContext;

use crate::gpu::child_time::Inside;
use crate::gpu::driver::handles::Stream;
use crate::gpu::events::pool::Pair;
use crate::gpu::events::thread_context::ThreadContext;
use crate::gpu::frame::{self, Open};
use crate::gpu::stream::context_guard::Kept;
use crate::gpu::stream::resolve::{Lane, Lanes};
use crate::stats::ended_call::StatedWork;
use crate::stats::gpu_totals::TimedCall;
use crate::sync::AtomicU64;

/// Samples that one thread can have in flight; one that states work takes the room of two. A call
/// past it goes untimed and is counted.
const RING: usize = 4_096;
/// Samples that come through a ring between two looks of the resolver's before these are too few.
pub(in crate::gpu) const CROWDED: u64 = RING as u64 / 8;

/// One event pair and the stream it was recorded on.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) context: Arc<ThreadContext>,
    pub(crate) pair: Pair,
    pub(crate) stream: Stream,
}

/// The pairs of one call: almost always one.
#[derive(Debug)]
pub(crate) enum Pairs {
    One(Recorded),
    Many(Vec<Recorded>),
}

impl Pairs {
    /// A call's lanes and pairs as the resolver wants them.
    #[inline]
    pub(in crate::gpu) fn of(open: &mut Open) -> Self {
        let one = |lane: Lane, pair| Recorded {
            context: lane.context,
            pair,
            stream: lane.stream,
        };
        let pairs = std::mem::replace(&mut open.pairs, frame::Pairs::NONE);
        match (open.lanes.take(), pairs) {
            (Lanes::One(lane), frame::Pairs::One(pair)) => Self::One(one(lane, pair)),
            (lanes, pairs) => {
                let lanes = lanes.as_slice().iter().cloned();
                let pairs = pairs.as_slice().iter().copied();
                Self::Many(
                    lanes
                        .zip(pairs)
                        .map(|(lane, pair)| one(lane, pair))
                        .collect(),
                )
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[Recorded] {
        match self {
            Self::One(recorded) => std::slice::from_ref(recorded),
            Self::Many(recorded) => recorded,
        }
    }

    /// The one pair, where it is one: those of one thread on one stream complete in order.
    pub(crate) fn single(&self) -> Option<&Recorded> {
        match self {
            Self::One(recorded) => Some(recorded),
            Self::Many(_) => None,
        }
    }

    /// Puts all pairs back into their pools.
    pub(crate) fn recycle(&self) {
        for recorded in self.as_slice() {
            recorded.context.give(recorded.pair);
        }
    }
}

/// An ended span whose GPU time is still to be read.
#[derive(Debug)]
pub(crate) struct Sample {
    /// `device` in it is filled in by the resolver.
    pub(crate) call: TimedCall,
    /// The epoch in which the call was booked; a later epoch does not want it.
    pub(crate) epoch: u32,
    pub(crate) pairs: Pairs,
    /// Apart, as few calls state any: [`Sender::send_work`] brings it.
    pub(crate) work: Option<Box<StatedWork>>,
    /// What spans inside add their time to.
    pub(crate) inside: Option<Arc<Inside>>,
    /// What this call adds its time to.
    pub(crate) enclosing: Option<Arc<Inside>>,
}

impl Sample {
    /// It has come to the resolver.
    pub(in crate::gpu) fn expect(&self) {
        let recorded = self.pairs.as_slice();
        recorded.iter().for_each(|one| one.context.expect());
    }

    /// It needs nothing any more.
    pub(in crate::gpu) fn settle(&self) {
        let recorded = self.pairs.as_slice();
        recorded.iter().for_each(|one| one.context.resolve());
    }
}

/// What goes through a ring.
#[derive(Debug)]
pub(crate) enum Message {
    Sample(Sample),
    /// What the sample after it states.
    Work(StatedWork),
    /// To be held while samples of the thread on this context are pending.
    Hold(Arc<ThreadContext>, Kept<CudaContext>),
}

/// How far one ring has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    submitted: CachePadded<AtomicU64>,
    resolved: CachePadded<AtomicU64>,
}

impl Progress {
    /// One more is in the ring, or will be in a moment. Only for the thread whose ring it is.
    pub(crate) fn submit(&self) {
        let submitted = self.submitted.load(Ordering::Relaxed);
        self.submitted.store(submitted + 1, Ordering::Release);
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    pub(crate) fn resolved(&self) -> u64 {
        self.resolved.load(Ordering::Acquire)
    }

    pub(crate) fn resolve(&self, samples: u64) {
        self.resolved.fetch_add(samples, Ordering::AcqRel);
    }
}

/// The thread's end of its ring.
#[derive(Debug)]
pub(crate) struct Sender {
    ring: rtrb::Producer<Message>,
    progress: Arc<Progress>,
}

/// The resolver's end.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) ring: rtrb::Consumer<Message>,
    pub(crate) progress: Arc<Progress>,
}

impl Sender {
    /// Opens a ring and announces its other end to the resolver.
    pub(crate) fn open(announce: &SegQueue<Receiver>) -> (Self, Arc<Progress>) {
        let (producer, consumer) = rtrb::RingBuffer::new(RING);
        let progress = Arc::new(Progress::default());
        announce.push(Receiver {
            ring: consumer,
            progress: Arc::clone(&progress),
        });
        (
            Self {
                ring: producer,
                progress: Arc::clone(&progress),
            },
            progress,
        )
    }

    /// Whether a sample on so many lanes fits, with what has to be handed over before it and the
    /// work that it states.
    #[inline]
    pub(crate) fn has_room(&self, lanes: usize, work: &StatedWork) -> bool {
        self.room() > lanes + usize::from(!work.is_none())
    }

    /// How many more messages fit.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.ring.slots()
    }

    /// Says that a sample is about to be sent, where there [`is room`](Self::has_room).
    #[inline]
    pub(crate) fn announce(&self) {
        self.progress.submit();
    }

    /// Sends what is to be held for samples that come after.
    #[cold]
    pub(in crate::gpu) fn hand_over(
        &mut self,
        context: &Arc<ThreadContext>,
        owner: Arc<CudaContext>,
    ) {
        let hold = Message::Hold(Arc::clone(context), Kept::new(owner));
        // There is room. Were there none, the samples would not be held, and their contexts be
        // asked for.
        let _ = self.ring.push(hold);
    }

    /// Sends what the sample after it states.
    #[cold]
    pub(crate) fn send_work(&mut self, work: StatedWork) {
        // There is room.
        let _ = self.ring.push(Message::Work(work));
    }

    /// Sends a sample that was [`announced`](Self::announce), where there is room for it.
    #[inline]
    pub(crate) fn send(&mut self, sample: Sample) {
        if let Err(rtrb::PushError::Full(Message::Sample(sample))) =
            self.ring.push(Message::Sample(sample))
        {
            sample.pairs.recycle();
        }
    }
}
