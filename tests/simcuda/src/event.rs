//! Events (API reference, Event Management).

use crate::abi::{Answer, Handle};
use crate::clock;
use crate::codes::Code;
use crate::state::State;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

/// One event.
pub(crate) struct Event {
    pub(crate) context: Handle,
    pub(crate) flags: u32,
    pub(crate) mark: Mark,
}

/// What the event was last recorded for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Not recorded yet.
    Never,
    /// Complete once the clock has passed this stamp, in ns.
    At(u64),
    /// Recorded in a capturing stream: the capture and the stream.
    Captured(u64, Handle),
}

impl State {
    /// Records `event` in the resolved, not capturing `stream`: the stamp comes when the queued work has
    /// ended, and writing it takes a little of the stream's time.
    pub(crate) fn stamp(&mut self, event: Handle, stream: Handle) -> Answer {
        let ns = self.durations.event();
        let at = self.occupy(stream, ns)?;
        self.events.get_mut(event)?.mark = Mark::At(at);
        Ok(())
    }

    /// The event, where its context has no stored error.
    pub(crate) fn event(&self, handle: Handle) -> Answer<&Event> {
        let event = self.events.get(handle)?;
        self.healthy(event.context)?;
        Ok(event)
    }

    /// Milliseconds from `start` to `end`. INVALID_HANDLE where one was never recorded, has timing disabled
    /// or is of another device, CAPTURED_EVENT where one is, NOT_READY before both are complete.
    pub(crate) fn elapsed_ms(&self, start: Handle, end: Handle) -> Answer<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        if self.living(start.context)?.device != self.living(end.context)?.device {
            return Err(Code::INVALID_HANDLE);
        }
        let (start, end) = (start.timed()?, end.timed()?);
        let now = clock::now();
        if start > now || end > now {
            return Err(Code::NOT_READY);
        }
        let mut ns = end as i64 - start as i64;
        let step = self.durations.resolution() as i64;
        if step > 1 {
            ns = (ns + step / 2).div_euclid(step) * step;
        }
        Ok((ns as f64 / 1e6) as f32)
    }
}

impl Event {
    fn timed(&self) -> Answer<u64> {
        match self.mark {
            _ if self.flags & DISABLE_TIMING != 0 => Err(Code::INVALID_HANDLE),
            Mark::Never => Err(Code::INVALID_HANDLE),
            Mark::Captured(..) => Err(Code::CAPTURED_EVENT),
            Mark::At(stamp) => Ok(stamp),
        }
    }
}
