//! Whether the program has initialized CUDA. Asking initializes nothing.

use std::ffi::c_int;

use crate::driver::table::{Driver, find, loaded_library};

/// `CUDA_ERROR_NOT_INITIALIZED`: `cuInit` has not been called.
const NOT_INITIALIZED: c_int = 3;

/// Whether the program has initialized CUDA. A program that computes on the CPU has not, even if
/// the driver is linked in.
pub(crate) fn is_initialized() -> bool {
    type GetCount = unsafe extern "C" fn(*mut c_int) -> c_int;
    if Driver::loaded().is_some() {
        return true;
    }
    let library = loaded_library();
    // SAFETY: the type restates the CUDA driver API's declaration of the symbol.
    let get_count: Option<GetCount> = unsafe { find(&library, &["cuDeviceGetCount"]) };
    let mut count = 0;
    // SAFETY: the count is writable.
    let status = get_count.map(|get_count| unsafe { get_count(&raw mut count) });
    status.is_some_and(|status| status != NOT_INITIALIZED)
}
