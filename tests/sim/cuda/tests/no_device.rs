//! A machine with a driver and no GPU.

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, result};
use simcuda::{Options, install_with};

/// cuInit returns NO_DEVICE, and later calls return NOT_INITIALIZED.
#[test]
fn init_returns_no_device() {
    install_with(&Options {
        no_device: true,
        ..Options::default()
    })
    .unwrap();
    assert_eq!(
        CudaContext::new(0).map(drop).unwrap_err().0,
        CUresult::CUDA_ERROR_NO_DEVICE
    );
    assert_eq!(
        result::device::get_count().unwrap_err().0,
        CUresult::CUDA_ERROR_NOT_INITIALIZED
    );
}
