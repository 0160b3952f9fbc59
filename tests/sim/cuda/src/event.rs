//! Events (API reference, Event Management).

use std::collections::BTreeMap;

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

/// The events whose context was destroyed before they were.
pub(crate) struct Gone {
    /// Whether another context has come since, by event.
    events: BTreeMap<Handle, bool>,
}

impl Gone {
    /// None yet.
    pub(crate) const fn new() -> Gone {
        Gone {
            events: BTreeMap::new(),
        }
    }

    /// Takes in the events of a context that ends.
    pub(crate) fn take_in(&mut self, events: Vec<Handle>) {
        self.events
            .extend(events.into_iter().map(|event| (event, false)));
    }

    /// A new event has this handle.
    pub(crate) fn given_out(&mut self, handle: Handle) {
        self.events.remove(&handle);
    }

    /// Another context has come, whose objects may stand where these stood.
    pub(crate) fn overtake(&mut self) {
        self.events
            .values_mut()
            .for_each(|overtaken| *overtaken = true);
    }
}

/// Ends the process as the real driver's crash does, with a line that says why.
fn crash(what: &str) -> ! {
    eprintln!(
        "simulated device: {what}, which crashes a real driver (seen on an H200, driver 580)"
    );
    std::process::abort()
}

impl State {
    /// The living event of a handle. CONTEXT_IS_DESTROYED for one whose context is gone, and the
    /// end of the process once another context has come.
    pub(crate) fn known_event(&self, handle: Handle) -> Answer<&Event> {
        let missing = match self.events.get(handle) {
            Ok(event) => return Ok(event),
            Err(code) => code,
        };
        match self.gone.events.get(&handle) {
            None => Err(missing),
            Some(false) => Err(Code::CONTEXT_IS_DESTROYED),
            Some(true) => {
                crash("a call on an event whose context is gone after another context has come")
            }
        }
    }

    /// Ends the process where `event` is about to be recorded and its context is gone.
    pub(crate) fn not_gone(&self, event: Handle) {
        if self.events.get(event).is_err() && self.gone.events.contains_key(&event) {
            crash("cuEventRecord of an event whose context is gone");
        }
    }

    /// Records `event` in the resolved, not capturing `stream`: the stamp comes when the queued
    /// work has ended, and writing it takes a little of the stream's time.
    pub(crate) fn stamp(&mut self, event: Handle, stream: Handle) -> Answer {
        let ns = self.durations.event();
        let at = self.occupy(stream, ns)?;
        self.events.get_mut(event)?.mark = Mark::At(at);
        Ok(())
    }

    /// The event, where its context has no stored error.
    pub(crate) fn event(&self, handle: Handle) -> Answer<&Event> {
        let event = self.known_event(handle)?;
        self.healthy(event.context)?;
        Ok(event)
    }

    /// Milliseconds from `start` to `end`. INVALID_HANDLE where one was never recorded, has timing
    /// disabled or is of another device, [`State::captured_event`] where one is captured, NOT_READY
    /// before both are complete.
    pub(crate) fn elapsed_ms(&self, start: Handle, end: Handle) -> Answer<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        if self.living(start.context)?.device != self.living(end.context)?.device {
            return Err(Code::INVALID_HANDLE);
        }
        let (start, end) = (self.timed(start)?, self.timed(end)?);
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

    fn timed(&self, event: &Event) -> Answer<u64> {
        match event.mark {
            _ if event.flags & DISABLE_TIMING != 0 => Err(Code::INVALID_HANDLE),
            Mark::Never => Err(Code::INVALID_HANDLE),
            Mark::Captured(id, _) => Err(self.captured_event(id)),
            Mark::At(stamp) => Ok(stamp),
        }
    }

    /// What a question to an event of capture `id` answers: CAPTURED_EVENT while that goes on,
    /// INVALID_VALUE after its end, as on an H200 with driver 580.
    pub(crate) fn captured_event(&self, id: u64) -> Code {
        if self.captures.contains_key(&id) {
            Code::CAPTURED_EVENT
        } else {
            Code::INVALID_VALUE
        }
    }
}
