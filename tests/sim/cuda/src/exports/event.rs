//! Event Management of the driver API reference.

use simbase::activity::WaitKind;

use super::driver_functions;
use crate::abi::{Handle, Out};
use crate::objects::Operation;
use crate::objects::{Event, LastRecord};
use crate::result_codes::{Answer, Code};
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
        let mut state = state::lock_initialized()?;
        let context = state.current_context()?;
        let event = state.events.insert(Event { context, flags, last_record: LastRecord::Never });
        state.orphaned_events.remove(event);
        out.write(event)
    }

    /// Does not wait for a pending event. If the context has a stored error, the event is destroyed
    /// too.
    fn cuEventDestroy_v2(event: Handle) {
        let mut state = state::lock_initialized()?;
        state.find_event(event)?;
        let context = state.events.remove(event)?.context;
        state.check_sticky_error(context)
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
            let mut state = state::lock_initialized()?;
            let context = state.event(event)?.context;
            state.check_event_not_captured(event)?;
            state.check_unsafe_call()?;
            if clock::now() < completion_time(state.event(event)?) {
                return Err(Code::NOT_READY);
            }
            if !state.deferred.has_downloads() {
                return Ok(());
            }
            context
        };
        executor::synchronize(context, 0)
    }

    fn cuEventSynchronize(event: Handle) {
        let start = clock::now();
        let (context, until) = {
            let mut state = state::lock_initialized()?;
            let context = state.event(event)?.context;
            state.check_event_not_captured(event)?;
            state.check_unsafe_call()?;
            (context, completion_time(state.event(event)?))
        };
        executor::synchronize(context, until)?;
        observer::add_wait(WaitKind::Event, context, Some(event), start);
        Ok(())
    }

    fn cuEventElapsedTime(ms: Out<f32>, start: Handle, end: Handle) {
        let elapsed = state::lock_initialized()?.elapsed_ms(start, end)?;
        ms.write(elapsed)
    }

    fn cuEventElapsedTime_v2(ms: Out<f32>, start: Handle, end: Handle) {
        let elapsed = state::lock_initialized()?.elapsed_ms(start, end)?;
        ms.write(elapsed)
    }
}

/// INVALID_HANDLE if event and stream are of different contexts. No context need be current unless
/// the stream is a default one, as on an H200 with driver 580.159. On a capturing stream a plain
/// record marks the event as captured, and an external one becomes a node. An external record on
/// any other stream is an ILLEGAL_STATE, as on an H200 with driver 580.159.
fn record(event: Handle, stream: Handle, flags: u32) -> Answer {
    let mut state = stream_queue::lock_with_room(stream)?;
    state.crash_if_orphaned(event);
    if state.records_need_context {
        state.current_context()?;
    }
    let context = state.event(event)?.context;
    let stream = state.resolve_stream(stream)?;
    if state.streams.get(stream)?.context != context {
        return Err(Code::INVALID_HANDLE);
    }
    match (flags, state.use_for_capture(stream)?) {
        (0, None) => {
            state.record_event(event, stream)?;
            state.count_operation(stream)
        }
        (0, Some(id)) => state.record_captured_event(event, stream, id),
        (RECORD_EXTERNAL, Some(_)) => state.submit(stream, Operation::EventRecord(event)),
        (RECORD_EXTERNAL, None) => Err(Code::ILLEGAL_STATE),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn completion_time(event: &Event) -> u64 {
    if let LastRecord::At(time) = event.last_record {
        time
    } else {
        0
    }
}
