//! The function that CUPTI calls on the program's threads, for CUDA calls and for graph nodes.

use std::ffi::c_void;

use super::bindings::DOMAIN_RESOURCE;
use super::{api_callbacks, graph_nodes};
use crate::os::own_work::OwnWork;

/// `CUpti_CallbackFunc`.
///
/// # Safety
/// Only CUPTI may call it, with the data of an enabled callback.
pub(crate) unsafe extern "C" fn on_callback(
    _user: *mut c_void,
    domain: u32,
    cbid: u32,
    data: *const c_void,
) {
    let _own = OwnWork::begin();
    match domain {
        // SAFETY: of this domain only callbacks about graph nodes are enabled.
        DOMAIN_RESOURCE => unsafe { graph_nodes::on_node_callback(cbid, data) },
        // SAFETY: the other enabled domains are those of API calls.
        _ => unsafe { api_callbacks::on_api_call(domain, cbid, data) },
    }
}
