//! The way of a sample from the thread that ended a span to the resolver: one wait-free ring per thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_queue::SegQueue;
use cudarc::driver::CudaContext;

use super::context::{Context, Pair};
use super::inside::Inside;
use super::kept::Kept;
use super::lanes::{Lane, Lanes};
use super::lent::Lent;
use super::open;
use super::sys::Stream;
use crate::stats::gpu_node::GpuCall;
use crate::sync::AtomicU64;

/// Samples that one thread can have under way. A call past it goes untimed and is counted.
const RING: usize = 4_096;

/// One event pair and the stream it was recorded on.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) context: Arc<Context>,
    pub(crate) pair: Pair,
    pub(crate) stream: Stream,
    /// Keeps the context until the events are read; `None` for raw handles.
    pub(super) held: Option<Kept<CudaContext>>,
}

/// The pairs of one call: almost always one.
#[derive(Debug)]
pub(crate) enum Pairs {
    One(Recorded),
    Many(Vec<Recorded>),
    /// That of a replay, which the graph may still hold.
    Lent(Box<(Recorded, Arc<Lent>)>),
}

impl Pairs {
    /// Lanes and pairs as the resolver wants them.
    pub(super) fn of(lanes: Lanes, pairs: open::Pairs) -> Self {
        let one = |lane: Lane, pair| Recorded {
            context: lane.context,
            pair,
            stream: lane.stream,
            held: lane.held,
        };
        match (lanes, pairs) {
            (Lanes::One(lane), open::Pairs::One(pair)) => Self::One(one(lane, pair)),
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
            Self::Lent(lent) => std::slice::from_ref(&lent.0),
        }
    }

    /// The one pair, where it is one: those of one thread on one stream complete in order.
    pub(crate) fn single(&self) -> Option<&Recorded> {
        match self {
            Self::One(recorded) => Some(recorded),
            Self::Many(_) => None,
            Self::Lent(lent) => Some(&lent.0),
        }
    }

    /// Whether what the events say is not of the call they were meant for.
    pub(crate) fn is_spoilt(&self) -> bool {
        matches!(self, Self::Lent(lent) if lent.1.is_spoilt())
    }

    /// Puts all pairs back into their pools; a lent one goes by itself.
    pub(crate) fn recycle(&self) {
        if let Self::Lent(_) = self {
            return;
        }
        for recorded in self.as_slice() {
            recorded.context.give(recorded.pair);
        }
    }
}

/// An ended span whose GPU time is still to be read.
#[derive(Debug)]
pub(crate) struct Sample {
    /// `device` in it is filled in by the resolver.
    pub(crate) call: GpuCall,
    /// The epoch in which the call was booked; a later epoch does not want it.
    pub(crate) epoch: u32,
    pub(crate) pairs: Pairs,
    /// What spans inside add their time to.
    pub(crate) inside: Option<Arc<Inside>>,
    /// What this call adds its time to.
    pub(crate) enclosing: Option<Arc<Inside>>,
}

/// How far one ring has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    submitted: AtomicU64,
    resolved: AtomicU64,
}

impl Progress {
    /// One more is in the ring. Only for the thread whose ring it is.
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
    ring: rtrb::Producer<Sample>,
    progress: Arc<Progress>,
}

/// The resolver's end.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) ring: rtrb::Consumer<Sample>,
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

    /// Whether one more sample fits.
    pub(crate) fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// How many more fit.
    pub(crate) fn room(&self) -> usize {
        self.ring.slots()
    }

    /// Hands a sample over, where [`has_room`](Self::has_room); else its events go back to their pool.
    #[inline]
    pub(crate) fn send(&mut self, sample: Sample) {
        match self.ring.push(sample) {
            Ok(()) => self.progress.submit(),
            Err(rtrb::PushError::Full(sample)) => sample.pairs.recycle(),
        }
    }
}
