//! Version, clock and names.

use std::ffi::c_char;

use simbase::cbid;

use super::cupti_functions;
use crate::abi::Out;
use crate::callbacks::{DRIVER_API, RUNTIME_API};
use crate::driver;
use crate::result_codes::{self, Code};
use crate::state;

cupti_functions! {
    fn cuptiGetVersion(version: Out<u32>) {
        let state = state::lock();
        version.write(state.number.unwrap_or(state.version.number()))
    }

    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiGetTimestamp(timestamp: Out<u64>) {
        state::lock().process()?;
        timestamp.write(driver::now()?)
    }

    /// As [`cuptiGetTimestamp`].
    fn cuptiGetTimestamp_v2(subscriber: usize, timestamp: Out<u64>) {
        state::lock().subscriber(subscriber)?;
        timestamp.write(driver::now()?)
    }

    fn cuptiGetResultString(result: u32, text: Out<*const c_char>) {
        let name = result_codes::name(result).ok_or(Code::INVALID_PARAMETER)?;
        text.write(name.as_ptr())
    }

    /// Only for simulated functions.
    fn cuptiGetCallbackName(domain: u32, number: u32, name: Out<*const c_char>) {
        let list = match domain {
            DRIVER_API => cbid::DRIVER,
            RUNTIME_API => cbid::RUNTIME,
            _ => return Err(Code::INVALID_PARAMETER),
        };
        name.write(cbid::name(list, number).ok_or(Code::INVALID_PARAMETER)?.as_ptr())
    }
}
