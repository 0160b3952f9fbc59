//! The function that CUPTI calls on the program's threads, for CUDA calls and for graph nodes.

use std::ffi::c_void;

use super::bindings::{CONTEXT_CREATED, DOMAIN_RESOURCE};
use super::{api_callbacks, graph_nodes};
use crate::os::own_work::OwnWork;

/// `CUpti_CallbackFunc`.
///
/// # Safety
/// Only CUPTI may call it, with the data of an enabled callback. `user` must be a `fn()`, which is
/// called for a new context.
pub(crate) unsafe extern "C" fn on_callback(
    user: *mut c_void,
    domain: u32,
    cbid: u32,
    data: *const c_void,
) {
    let _own = OwnWork::begin();
    match domain {
        DOMAIN_RESOURCE if cbid == CONTEXT_CREATED => {
            // SAFETY: as the caller promises.
            let context_created = unsafe { std::mem::transmute::<*mut c_void, fn()>(user) };
            context_created();
        }
        // SAFETY: of this domain, otherwise only callbacks about graph nodes are enabled.
        DOMAIN_RESOURCE => unsafe { graph_nodes::on_node_callback(cbid, data) },
        // SAFETY: the other enabled domains are those of API calls.
        _ => unsafe { api_callbacks::on_api_call(domain, cbid, data) },
    }
}
