//! Version, subscriber, clock and names.

use std::ffi::c_char;

use simbase::cbid;

use super::cupti_functions;
use crate::abi::{Callback, Out, User};
use crate::callbacks::{DRIVER_API, RUNTIME_API};
use crate::codes::{self, Code};
use crate::{callbacks, collect, driver, state};

/// The one `CUpti_SubscriberHandle` that is ever given out.
const SUBSCRIBER: usize = 0x5afe;

cupti_functions! {
    fn cuptiGetVersion(version: Out<u32>) {
        let state = state::lock();
        version.put(state.number.unwrap_or(state.version.number()))
    }

    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiGetTimestamp(timestamp: Out<u64>) {
        timestamp.put(callbacks::now()?)
    }

    /// Who is second gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
    fn cuptiSubscribe(subscriber: Out<usize>, callback: Option<Callback>, user: User) {
        let mut state = state::lock();
        if state.subscribed {
            return Err(Code::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        }
        subscriber.put(SUBSCRIBER)?;
        state.subscribed = true;
        state.callback = callback.map(|callback| (callback, user));
        Ok(())
    }

    /// Numbers that no function has are INVALID_PARAMETER, as are domains other than those of the driver and the runtime.
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
            state.enabled.listen(domain, number, enable != 0);
        }
        driver::watch(Some(collect::seen))
    }

    /// What is enabled stays so, callbacks excepted.
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
