//! Initialization, Version, Error Handling and Device Management of the driver API reference.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::driver_functions;
use crate::abi::{Out, write_text};
use crate::result_codes::{Code, describe};
use crate::{call_wrapper, device, injection, state};

driver_functions! {
    /// The driver shuts down at exit. Exit handlers that were registered before this call, or by a
    /// library that it injects, run after that.
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        injection::run_once();
        let mut state = state::lock();
        state.read_device_count();
        if state.device_count == 0 {
            return Err(Code::NO_DEVICE);
        }
        if !state.is_initialized {
            state.is_initialized = true;
            // SAFETY: the handler writes one static, and the library is never unloaded.
            unsafe { libc::atexit(at_exit) };
        }
        Ok(())
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.write(device::DRIVER_VERSION)
    }

    fn cuGetErrorName(code: i32, name: Out<*const c_char>) {
        write_static(name, describe(code).map(|known| known.0))
    }

    fn cuGetErrorString(code: i32, text: Out<*const c_char>) {
        write_static(text, describe(code).map(|known| known.1))
    }

    fn cuDeviceGet(handle: Out<i32>, ordinal: i32) {
        state::lock_initialized()?.device(ordinal)?;
        handle.write(ordinal)
    }

    fn cuDeviceGetCount(count: Out<i32>) {
        let devices = state::lock_initialized()?.device_count;
        count.write(devices as i32)
    }

    fn cuDeviceGetName(name: Out<c_char>, len: i32, device: i32) {
        state::lock_initialized()?.device(device)?;
        write_text(name, len, device::NAME)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) {
        let device = state::lock_initialized()?.device(device)?;
        value.write(device::attribute(attribute, device)?)
    }

    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        let device = state::lock_initialized()?.device(device)?;
        uuid.write(device::uuid(device))
    }

    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        let device = state::lock_initialized()?.device(device)?;
        uuid.write(device::uuid(device))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        state::lock_initialized()?.device(device)?;
        bytes.write(device::MEMORY_BYTES as usize)
    }

    fn cuDeviceGetPCIBusId(id: Out<c_char>, len: i32, device: i32) {
        let device = state::lock_initialized()?.device(device)?;
        write_text(id, len, &device::pci_bus_id(device))
    }
}

extern "C" fn at_exit() {
    call_wrapper::shut_down();
}

/// An unknown code is INVALID_VALUE and a null text (API reference, cuGetErrorName).
fn write_static(
    out: Out<*const c_char>,
    text: Option<&'static CStr>,
) -> crate::result_codes::Answer {
    match text {
        Some(text) => out.write(text.as_ptr()),
        None => {
            out.write_if_given(ptr::null());
            Err(Code::INVALID_VALUE)
        }
    }
}
