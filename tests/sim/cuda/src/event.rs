//! Events (API reference, Event Management).

use crate::abi::Handle;
use crate::clock;
use crate::objects::{Event, LastRecord};
use crate::result_codes::{Answer, Code};
use crate::state::State;
use crate::thread;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

/// Aborts the process, as the real driver crashes it, and says why.
fn crash(what: &str) -> ! {
    eprintln!(
        "simulated device: {what}, which crashes a real driver (seen on an H200, driver 580)"
    );
    std::process::abort()
}

impl State {
    /// The event of a handle. CONTEXT_IS_DESTROYED if its context was destroyed; aborts the process
    /// if another context was created since, unless a real driver could not have made one yet.
    pub(crate) fn find_event(&self, handle: Handle) -> Answer<&Event> {
        let missing = match self.events.get(handle) {
            Ok(event) => return Ok(event),
            Err(code) => code,
        };
        match self.orphaned_events.get(handle) {
            None => Err(missing),
            Some(event) if !event.reused || thread::was_just_told_of(event.context_id) => {
                Err(Code::CONTEXT_IS_DESTROYED)
            }
            Some(_) => {
                crash("a call on an event whose context is gone after another context has come")
            }
        }
    }

    /// Aborts the process if `event`, which is to be recorded, is of a destroyed context.
    pub(crate) fn crash_if_orphaned(&self, event: Handle) {
        if self.events.get(event).is_err() && self.orphaned_events.get(event).is_some() {
            crash("cuEventRecord of an event whose context is gone");
        }
    }

    /// Records `event` on the resolved `stream`, which does not capture. The event completes after
    /// the queued work; the record itself takes stream time too.
    pub(crate) fn record_event(&mut self, event: Handle, stream: Handle) -> Answer {
        let ns = self.durations.event(self.is_loaded_beside(stream)?);
        let time = self.append_work(stream, ns)?;
        self.events.get_mut(event)?.last_record = LastRecord::At(time);
        Ok(())
    }

    /// Whether another stream on the device of the resolved `stream` has unfinished work.
    fn is_loaded_beside(&self, stream: Handle) -> Answer<bool> {
        let own = self.streams.get(stream)?;
        let device = self.context(own.context)?.device;
        let now = clock::now();
        Ok(self.streams.values().any(|other| {
            let is_here = || matches!(self.context(other.context), Ok(its) if its.device == device);
            other.tail > now && !std::ptr::eq(other, own) && is_here()
        }))
    }

    /// The event of a handle, or the stored error of its context.
    pub(crate) fn event(&self, handle: Handle) -> Answer<&Event> {
        let event = self.find_event(handle)?;
        self.check_sticky_error(event.context)?;
        Ok(event)
    }

    /// Milliseconds from `start` to `end`. INVALID_HANDLE if an event was never recorded, has
    /// timing disabled or belongs to another device; [`State::captured_event`] if one is captured;
    /// NOT_READY before both are complete.
    pub(crate) fn elapsed_ms(&self, start: Handle, end: Handle) -> Answer<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        if self.context(start.context)?.device != self.context(end.context)?.device {
            return Err(Code::INVALID_HANDLE);
        }
        let (start, end) = (self.completion_time(start)?, self.completion_time(end)?);
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

    fn completion_time(&self, event: &Event) -> Answer<u64> {
        match event.last_record {
            _ if event.flags & DISABLE_TIMING != 0 => Err(Code::INVALID_HANDLE),
            LastRecord::Never => Err(Code::INVALID_HANDLE),
            LastRecord::Captured(id, _) => Err(self.captured_event(id)),
            LastRecord::At(time) => Ok(time),
        }
    }

    /// The code for a query of an event of capture `id`: CAPTURED_EVENT during the capture,
    /// INVALID_VALUE after its end, as on an H200 with driver 580.
    pub(crate) fn captured_event(&self, id: u64) -> Code {
        if self.captures.contains_key(&id) {
            Code::CAPTURED_EVENT
        } else {
            Code::INVALID_VALUE
        }
    }
}
