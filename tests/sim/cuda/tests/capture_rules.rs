//! Stream capture: what is prohibited, what invalidates a capture, and until when.

mod common;

use common::{context_and_stream, event, record, virtual_clock};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUstreamCaptureMode_enum as Mode;
use cudarc::driver::sys::{
    self, CUgraphInstantiate_flags, CUresult, CUstreamCaptureStatus_enum as Status,
};

const NO_FLAGS: CUgraphInstantiate_flags = CUgraphInstantiate_flags(0);

/// Programming guide, Prohibited and Unhandled Operations: it is invalid to synchronize a broader
/// handle which encompasses an active stream capture, such as a device or context handle, whatever
/// the capture's mode and the thread's.
#[test]
fn a_context_with_a_capture_cannot_be_waited_for() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    let waited = std::thread::scope(|scope| {
        let wait = || context.synchronize().map_err(|error| error.0);
        scope.spawn(wait).join().unwrap()
    });
    assert_eq!(waited, Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
    let ended = stream.end_capture(NO_FLAGS).map(drop);
    assert_eq!(
        ended.unwrap_err().0,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    );
}

/// Programming guide, Invalidation: further use of any streams which are being captured or captured
/// events associated with the graph is invalid and will return an error, until stream capture is
/// ended.
#[test]
fn an_invalidated_capture_prohibits_all_until_its_end() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT);
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    assert!(stream.synchronize().is_err());
    let invalidated = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    assert_eq!(record(made, &stream), Err(invalidated));
    assert_eq!(stream.synchronize().unwrap_err().0, invalidated);
    assert_eq!(
        stream.capture_status().unwrap(),
        Status::CU_STREAM_CAPTURE_STATUS_INVALIDATED
    );
    assert!(stream.end_capture(NO_FLAGS).is_err());
    assert_eq!(record(made, &stream), Ok(()));
}

/// Programming guide, Prohibited and Unhandled Operations: invalid to merge two separate capture
/// graphs by waiting on a captured event from a stream which is being captured and is associated
/// with a different capture graph.
#[test]
fn two_captures_cannot_merge() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let other = context.new_stream().unwrap();
    let made = event(CU_EVENT_DEFAULT);
    for stream in [&stream, &other] {
        stream
            .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)
            .unwrap();
    }
    record(made, &stream).unwrap();
    // SAFETY: event and stream live.
    let waited = unsafe { sys::cuStreamWaitEvent(other.cu_stream(), made, 0) };
    assert_eq!(waited, CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
    assert!(stream.end_capture(NO_FLAGS).is_err());
    assert!(other.end_capture(NO_FLAGS).is_err());
}

/// cuStreamEndCapture: If the mode argument to cuStreamBeginCapture was not
/// CU_STREAM_CAPTURE_MODE_RELAXED, this call must be from the same thread as cuStreamBeginCapture.
#[test]
fn only_a_relaxed_capture_ends_on_another_thread() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let wrong = Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    for (mode, expected) in [
        (Mode::CU_STREAM_CAPTURE_MODE_GLOBAL, wrong),
        (Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, wrong),
        (Mode::CU_STREAM_CAPTURE_MODE_RELAXED, Ok(())),
    ] {
        stream.begin_capture(mode).unwrap();
        let end = || {
            stream
                .end_capture(NO_FLAGS)
                .map(drop)
                .map_err(|error| error.0)
        };
        let ended = std::thread::scope(|scope| scope.spawn(end).join().unwrap());
        assert_eq!(ended, expected, "{mode:?}");
        if expected.is_err() {
            end().unwrap();
        }
    }
}

/// cuStreamGetId, cuStreamGetDevice and cuStreamAttachMemAsync on a capturing stream invalidate its
/// capture in every mode. OPEN.md has the observation of the first two, the programming guide
/// (Prohibited and Unhandled Operations) has the third.
#[test]
fn some_queries_and_operations_invalidate_a_capture() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let raw = stream.cu_stream();
    let mut number = 0;
    // SAFETY: `number` is writable.
    let mut get_id = || unsafe { sys::cuStreamGetId(raw, &mut number) };
    // SAFETY: the simulator validates addresses.
    let mut attach = || unsafe { sys::cuStreamAttachMemAsync(raw, 0, 0, 4) };
    let mut get_device = || device(raw).map_or_else(|code| code, |_| CUresult::CUDA_SUCCESS);
    let calls: [&mut dyn FnMut() -> CUresult; 3] = [&mut get_id, &mut get_device, &mut attach];
    for call in calls {
        for mode in [
            Mode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            Mode::CU_STREAM_CAPTURE_MODE_RELAXED,
        ] {
            stream.begin_capture(mode).unwrap();
            assert_eq!(call(), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            assert!(stream.end_capture(NO_FLAGS).is_err());
            assert_eq!(call(), CUresult::CUDA_SUCCESS);
        }
    }
}

/// cuStreamGetDevice, which cudarc lacks for some versions of CUDA.
fn device(stream: sys::CUstream) -> Result<i32, CUresult> {
    type GetDevice = unsafe extern "C" fn(sys::CUstream, *mut i32) -> CUresult;
    // SAFETY: the simulator is loaded under this name.
    let library = unsafe { libloading::Library::new("libcuda.so") }.unwrap();
    // SAFETY: the type is the function's.
    let get = unsafe { library.get::<GetDevice>(b"cuStreamGetDevice") }.unwrap();
    let mut device = -1;
    // SAFETY: `device` is writable.
    unsafe { get(stream, &mut device) }
        .result()
        .map_err(|error| error.0)?;
    Ok(device)
}

/// During a capture cuStreamGetDevice works on another stream. On the captured stream it
/// invalidates the capture, on another thread too. Observed on an H200 (driver 580.159).
#[test]
fn the_device_of_a_stream_can_be_queried() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let other = context.new_stream().unwrap();
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)
        .unwrap();
    assert_eq!(device(other.cu_stream()), Ok(0));
    let there = std::thread::scope(|scope| {
        let ask = || device(stream.cu_stream());
        scope.spawn(ask).join().unwrap()
    });
    assert_eq!(there, Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
    assert!(stream.end_capture(NO_FLAGS).is_err());
}

/// A function that a test declares unsafe is prohibited as cuEventQuery is.
#[test]
fn a_function_can_be_declared_unsafe() {
    let (sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    sim.forbid_during_capture("cuEventCreate", true);
    stream
        .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    let refused = cudarc::driver::result::event::create(CU_EVENT_DEFAULT);
    assert_eq!(
        refused.unwrap_err().0,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    );
    assert!(stream.end_capture(NO_FLAGS).is_err());
    sim.forbid_during_capture("cuEventCreate", false);
}
