//! The subscriber and its callbacks.

use simbase::cbid;

use super::cupti_functions;
use crate::abi::{Callback, Out, SubscriberParams, User};
use crate::callbacks::{DRIVER_API, RESOURCE, RESOURCE_CALLBACKS, RUNTIME_API};
use crate::result_codes::Code;
use crate::{call_records, callbacks, driver, state};

/// The only `CUpti_SubscriberHandle`.
const SUBSCRIBER: usize = 0x5afe;

/// The name of a subscriber that gives none.
const UNNAMED: &str = "CUPTI";

/// Returns the name of the subscriber that is there already, if that is why it fails.
fn subscribe(
    subscriber: Out<usize>,
    callback: Option<Callback>,
    user: User,
    name: &str,
) -> Result<(), (Code, String)> {
    let mut state = state::lock();
    if state.subscribed {
        let holder = state.subscriber_name.clone();
        return Err((Code::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, holder));
    }
    subscriber
        .write(SUBSCRIBER)
        .map_err(|code| (code, String::new()))?;
    state.subscribed = true;
    state.subscriber_name = name.to_owned();
    state.callback = callback.map(|callback| (callback, user));
    Ok(())
}

cupti_functions! {
    /// A second subscriber gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
    fn cuptiSubscribe(subscriber: Out<usize>, callback: Option<Callback>, user: User) {
        subscribe(subscriber, callback, user, UNNAMED).map_err(|(code, _)| code)
    }

    /// A second subscriber gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED and the name of the first.
    fn cuptiSubscribe_v2(
        subscriber: Out<usize>,
        callback: Option<Callback>,
        user: User,
        params: Option<&mut SubscriberParams>,
    ) {
        let name = params.as_deref().and_then(SubscriberParams::name);
        let name = name.map_or(UNNAMED.to_owned(), |name| format!("CUPTI for {name}"));
        subscribe(subscriber, callback, user, &name).map_err(|(code, holder)| {
            if let Some(params) = params {
                params.set_holder(&holder);
            }
            code
        })
    }

    /// INVALID_PARAMETER for unknown callback ids, and for domains other than the driver, the
    /// runtime and resources.
    fn cuptiEnableCallback(enable: u32, subscriber: usize, domain: u32, number: u32) {
        let is_known = match domain {
            DRIVER_API => cbid::name(cbid::DRIVER, number).is_some(),
            RUNTIME_API => cbid::name(cbid::RUNTIME, number).is_some(),
            RESOURCE => RESOURCE_CALLBACKS.contains(&number),
            _ => false,
        };
        if !is_known {
            return Err(Code::INVALID_PARAMETER);
        }
        let nothing = {
            let mut state = state::lock();
            if subscriber != SUBSCRIBER || !state.subscribed {
                return Err(Code::INVALID_PARAMETER);
            }
            state.enabled.set_callback(domain, number, enable != 0);
            state.enabled.is_empty() && state.pc_sampling.is_empty()
        };
        driver::set_observer((!nothing).then_some(call_records::on_driver_call))
    }

    /// Only inside the callback that got the handle.
    fn cuptiGetGraphNodeId(node: usize, id: Out<u64>) {
        id.write(callbacks::node_number(node)?)
    }

    /// Removes the callback. Activity kinds stay enabled, and buffers are still delivered. The
    /// correlation ids of calls begin anew.
    fn cuptiUnsubscribe(subscriber: usize) {
        let mut state = state::lock();
        if subscriber != SUBSCRIBER || !state.subscribed {
            return Err(Code::INVALID_PARAMETER);
        }
        state.subscribed = false;
        state.callback = None;
        state.correlation = 0;
        Ok(())
    }
}
