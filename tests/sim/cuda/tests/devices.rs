//! Several devices.

use cudarc::driver::sys::{CUevent_flags, CUresult};
use cudarc::driver::{CudaContext, result};
use simcuda::{Options, install_with};

/// Devices have their own identity, contexts and streams. Elapsed time between devices is
/// INVALID_HANDLE, and so is a record on another context's stream.
#[test]
fn devices_are_independent() {
    install_with(&Options {
        virtual_clock: true,
        devices: 2,
        ..Options::default()
    })
    .unwrap();
    let refused = result::device::get_count();
    assert_eq!(refused.unwrap_err().0, CUresult::CUDA_ERROR_NOT_INITIALIZED);
    let (first, second) = (CudaContext::new(0).unwrap(), CudaContext::new(1).unwrap());
    assert_eq!(
        CudaContext::new(2).map(drop).unwrap_err().0,
        CUresult::CUDA_ERROR_INVALID_DEVICE
    );
    assert_eq!(CudaContext::device_count().unwrap(), 2);
    assert_ne!(first.uuid().unwrap().bytes, second.uuid().unwrap().bytes);
    assert_eq!(first.compute_capability().unwrap(), (7, 5));
    assert_eq!(first.name().unwrap(), "simulated device");
    let (here, there) = (first.new_stream().unwrap(), second.new_stream().unwrap());
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let (start, end) = (
        here.record_event(timed).unwrap(),
        there.record_event(timed).unwrap(),
    );
    // SAFETY: both events live.
    let elapsed = unsafe { result::event::elapsed(start.cu_event(), end.cu_event()) };
    assert_eq!(elapsed.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_HANDLE);
    // SAFETY: event and stream live.
    let foreign = unsafe { result::event::record(start.cu_event(), there.cu_stream()) };
    assert_eq!(foreign.unwrap_err().0, CUresult::CUDA_ERROR_INVALID_HANDLE);
    let data = here.clone_htod(&[3_u8; 16]).unwrap();
    let mut copy = there.alloc_zeros::<u8>(16).unwrap();
    there.memcpy_dtod(&data, &mut copy).unwrap();
    assert_eq!(there.clone_dtoh(&copy).unwrap(), [3; 16]);
}
