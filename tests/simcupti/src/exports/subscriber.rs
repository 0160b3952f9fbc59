//! Version, subscriber, clock and names.

use std::ffi::{c_char, c_void};

use simbase::cbid;

use super::cupti_functions;
use crate::abi::Out;
use crate::codes::{self, Code};
use crate::{driver, state};

/// The one `CUpti_SubscriberHandle` that is ever given out.
const SUBSCRIBER: usize = 0x5afe;
/// `CUPTI_CB_DOMAIN_DRIVER_API` and `CUPTI_CB_DOMAIN_RUNTIME_API`.
const DRIVER_API: u32 = 1;
const RUNTIME_API: u32 = 2;

cupti_functions! {
    fn cuptiGetVersion(version: Out<u32>) {
        let state = state::lock();
        version.put(state.number.unwrap_or(state.version.number()))
    }

    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiGetTimestamp(timestamp: Out<u64>) {
        timestamp.put(driver::now()?)
    }

    /// Who is second gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED. Callbacks of API calls are not simulated: none is ever made.
    fn cuptiSubscribe(subscriber: Out<usize>, _callback: *const c_void, _userdata: *const c_void) {
        let mut state = state::lock();
        if state.subscribed {
            return Err(Code::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        }
        subscriber.put(SUBSCRIBER)?;
        state.subscribed = true;
        Ok(())
    }

    /// What is enabled stays so.
    fn cuptiUnsubscribe(subscriber: usize) {
        let mut state = state::lock();
        if subscriber != SUBSCRIBER || !state.subscribed {
            return Err(Code::INVALID_PARAMETER);
        }
        state.subscribed = false;
        Ok(())
    }

    fn cuptiGetResultString(result: u32, text: Out<*const c_char>) {
        let name = codes::name(result).ok_or(Code::INVALID_PARAMETER)?;
        text.put(name.as_ptr())
    }

    /// Of the functions that are simulated.
    fn cuptiGetCallbackName(domain: u32, number: u32, name: Out<*const c_char>) {
        let list = match domain {
            DRIVER_API => cbid::DRIVER,
            RUNTIME_API => cbid::RUNTIME,
            _ => return Err(Code::INVALID_PARAMETER),
        };
        name.put(cbid::name(list, number).ok_or(Code::INVALID_PARAMETER)?.as_ptr())
    }
}
