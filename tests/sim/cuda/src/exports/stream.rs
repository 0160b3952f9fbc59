//! Stream Management of the driver API reference.

use simbase::activity::On;

use super::driver_functions;
use crate::abi::{Handle, Out};
use crate::codes::Code;
use crate::stream::NON_BLOCKING;
use crate::{capture_rules, clock, executor, observer, state};

/// `CU_EVENT_WAIT_EXTERNAL`.
const WAIT_EXTERNAL: u32 = 1;
/// The range that `cuCtxGetStreamPriorityRange` gives; others are clamped to it.
const PRIORITIES: (i32, i32) = (-5, 0);

driver_functions! {
    fn cuStreamCreate(out: Out<Handle>, flags: u32) {
        if flags > NON_BLOCKING {
            return Err(Code::INVALID_VALUE);
        }
        out.put(state::ready()?.create_stream(flags, 0)?)
    }

    fn cuStreamCreateWithPriority(out: Out<Handle>, flags: u32, priority: i32) {
        if flags > NON_BLOCKING {
            return Err(Code::INVALID_VALUE);
        }
        let priority = priority.clamp(PRIORITIES.0, PRIORITIES.1);
        out.put(state::ready()?.create_stream(flags, priority)?)
    }

    /// Queued work still runs; a capture on the stream is spoilt. The stream goes also where its
    /// context answers a stored error.
    fn cuStreamDestroy_v2(stream: Handle) {
        let mut state = state::ready()?;
        if state.is_legacy(stream) {
            return Err(Code::INVALID_HANDLE);
        }
        state.abandon_capture(stream);
        let context = state.remove_stream(stream)?.context;
        state.healthy(context)
    }

    fn cuStreamSynchronize(stream: Handle) {
        let resolved;
        let begun = clock::now();
        let (context, tail) = {
            let mut state = state::ready()?;
            let stream = state.stream(stream)?;
            state.not_capturing(stream)?;
            state.unsafe_call()?;
            resolved = stream;
            (state.streams.get(stream)?.context, state.ended(stream)?)
        };
        executor::settle(context, tail)?;
        observer::waited(On::Stream, context, Some(resolved), begun);
        Ok(())
    }

    fn cuStreamQuery(stream: Handle) {
        let context = {
            let mut state = state::ready()?;
            let stream = state.stream(stream)?;
            state.not_capturing(stream)?;
            state.unsafe_call()?;
            let downloads = state.queue.has_downloads();
            if clock::now() < state.ended(stream)? {
                return Err(Code::NOT_READY);
            }
            if !downloads {
                return Ok(());
            }
            state.streams.get(stream)?.context
        };
        executor::settle(context, 0)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        state.event(event)?;
        match flags {
            0 => {
                state.wait_event(stream, event)?;
                state.note_wait_event(stream, event);
                Ok(())
            }
            // A wait node of its own inside a capture; meaningless outside.
            WAIT_EXTERNAL if state.capture_of(stream)?.is_some() => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuStreamIsCapturing(stream: Handle, status: Out<i32>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        status.put(state.capture_status(stream)?)
    }

    /// All outputs but the status are optional, and are written for an active capture only.
    /// Dependencies are not simulated: whoever asks for them gets NOT_SUPPORTED.
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
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        let now = state.capture_status(stream)?;
        let capture = state.streams.get(stream)?.capture;
        if let (1, Some(of)) = (now, capture)
            && let Some(capture) = state.captures.get(&of)
        {
            id.put_if_given(of);
            graph.put_if_given(capture.graph);
        }
        status.put(now)
    }

    fn cuStreamBeginCapture_v2(stream: Handle, mode: i32) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        state.begin_capture(stream, mode)
    }

    /// The graph is null where the capture failed.
    fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        match state.end_capture(stream) {
            Ok(handle) => graph.put(handle),
            Err(code) => {
                graph.put_if_given(0);
                Err(code)
            }
        }
    }

    /// Which stream owns managed memory decides what the host may touch when, which is not
    /// simulated. No operation of a graph: on a capturing stream it is refused and spoils the
    /// capture.
    fn cuStreamAttachMemAsync(stream: Handle, address: u64, len: usize, flags: u32) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        state.not_capturing(stream)?;
        state.memory.check(address, len)?;
        if matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<i32>) {
        drop(state::ready()?);
        mode.exchange(capture_rules::exchange_mode)
    }

    fn cuStreamGetCtx(stream: Handle, out: Out<Handle>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        out.put(state.streams.get(stream)?.context)
    }

    /// On a capturing stream it is refused and spoils the capture, whatever the modes, as on an
    /// H200 with driver 580.
    fn cuStreamGetId(stream: Handle, out: Out<u64>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        state.not_capturing(stream)?;
        out.put(state.streams.get(stream)?.id)
    }

    /// As [`cuStreamGetId`].
    fn cuStreamGetDevice(stream: Handle, out: Out<i32>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        state.not_capturing(stream)?;
        let context = state.streams.get(stream)?.context;
        out.put(state.living(context)?.device as i32)
    }

    fn cuStreamGetPriority(stream: Handle, out: Out<i32>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        out.put(state.streams.get(stream)?.priority)
    }

    fn cuStreamGetFlags(stream: Handle, out: Out<u32>) {
        let mut state = state::ready()?;
        let stream = state.stream(stream)?;
        out.put(state.streams.get(stream)?.flags)
    }
}
