//! Stream Management of the driver API reference.

use simbase::activity::WaitKind;

use super::driver_functions;
use crate::abi::{Handle, Out};
use crate::objects::NON_BLOCKING;
use crate::result_codes::Code;
use crate::{clock, executor, observer, state, thread};

/// `CU_EVENT_WAIT_EXTERNAL`.
const WAIT_EXTERNAL: u32 = 1;
/// The range of `cuCtxGetStreamPriorityRange`, to which priorities are clamped.
const PRIORITIES: (i32, i32) = (-5, 0);

driver_functions! {
    fn cuStreamCreate(out: Out<Handle>, flags: u32) {
        if flags > NON_BLOCKING {
            return Err(Code::INVALID_VALUE);
        }
        out.write(state::lock_initialized()?.create_stream(flags, 0)?)
    }

    fn cuStreamCreateWithPriority(out: Out<Handle>, flags: u32, priority: i32) {
        if flags > NON_BLOCKING {
            return Err(Code::INVALID_VALUE);
        }
        let priority = priority.clamp(PRIORITIES.0, PRIORITIES.1);
        out.write(state::lock_initialized()?.create_stream(flags, priority)?)
    }

    /// Queued work still runs. An ongoing capture is invalidated. The stream is destroyed even if
    /// its context returns a sticky error.
    fn cuStreamDestroy_v2(stream: Handle) {
        let mut state = state::lock_initialized()?;
        if state.is_legacy(stream) {
            return Err(Code::INVALID_HANDLE);
        }
        state.abandon_capture(stream);
        let context = state.remove_stream(stream)?.context;
        state.check_sticky_error(context)
    }

    fn cuStreamSynchronize(stream: Handle) {
        let resolved;
        let start = clock::now();
        let (context, tail) = {
            let mut state = state::lock_initialized()?;
            let stream = state.resolve_stream(stream)?;
            state.check_stream_not_capturing(stream)?;
            state.check_unsafe_call()?;
            resolved = stream;
            (state.streams.get(stream)?.context, state.busy_until(stream)?)
        };
        executor::synchronize(context, tail)?;
        observer::add_wait(WaitKind::Stream, context, Some(resolved), start);
        Ok(())
    }

    fn cuStreamQuery(stream: Handle) {
        let context = {
            let mut state = state::lock_initialized()?;
            let stream = state.resolve_stream(stream)?;
            state.check_stream_not_capturing(stream)?;
            state.check_unsafe_call()?;
            let downloads = state.deferred.has_downloads();
            if clock::now() < state.busy_until(stream)? {
                return Err(Code::NOT_READY);
            }
            if !downloads {
                return Ok(());
            }
            state.streams.get(stream)?.context
        };
        executor::synchronize(context, 0)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        state.event(event)?;
        match flags {
            0 => {
                state.wait_event(stream, event)?;
                state.add_stream_wait(stream, event);
                Ok(())
            }
            // CU_EVENT_WAIT_EXTERNAL: in a capture a real driver adds an event-wait node; here it
            // is accepted without effect. Outside a capture it is INVALID_VALUE.
            WAIT_EXTERNAL if state.use_for_capture(stream)?.is_some() => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: u32) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        state.close_gate(stream, address, value, flags)
    }

    fn cuStreamIsCapturing(stream: Handle, status: Out<i32>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        status.write(state.capture_status(stream)?)
    }

    /// All outputs except the status are optional, and are written for an active capture only.
    /// NOT_SUPPORTED for dependencies, which are not simulated.
    fn cuStreamGetCaptureInfo_v2(
        stream: Handle,
        status: Out<i32>,
        id: Out<u64>,
        graph: Out<Handle>,
        dependencies: Out<Handle>,
        number: Out<usize>,
    ) {
        if !dependencies.is_null() || !number.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        let current = state.capture_status(stream)?;
        let capture = state.streams.get(stream)?.capture;
        if let (1, Some(capture_id)) = (current, capture)
            && let Some(capture) = state.captures.get(&capture_id)
        {
            id.write_if_given(capture_id);
            graph.write_if_given(capture.graph);
        }
        status.write(current)
    }

    fn cuStreamBeginCapture_v2(stream: Handle, mode: i32) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        state.begin_capture(stream, mode)
    }

    /// `graph` is set to null if the capture failed.
    fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        match state.end_capture(stream) {
            Ok(handle) => graph.write(handle),
            Err(code) => {
                graph.write_if_given(0);
                Err(code)
            }
        }
    }

    /// Restrictions of the host's access to managed memory are not simulated. On a capturing stream
    /// the call fails and invalidates the capture, because a graph has no such operation.
    fn cuStreamAttachMemAsync(stream: Handle, address: u64, len: usize, flags: u32) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        state.check_stream_not_capturing(stream)?;
        state.memory.check(address, len)?;
        if matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<i32>) {
        drop(state::lock_initialized()?);
        mode.exchange(thread::exchange_capture_mode)
    }

    fn cuStreamGetCtx(stream: Handle, out: Out<Handle>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        out.write(state.streams.get(stream)?.context)
    }

    /// On a capturing stream the call fails and invalidates the capture in every mode, as on an
    /// H200 with driver 580.
    fn cuStreamGetId(stream: Handle, out: Out<u64>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        state.check_stream_not_capturing(stream)?;
        out.write(state.streams.get(stream)?.id)
    }

    /// As [`cuStreamGetId`].
    fn cuStreamGetDevice(stream: Handle, out: Out<i32>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        state.check_stream_not_capturing(stream)?;
        let context = state.streams.get(stream)?.context;
        out.write(state.context(context)?.device as i32)
    }

    fn cuStreamGetPriority(stream: Handle, out: Out<i32>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        out.write(state.streams.get(stream)?.priority)
    }

    fn cuStreamGetFlags(stream: Handle, out: Out<u32>) {
        let mut state = state::lock_initialized()?;
        let stream = state.resolve_stream(stream)?;
        out.write(state.streams.get(stream)?.flags)
    }
}
