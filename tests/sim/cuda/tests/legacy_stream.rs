//! The legacy default stream is ordered with blocking streams, and cannot be used while one of them
//! captures.

mod common;

use std::sync::Arc;

use common::{context_and_stream, elapsed, event, query, virtual_clock};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUresult::{
    self, CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT as IMPLICIT,
};
use cudarc::driver::sys::{self, CUstream};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, result};
use simcuda::Sim;

/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// A kernel on raw stream handles.
struct Device {
    sim: Sim,
    function: CudaFunction,
    context: Arc<CudaContext>,
    _buffer: CudaSlice<f32>,
    address: u64,
}

impl Device {
    fn new(sim: Sim) -> Device {
        let (context, stream) = context_and_stream();
        let function = common::function(&context, "saxpy");
        let buffer = stream.alloc_zeros::<f32>(4).unwrap();
        stream.synchronize().unwrap();
        let address = cudarc::driver::DevicePtr::device_ptr(&buffer, &stream).0;
        Device {
            sim,
            function,
            context,
            _buffer: buffer,
            address,
        }
    }

    /// Launches a kernel of `ns`.
    fn kernel(&self, stream: usize, ns: u64) -> Result<(), CUresult> {
        self.sim.set_kernel_ns("saxpy", ns);
        let (mut n, mut a, mut x, mut y) = (4_u32, 1_f32, self.address, self.address);
        let mut parameters = [
            (&raw mut n).cast(),
            (&raw mut a).cast(),
            (&raw mut x).cast(),
            (&raw mut y).cast(),
        ];
        // SAFETY: these are saxpy's parameters.
        let launched = unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                (1, 1, 1),
                (32, 1, 1),
                0,
                stream as CUstream,
                &mut parameters,
            )
        };
        launched.map_err(|error| error.0)
    }

    /// When all work of a stream ends, in ns after `began`.
    fn ended(&self, stream: usize, began: u64) -> u64 {
        // SAFETY: the simulator validates handles.
        unsafe { result::stream::synchronize(stream as CUstream) }.unwrap();
        self.sim.now() - began
    }
}

/// A stream created with these flags: 0 is blocking, 1 is not.
fn stream(flags: u32) -> usize {
    let mut stream = std::ptr::null_mut();
    // SAFETY: `stream` is writable.
    unsafe { sys::cuStreamCreate(&mut stream, flags) }
        .result()
        .unwrap();
    stream as usize
}

/// API reference, Stream synchronization behavior, Legacy default stream: When an action is taken
/// in the legacy stream such as a kernel launch, the legacy stream first waits on all blocking
/// streams, the action is queued in the legacy stream, and then all blocking streams wait on the
/// legacy stream.
#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    let (sim, _turn) = virtual_clock();
    let device = Device::new(sim);
    let (a, b, free) = (stream(0), stream(0), stream(1));
    let began = sim.now();
    device.kernel(a, 10_000).unwrap();
    device.kernel(free, 90_000).unwrap();
    for legacy in [0, LEGACY] {
        device.kernel(legacy, 1_000).unwrap();
    }
    device.kernel(b, 500).unwrap();
    assert_eq!(device.ended(a, began), 10_000);
    assert_eq!(device.ended(b, began), 12_500);
    assert_eq!(device.ended(free, began), 90_000);
}

/// The same section: streams with the non-blocking flag, such as cudarc's, are not ordered.
#[test]
fn a_non_blocking_stream_is_not_ordered_with_it() {
    let (sim, _turn) = virtual_clock();
    let device = Device::new(sim);
    let cudarcs = device.context.new_stream().unwrap();
    let free = cudarcs.cu_stream() as usize;
    let began = sim.now();
    device.kernel(0, 50_000).unwrap();
    device.kernel(free, 1_000).unwrap();
    assert_eq!(device.ended(free, began), 1_000);
}

/// The same section, Per-thread default stream: it is not a non-blocking stream and will
/// synchronize with the legacy default stream if both are used in a program.
#[test]
fn a_per_thread_stream_is_ordered_with_it() {
    let (sim, _turn) = virtual_clock();
    let device = Device::new(sim);
    let began = sim.now();
    device.kernel(PER_THREAD, 10_000).unwrap();
    device.kernel(0, 1_000).unwrap();
    device.kernel(PER_THREAD, 300).unwrap();
    assert_eq!(device.ended(PER_THREAD, began), 11_300);
}

/// Programming guide, Prohibited and Unhandled Operations: the legacy stream handle at all times
/// encompasses these other streams; queries of it, and of an event on it, include them.
#[test]
fn the_legacy_stream_includes_the_blocking_ones() {
    let (sim, _turn) = virtual_clock();
    let device = Device::new(sim);
    let a = stream(0);
    let began = sim.now();
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    let record = |event| {
        // SAFETY: null is the legacy stream.
        unsafe { result::event::record(event, std::ptr::null_mut()) }.unwrap();
    };
    record(start);
    device.kernel(a, 7_000).unwrap();
    // SAFETY: null is the legacy stream.
    let asked = unsafe { sys::cuStreamQuery(std::ptr::null_mut()) };
    assert_eq!(asked, CUDA_ERROR_NOT_READY);
    record(end);
    assert_eq!(query(end), Err(CUDA_ERROR_NOT_READY));
    assert_eq!(device.ended(0, began), 7_000);
    assert_eq!(elapsed(start, end), Ok(0.007));
}

