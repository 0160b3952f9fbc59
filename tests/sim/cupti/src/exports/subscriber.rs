//! Version, subscriber, clock and names.

use std::ffi::c_char;

use simbase::cbid;

use super::cupti_functions;
use crate::abi::{Callback, Out, User};
use crate::callbacks::{DRIVER_API, RUNTIME_API};
use crate::result_codes::{self, Code};
use crate::{call_records, callbacks, driver, state};

/// The only `CUpti_SubscriberHandle`.
const SUBSCRIBER: usize = 0x5afe;

cupti_functions! {
    fn cuptiGetVersion(version: Out<u32>) {
        let state = state::lock();
        version.write(state.number.unwrap_or(state.version.number()))
    }

    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiGetTimestamp(timestamp: Out<u64>) {
        timestamp.write(callbacks::now()?)
    }

    /// A second subscriber gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
    fn cuptiSubscribe(subscriber: Out<usize>, callback: Option<Callback>, user: User) {
        let mut state = state::lock();
        if state.subscribed {
            return Err(Code::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        }
        subscriber.write(SUBSCRIBER)?;
        state.subscribed = true;
        state.callback = callback.map(|callback| (callback, user));
        Ok(())
    }

    /// INVALID_PARAMETER for unknown callback ids, and for domains other than the driver and the
    /// runtime.
    fn cuptiEnableCallback(enable: u32, subscriber: usize, domain: u32, number: u32) {
        let list = match domain {
            DRIVER_API => cbid::DRIVER,
            RUNTIME_API => cbid::RUNTIME,
            _ => return Err(Code::INVALID_PARAMETER),
        };
        cbid::name(list, number).ok_or(Code::INVALID_PARAMETER)?;
        {
            let mut state = state::lock();
            if subscriber != SUBSCRIBER || !state.subscribed {
                return Err(Code::INVALID_PARAMETER);
            }
            state.enabled.set_callback(domain, number, enable != 0);
        }
        driver::set_observer(Some(call_records::on_driver_call))
    }

    /// Disables only the callbacks.
    fn cuptiUnsubscribe(subscriber: usize) {
        let mut state = state::lock();
        if subscriber != SUBSCRIBER || !state.subscribed {
            return Err(Code::INVALID_PARAMETER);
        }
        state.subscribed = false;
        state.callback = None;
        Ok(())
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
