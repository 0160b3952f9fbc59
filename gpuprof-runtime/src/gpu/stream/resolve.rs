//! Resolves what a caller passes to what events need: streams with their contexts, and what keeps
//! them alive.

use std::sync::Arc;

use crate::gpu::driver::handles;
use crate::gpu::driver::table::Driver;
use crate::gpu::events::pool::Life;
use crate::gpu::events::thread_context::ThreadContext;
use crate::gpu::gpu_thread::GpuThread;
use crate::gpu::stream::hold::Hold;
use crate::gpu::stream::stream_ref::StreamRef;
use crate::gpu::timer::Timing;
use crate::stats::ended_call::{GpuOutcome, UntimedReason};

/// The stream or streams of one call, as the attribute's `stream = …` or the probing of the
/// arguments gave them.
#[derive(Debug)]
pub enum Streams<'a> {
    /// Not to be timed on the GPU.
    Untimed,
    /// None of its own: the enclosing span's.
    Inherit,
    /// One.
    One(StreamRef<'a>),
    /// Several: timed from the first start to the last end, per device.
    Many(Vec<StreamRef<'a>>),
}

/// A stream with all that its events need.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(in crate::gpu) stream: handles::Stream,
    /// As the thread has met it that the span began on.
    pub(in crate::gpu) context: Arc<ThreadContext>,
    pub(in crate::gpu) hold: Hold,
}

impl Lane {
    /// The same stream for a call that may outlast the span that it is inherited from. `None`: the
    /// stream cannot be owned.
    ///
    /// # Safety
    /// The call that the stream was given to must not have ended.
    pub(in crate::gpu) unsafe fn owned(&self) -> Option<Self> {
        let hold = match &self.hold {
            Hold::Nothing => return None,
            // SAFETY: passed on to the caller.
            Hold::Lent(lent) => unsafe { lent.own() },
            Hold::Owned(_) => self.hold.clone(),
        };
        Some(Self {
            stream: self.stream,
            context: Arc::clone(&self.context),
            hold,
        })
    }

    #[inline]
    pub(in crate::gpu) fn is_same_stream(&self, other: &Self) -> bool {
        self.stream == other.stream && self.context.is_same(&other.context)
    }
}

/// The streams of a call, almost always one.
#[derive(Clone, Debug)]
pub(crate) enum Lanes {
    One(Lane),
    /// None or several.
    Many(Vec<Lane>),
}

impl Lanes {
    pub(in crate::gpu) const NONE: Self = Self::Many(Vec::new());

    /// Whether there is nothing to let go of.
    #[inline]
    pub(in crate::gpu) fn is_none(&self) -> bool {
        matches!(self, Self::Many(none) if none.capacity() == 0)
    }

    /// Leaves none behind.
    #[inline]
    pub(in crate::gpu) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::NONE)
    }

    /// Of these, each stream once.
    fn several(mut lanes: Vec<Lane>) -> Self {
        let mut at = 1;
        while at < lanes.len() {
            let (before, rest) = lanes.split_at(at);
            let again = rest
                .first()
                .is_some_and(|lane| before.iter().any(|one| one.is_same_stream(lane)));
            match again {
                true => drop(lanes.remove(at)),
                false => at += 1,
            }
        }
        match lanes.len() {
            1 => lanes.pop().map_or(Self::NONE, Self::One),
            _ => Self::Many(lanes),
        }
    }

    #[inline]
    pub(in crate::gpu) fn as_mut_slice(&mut self) -> &mut [Lane] {
        match self {
            Self::One(lane) => std::slice::from_mut(lane),
            Self::Many(lanes) => lanes,
        }
    }

    #[inline]
    pub(in crate::gpu) fn as_slice(&self) -> &[Lane] {
        match self {
            Self::One(lane) => std::slice::from_ref(lane),
            Self::Many(lanes) => lanes,
        }
    }

    #[inline]
    pub(in crate::gpu) fn has(&self, lane: &Lane) -> bool {
        self.as_slice().iter().any(|mine| mine.is_same_stream(lane))
    }
}

/// The streams of a call, held so that nothing borrowed is left.
#[derive(Debug)]
pub(crate) enum Held {
    /// The enclosing span's, when the call begins.
    Inherit,
    /// Its own.
    Own(Lanes),
    /// Its own, which cannot be used.
    Refused(GpuOutcome),
}

impl Timing {
    /// Takes hold of a call's streams. `later`: the call begins when nothing that was borrowed here
    /// need live any more.
    #[inline]
    pub(crate) fn hold(&self, thread: &mut GpuThread, streams: &Streams<'_>, later: bool) -> Held {
        match streams {
            Streams::Untimed | Streams::Inherit => Held::Inherit,
            Streams::One(stream) => match self.lane(thread, stream, later) {
                Ok(lane) => Held::Own(Lanes::One(lane)),
                Err(outcome) => Held::Refused(outcome),
            },
            Streams::Many(streams) => self.hold_many(thread, streams, later),
        }
    }

    #[cold]
    fn hold_many(&self, thread: &mut GpuThread, streams: &[StreamRef<'_>], later: bool) -> Held {
        let lanes = streams
            .iter()
            .map(|stream| self.lane(thread, stream, later));
        let lanes = lanes.collect::<Result<Vec<_>, _>>().map(Lanes::several);
        lanes.map_or_else(Held::Refused, Held::Own)
    }

    #[inline(always)]
    pub(in crate::gpu) fn lane(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
        later: bool,
    ) -> Result<Lane, GpuOutcome> {
        let hold = stream
            .keep(later)
            .map(Hold::new)
            .map_err(|_| GpuOutcome::Untimed(UntimedReason::StreamUnsafe))?;
        let context = match stream
            .context()
            .and_then(|owner| thread.contexts.known(owner))
        {
            Some(known) => known,
            None => self.meet(thread, stream)?,
        };
        Ok(Lane {
            stream: stream.handle(),
            context,
            hold,
        })
    }

    #[cold]
    #[inline(never)]
    fn meet(
        &self,
        thread: &mut GpuThread,
        stream: &StreamRef<'_>,
    ) -> Result<Arc<ThreadContext>, GpuOutcome> {
        let driver = Driver::get();
        let unusable = |failed: crate::gpu::driver::table::Failed| match failed.is_missing()
            || driver.has_ended()
        {
            true => GpuOutcome::Untimed(UntimedReason::Unavailable),
            false => GpuOutcome::Untimed(UntimedReason::CudaError),
        };
        // A stream that is being captured must not be asked for its context.
        if stream.raw_context() == handles::Context::NULL
            && driver.is_capturing(stream.handle()).map_err(unusable)?
        {
            return Err(GpuOutcome::Captured);
        }
        // RELAXED: another stream of this thread may be captured, and which of these calls count as
        // unsafe is undocumented.
        let met = driver
            .relaxed(|| {
                let life = Life::of(driver, stream)?;
                // Of a stream that is not cudarc's, only this tells whether it is still the context
                // met before.
                match thread
                    .contexts
                    .known_life(life)
                    .filter(|_| stream.context().is_none())
                {
                    Some(known) => Ok(known),
                    None => {
                        let context = self.contexts.of(driver, life, stream)?;
                        thread.note_set_up(true);
                        Ok(thread.contexts.remember(stream.context(), context))
                    }
                }
            })
            .flatten();
        met.map_err(unusable)
    }
}
