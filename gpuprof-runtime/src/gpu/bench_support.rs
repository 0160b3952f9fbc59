//! What gpuprof-bench needs of the driver beyond cudarc. Not public: it may change in any release.

use cudarc::driver::CudaEvent;
use gpuprof_report::profile::Device;

use crate::driver::device;
use crate::driver::handles::Event;
use crate::driver::table::Driver;

/// Nanoseconds between two events that are complete. cudarc's own function is missing from drivers
/// before CUDA 12.8.
///
/// # Errors
/// What the driver says.
pub fn elapsed_ns(start: &CudaEvent, end: &CudaEvent) -> Result<f64, String> {
    let driver = Driver::get();
    let handle = |event: &CudaEvent| Event(event.cu_event() as usize);
    driver
        .elapsed_ns(handle(start), handle(end))
        .map(|ns| ns as f64)
        .map_err(|failed| driver.error_name(failed.0))
}

/// The device of this ordinal.
#[must_use]
pub fn describe(ordinal: u32) -> Device {
    device::describe(Driver::get(), ordinal)
}
