//! The subscriber and its callbacks.

use simbase::cbid;

use super::cupti_functions;
use crate::abi::{Callback, Out, SubscriberParams, User};
use crate::callbacks::{DRIVER_API, RESOURCE, RUNTIME_API};
use crate::clients::Access;
use crate::result_codes::Code;
use crate::{call_records, callbacks, driver, state, subscribers};

/// The name of a subscriber that gives none.
const UNNAMED: &str = "CUPTI";

/// Returns the name of the subscriber that is there already, if that is why it fails.
fn subscribe(
    subscriber: Out<usize>,
    callback: Option<Callback>,
    user: User,
    access: Access,
    name: &str,
) -> Result<(), (Code, String)> {
    let mut state = state::lock();
    let slot = state.subscribe(access, name)?;
    subscriber
        .write(subscribers::handle(slot))
        .map_err(|code| (code, String::new()))?;
    state.clients[slot].callback = callback.map(|callback| (callback, user));
    Ok(())
}

cupti_functions! {
    /// A second subscriber gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
    fn cuptiSubscribe(subscriber: Out<usize>, callback: Option<Callback>, user: User) {
        subscribe(subscriber, callback, user, Access::Process, UNNAMED).map_err(|(code, _)| code)
    }

    /// A second subscriber gets MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED and the name of the first,
    /// unless both allow others.
    fn cuptiSubscribe_v2(
        subscriber: Out<usize>,
        callback: Option<Callback>,
        user: User,
        params: SubscriberParams,
    ) {
        let shares = params.allows_others(state::lock().version)?;
        let access = Access::Subscriber { shares };
        let name = params.name();
        let name = name.map_or(UNNAMED.to_owned(), |name| format!("CUPTI for {name}"));
        subscribe(subscriber, callback, user, access, &name).map_err(|(code, holder)| {
            params.set_holder(&holder);
            code
        })
    }

    /// INVALID_PARAMETER for unknown callback ids, and for domains other than the driver, the
    /// runtime and resources.
    fn cuptiEnableCallback(enable: u32, subscriber: usize, domain: u32, number: u32) {
        let is_known = match domain {
            DRIVER_API => cbid::name(cbid::DRIVER, number).is_some(),
            RUNTIME_API => cbid::name(cbid::RUNTIME, number).is_some(),
            RESOURCE => callbacks::has_resource_callback(state::lock().version, number),
            _ => false,
        };
        if !is_known {
            return Err(Code::INVALID_PARAMETER);
        }
        let nothing = {
            let mut state = state::lock();
            let slot = state.slot(subscriber)?;
            state.clients[slot].enabled.set_callback(domain, number, enable != 0);
            state.is_idle()
        };
        driver::set_observer((!nothing).then_some(call_records::on_driver_call))
    }

    /// Only inside the callback that got the handle.
    fn cuptiGetGraphNodeId(node: usize, id: Out<u64>) {
        id.write(callbacks::node_number(node)?)
    }

    /// Removes the callback, and of a subscriber that has functions of its own everything. After
    /// the last one the correlation ids of calls begin anew.
    fn cuptiUnsubscribe(subscriber: usize) {
        let is_idle = {
            let mut state = state::lock();
            state.unsubscribe(subscriber)?;
            state.is_idle()
        };
        if is_idle {
            // Fails without a driver, where nothing was watched.
            let _ = driver::set_observer(None);
        }
        Ok(())
    }
}
