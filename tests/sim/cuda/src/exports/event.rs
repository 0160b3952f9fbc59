//! Event Management of the driver API reference.

use simbase::activity::On;

use super::driver_functions;
use crate::abi::{Answer, Handle, Out};
use crate::capture::Node;
use crate::codes::Code;
use crate::event::{Event, Mark};
use crate::{clock, executor, observer, state, stream_queue};

/// `CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS`.
const FLAGS: u32 = 7;
/// `CU_EVENT_RECORD_EXTERNAL`.
const RECORD_EXTERNAL: u32 = 1;

driver_functions! {
    /// An inter-process event must have timing disabled (INVALID_VALUE).
    fn cuEventCreate(out: Out<Handle>, flags: u32) {
        if flags & !FLAGS != 0 || flags & 6 == 4 {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = state::ready()?;
        let context = state.current()?;
        let event = state.events.insert(Event { context, flags, mark: Mark::Never });
        state.gone.given_out(event);
        out.put(event)
    }

    /// Legal while the event is pending; does not wait. The event goes also where its context
    /// answers a stored error.
    fn cuEventDestroy_v2(event: Handle) {
        let mut state = state::ready()?;
        state.known_event(event)?;
        let context = state.events.remove(event)?.context;
        state.healthy(context)
    }

    fn cuEventRecord(event: Handle, stream: Handle) {
        record(event, stream, 0)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) {
        record(event, stream, flags)
    }

    /// An event that was never recorded is complete.
    fn cuEventQuery(event: Handle) {
        let context = {
            let mut state = state::ready()?;
            let context = state.event(event)?.context;
            state.not_captured(event)?;
            state.unsafe_call()?;
            if clock::now() < stamp(state.event(event)?) {
                return Err(Code::NOT_READY);
            }
            if !state.queue.has_downloads() {
                return Ok(());
            }
            context
        };
        executor::settle(context, 0)
    }

    fn cuEventSynchronize(event: Handle) {
        let begun = clock::now();
        let (context, until) = {
            let mut state = state::ready()?;
            let context = state.event(event)?.context;
            state.not_captured(event)?;
            state.unsafe_call()?;
            (context, stamp(state.event(event)?))
        };
        executor::settle(context, until)?;
        observer::waited(On::Event, context, Some(event), begun);
        Ok(())
    }

    fn cuEventElapsedTime(ms: Out<f32>, start: Handle, end: Handle) {
        let elapsed = state::ready()?.elapsed_ms(start, end)?;
        ms.put(elapsed)
    }

    fn cuEventElapsedTime_v2(ms: Out<f32>, start: Handle, end: Handle) {
        let elapsed = state::ready()?.elapsed_ms(start, end)?;
        ms.put(elapsed)
    }
}

/// INVALID_HANDLE where event and stream are of different contexts. On a capturing stream a plain
/// record only marks the place; an external one becomes a node and is refused elsewhere
/// (ILLEGAL_STATE, as an H200 with driver 580.159 answers).
fn record(event: Handle, stream: Handle, flags: u32) -> Answer {
    let mut state = stream_queue::ready(stream)?;
    state.not_gone(event);
    state.current()?;
    let context = state.event(event)?.context;
    let stream = state.stream(stream)?;
    if state.streams.get(stream)?.context != context {
        return Err(Code::INVALID_HANDLE);
    }
    match (flags, state.capture_of(stream)?) {
        (0, None) => {
            state.stamp(event, stream)?;
            state.takes_room(stream)
        }
        (0, Some(id)) => state.mark_captured(event, stream, id),
        (RECORD_EXTERNAL, Some(_)) => state.issue(stream, Node::Stamp(event)),
        (RECORD_EXTERNAL, None) => Err(Code::ILLEGAL_STATE),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn stamp(event: &Event) -> u64 {
    if let Mark::At(stamp) = event.mark {
        stamp
    } else {
        0
    }
}