/// Streams of different contexts are not ordered.
#[test]
fn streams_of_another_context_are_not_ordered() {
    let (sim, _turn) = virtual_clock();
    let device = Device::new(sim);
    let a = stream(0);
    let mut other = std::ptr::null_mut();
    // SAFETY: `other` is writable; no parameters, no flags, device 0.
    unsafe { sys::cuCtxCreate_v4(&mut other, std::ptr::null_mut(), 0, 0) }
        .result()
        .unwrap();
    let (elsewhere, made) = (stream(0), event(CU_EVENT_DEFAULT));
    device.context.bind_to_thread().unwrap();
    let began = sim.now();
    device.kernel(0, 20_000).unwrap();
    // SAFETY: the context lives.
    unsafe { result::ctx::set_current(other) }.unwrap();
    // SAFETY: both are of that context.
    unsafe { result::event::record(made, elsewhere as CUstream) }.unwrap();
    assert_eq!(query(made), Ok(()));
    device.context.bind_to_thread().unwrap();
    device.kernel(a, 1).unwrap();
    assert_eq!(device.ended(a, began), 20_001);
    // SAFETY: created above.
    unsafe { sys::cuCtxDestroy_v2(other) }.result().unwrap();
}

/// Programming guide, Prohibited and Unhandled Operations: When any stream in the same context is
/// being captured, and it was not created with cudaStreamNonBlocking, any attempted use of the
/// legacy stream is invalid, including queries, waits and synchronous calls; CUresult:
/// STREAM_CAPTURE_IMPLICIT. The capture is invalidated.
#[test]
fn no_use_of_it_while_a_blocking_stream_captures() {
    let (sim, _turn) = virtual_clock();
    let device = Device::new(sim);
    let made = event(CU_EVENT_DEFAULT);
    let null: CUstream = std::ptr::null_mut();
    let launch = || device.kernel(0, 1);
    // SAFETY: null is the legacy stream; so for all below.
    let recorded = || unsafe { result::event::record(made, null) }.map_err(|error| error.0);
    let waited = || {
        // SAFETY: as above.
        let waited = unsafe { sys::cuStreamWaitEvent(null, made, 0) };
        waited.result().map_err(|error| error.0)
    };
    let asked = || {
        sim.advance(100);
        // SAFETY: as above.
        let asked = unsafe { sys::cuStreamQuery(null) };
        asked.result().map_err(|error| error.0)
    };
    let settled = || {
        // SAFETY: as above.
        let settled = unsafe { sys::cuStreamSynchronize(null) };
        settled.result().map_err(|error| error.0)
    };
    // SAFETY: the buffer holds one float.
    let copied = || unsafe { result::memset_d8_sync(device.address, 0, 4) }.map_err(|e| e.0);
    let uses: [&dyn Fn() -> Result<(), CUresult>; 6] =
        [&launch, &recorded, &waited, &asked, &settled, &copied];
    for (number, used) in uses.into_iter().enumerate() {
        let (blocking, free) = (stream(0), stream(1));
        begin(free);
        assert_eq!(
            used(),
            Ok(()),
            "{number}: a non-blocking stream's capture prohibits nothing"
        );
        assert_eq!(end(free), Ok(()));
        begin(blocking);
        assert_eq!(used(), Err(IMPLICIT), "{number}");
        let invalidated = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        assert_eq!(end(blocking), Err(invalidated), "{number}");
        assert_eq!(used(), Ok(()), "{number}: usable again");
    }
}

/// API reference, cuStreamIsCapturing: on the legacy stream beside a capturing blocking stream it
/// will return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT [...] The blocking stream capture is not
/// invalidated.
#[test]
fn the_query_of_its_capture_status_invalidates_nothing() {
    let (sim, _turn) = virtual_clock();
    let _device = Device::new(sim);
    let blocking = stream(0);
    begin(blocking);
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: `status` is writable.
    let asked = unsafe { sys::cuStreamIsCapturing(std::ptr::null_mut(), &mut status) };
    assert_eq!(asked, IMPLICIT);
    assert_eq!(end(blocking), Ok(()));
}

fn begin(stream: usize) {
    // SAFETY: the simulator validates handles.
    let begun = unsafe {
        sys::cuStreamBeginCapture_v2(
            stream as CUstream,
            sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        )
    };
    begun.result().unwrap();
}

fn end(stream: usize) -> Result<(), CUresult> {
    let mut graph = std::ptr::null_mut();
    // SAFETY: `graph` is writable.
    unsafe { sys::cuStreamEndCapture(stream as CUstream, &mut graph) }
        .result()
        .map_err(|error| error.0)
}
