//! Stream capture: operations become nodes, and what a capture prohibits.

mod common;

use common::{context_and_stream, elapsed, event, function, query, record, saxpy, virtual_clock};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUstreamCaptureMode_enum as Mode;
use cudarc::driver::sys::{
    self, CUgraphInstantiate_flags, CUresult, CUstreamCaptureStatus_enum as Status,
};

const NO_FLAGS: CUgraphInstantiate_flags = CUgraphInstantiate_flags(0);

/// A captured launch does not run and takes no time; each launch of the graph runs it.
#[test]
fn a_captured_launch_runs_with_its_graph() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let x = stream.clone_htod(&[1.0_f32; 8]).unwrap();
    let mut y = stream.clone_htod(&[0.0_f32; 8]).unwrap();
    sim.set_kernel_ns("saxpy", 4_000);
    let before = sim.now();
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    assert_eq!(
        stream.capture_status().unwrap(),
        Status::CU_STREAM_CAPTURE_STATUS_ACTIVE
    );
    saxpy(&stream, &kernel, 2.0, &x, &mut y).unwrap();
    saxpy(&stream, &kernel, 2.0, &x, &mut y).unwrap();
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    assert_eq!(
        stream.capture_status().unwrap(),
        Status::CU_STREAM_CAPTURE_STATUS_NONE
    );
    stream.synchronize().unwrap();
    assert_eq!(sim.now(), before);
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [0.0; 8]);
    graph.launch().unwrap();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(sim.now(), before + 16_000);
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [8.0; 8]);
}

/// CAPTURED_EVENT: a query of an event last recorded on a capturing stream is prohibited and
/// invalidates the capture; an elapsed time is prohibited and invalidates nothing. After the
/// capture both return INVALID_VALUE until the event is recorded again. The code is documented, the
/// rest was observed on an H200 (driver 580.159).
#[test]
fn a_captured_event_cannot_be_queried() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (plain, captured) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    record(plain, &stream).unwrap();
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    record(captured, &stream).unwrap();
    assert_eq!(
        query(plain),
        Ok(()),
        "a relaxed capture prohibits nothing else"
    );
    let refused = Err(CUresult::CUDA_ERROR_CAPTURED_EVENT);
    assert_eq!(elapsed(plain, captured), refused.map(|()| 0.0));
    let status = stream.capture_status().unwrap();
    assert_eq!(status, Status::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_eq!(query(captured), refused);
    let ended = stream.end_capture(NO_FLAGS).map(drop);
    assert_eq!(
        ended.unwrap_err().0,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    );
    let over = Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(query(captured), over);
    assert_eq!(elapsed(plain, captured), over.map(|()| 0.0));
    record(captured, &stream).unwrap();
    assert_eq!(elapsed(plain, captured), Ok(0.0));
}

/// cuThreadExchangeStreamCaptureMode: a GLOBAL capture prohibits cuEventQuery on every thread that
/// is not in RELAXED mode; the call invalidates the capture.
#[test]
fn a_global_capture_prohibits_queries_of_other_threads() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT) as usize;
    let elsewhere = |relaxed: bool| {
        let ask = move || {
            if relaxed {
                let mut mode = Mode::CU_STREAM_CAPTURE_MODE_RELAXED;
                // SAFETY: `mode` is readable and writable.
                unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }
                    .result()
                    .unwrap();
                assert_eq!(
                    mode,
                    Mode::CU_STREAM_CAPTURE_MODE_GLOBAL,
                    "the mode a thread starts in"
                );
            }
            query(made as _)
        };
        std::thread::spawn(ask).join().unwrap()
    };
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)
        .unwrap();
    assert_eq!(elsewhere(true), Ok(()));
    assert_eq!(
        stream.capture_status().unwrap(),
        Status::CU_STREAM_CAPTURE_STATUS_ACTIVE
    );
    assert_eq!(
        elsewhere(false),
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    );
    assert_eq!(
        stream.capture_status().unwrap(),
        Status::CU_STREAM_CAPTURE_STATUS_INVALIDATED
    );
    let ended = stream.end_capture(NO_FLAGS).map(drop);
    assert_eq!(
        ended.unwrap_err().0,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    );
    assert_eq!(elsewhere(false), Ok(()));
}

/// A THREAD_LOCAL capture prohibits them on its own thread only.
#[test]
fn a_thread_local_capture_prohibits_queries_of_its_thread() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT) as usize;
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    let there = std::thread::spawn(move || query(made as _)).join().unwrap();
    assert_eq!(there, Ok(()));
    assert_eq!(
        query(made as _),
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    );
    assert!(stream.end_capture(NO_FLAGS).is_err());
}

/// A wait for a capturing stream, and a dependency on work outside, fail and invalidate the
/// capture.
#[test]
fn a_wait_invalidates_a_capture() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let outside = event(CU_EVENT_DEFAULT);
    record(outside, &stream).unwrap();
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    let waited = stream.synchronize();
    assert_eq!(
        waited.unwrap_err().0,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    );
    assert!(stream.end_capture(NO_FLAGS).is_err());
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    // SAFETY: event and stream live.
    let waited = unsafe { sys::cuStreamWaitEvent(stream.cu_stream(), outside, 0) };
    assert_eq!(waited, CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    assert!(stream.end_capture(NO_FLAGS).is_err());
}

/// A stream that waits for a captured event is added to the capture, and must be joined before its
/// end.
#[test]
fn a_capture_spreads_by_events_and_must_be_joined() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let side = context.new_stream().unwrap();
    for joined in [true, false] {
        stream
            .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
            .unwrap();
        side.join(&stream).unwrap();
        assert_eq!(
            side.capture_status().unwrap(),
            Status::CU_STREAM_CAPTURE_STATUS_ACTIVE
        );
        if joined {
            stream.join(&side).unwrap();
        }
        let ended = stream
            .end_capture(NO_FLAGS)
            .map(drop)
            .map_err(|error| error.0);
        let expected = if joined {
            Ok(())
        } else {
            Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        };
        assert_eq!(ended, expected);
        assert_eq!(
            side.capture_status().unwrap(),
            Status::CU_STREAM_CAPTURE_STATUS_NONE
        );
    }
}

/// cuEventRecordWithFlags: an external record becomes a node that every launch of the graph
/// records, and fails outside a capture.
#[test]
fn an_external_record_is_made_by_each_launch_of_the_graph() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(8).unwrap(),
        stream.alloc_zeros(8).unwrap(),
    );
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    let external = |event| {
        // SAFETY: event and stream live; 1 is CU_EVENT_RECORD_EXTERNAL.
        unsafe { sys::cuEventRecordWithFlags(event, stream.cu_stream(), 1) }
    };
    assert_eq!(external(start), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    sim.set_kernel_ns("saxpy", 6_000);
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    external(start).result().unwrap();
    saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    external(end).result().unwrap();
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(elapsed(start, end), Ok(0.006));
}

/// A capture ends with its stream and prohibits nothing after that.
#[test]
fn a_capture_ends_with_its_stream() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT);
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)
        .unwrap();
    drop(stream);
    context.check_err().unwrap();
    assert_eq!(query(made), Ok(()));
}
