//! Initialization, Version, Error Handling and Device Management of the driver API reference.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::driver_functions;
use crate::abi::{Out, put_text};
use crate::codes::{Code, describe};
use crate::{device, fault, state};

driver_functions! {
    /// The driver ends with the process: handlers that were registered before this call find it
    /// gone.
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut state = state::lock();
        state.count_devices();
        if state.devices == 0 {
            return Err(Code::NO_DEVICE);
        }
        if !state.initialized {
            state.initialized = true;
            // SAFETY: the handler touches one static, and the library is never unloaded.
            unsafe { libc::atexit(at_exit) };
        }
        Ok(())
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.put(device::DRIVER_VERSION)
    }

    fn cuGetErrorName(code: i32, name: Out<*const c_char>) {
        put_static(name, describe(code).map(|known| known.0))
    }

    fn cuGetErrorString(code: i32, text: Out<*const c_char>) {
        put_static(text, describe(code).map(|known| known.1))
    }

    fn cuDeviceGet(handle: Out<i32>, ordinal: i32) {
        state::ready()?.device(ordinal)?;
        handle.put(ordinal)
    }

    fn cuDeviceGetCount(count: Out<i32>) {
        let devices = state::ready()?.devices;
        count.put(devices as i32)
    }

    fn cuDeviceGetName(name: Out<c_char>, len: i32, device: i32) {
        state::ready()?.device(device)?;
        put_text(name, len, device::NAME)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) {
        let device = state::ready()?.device(device)?;
        value.put(device::attribute(attribute, device)?)
    }

    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        let device = state::ready()?.device(device)?;
        uuid.put(device::uuid(device))
    }

    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        let device = state::ready()?.device(device)?;
        uuid.put(device::uuid(device))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        state::ready()?.device(device)?;
        bytes.put(device::MEMORY_BYTES as usize)
    }

    fn cuDeviceGetPCIBusId(id: Out<c_char>, len: i32, device: i32) {
        let device = state::ready()?.device(device)?;
        put_text(id, len, &device::pci_bus_id(device))
    }
}

extern "C" fn at_exit() {
    fault::shut_down();
}

/// An unknown code is INVALID_VALUE and a null text (API reference, cuGetErrorName).
fn put_static(out: Out<*const c_char>, text: Option<&'static CStr>) -> crate::abi::Answer {
    match text {
        Some(text) => out.put(text.as_ptr()),
        None => {
            out.put_if_given(ptr::null());
            Err(Code::INVALID_VALUE)
        }
    }
}
