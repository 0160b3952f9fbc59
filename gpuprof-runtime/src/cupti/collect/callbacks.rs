//! The function that CUPTI calls on the program's threads, for CUDA calls and for graph nodes.

use std::ffi::c_void;

use super::bindings::{API_ENTER, CONTEXT_CREATED, CallbackData, DOMAIN_RESOURCE};
use super::callback_ids::{self, ProfilerCall};
use super::{api_callbacks, graph_nodes};
use crate::os::own_work::OwnWork;

/// What CUPTI's callbacks and reader call.
#[derive(Debug)]
pub(crate) struct Hooks {
    /// Inside the call of the program's that creates a context.
    pub(crate) context_created: fn(),
    /// Inside the program's calls of `cudaProfilerStart` (true) and `cudaProfilerStop`, of the
    /// runtime or the driver.
    pub(crate) profiler_called: fn(bool),
    /// About once per second, on the reader's thread.
    pub(crate) poll_clocks: fn(),
}

/// `CUpti_CallbackFunc`.
///
/// # Safety
/// Only CUPTI may call it, with the data of an enabled callback. `user` must point to [`Hooks`]
/// that live as long as the program.
pub(crate) unsafe extern "C" fn on_callback(
    user: *mut c_void,
    domain: u32,
    cbid: u32,
    data: *const c_void,
) {
    let _own = OwnWork::begin();
    // SAFETY: as the caller promises.
    let Some(hooks) = (unsafe { user.cast::<Hooks>().as_ref() }) else {
        return;
    };
    match domain {
        DOMAIN_RESOURCE if cbid == CONTEXT_CREATED => (hooks.context_created)(),
        // SAFETY: of this domain, otherwise only callbacks about graph nodes are enabled.
        DOMAIN_RESOURCE => unsafe { graph_nodes::on_node_callback(cbid, data) },
        _ => match callback_ids::profiler_call(domain, cbid) {
            // SAFETY: the other enabled domains are those of API calls.
            None => unsafe { api_callbacks::on_api_call(domain, cbid, data) },
            // SAFETY: as above.
            Some(call) => unsafe { on_profiler_call(hooks, call, data) },
        },
    }
}

/// Measuring ends when the outer of two nested calls begins, and begins when the inner one has
/// returned; the other changes nothing. A call that fails counts too.
///
/// # Safety
/// `data` must be CUPTI's data of a driver or runtime call, or null.
unsafe fn on_profiler_call(hooks: &Hooks, call: ProfilerCall, data: *const c_void) {
    // SAFETY: the data of the two API domains has this type and lives until this function returns.
    let Some(data) = (unsafe { data.cast::<CallbackData>().as_ref() }) else {
        return;
    };
    match (call, data.callback_site) {
        (ProfilerCall::Stop, API_ENTER) => (hooks.profiler_called)(false),
        (ProfilerCall::Start, site) if site != API_ENTER => (hooks.profiler_called)(true),
        _ => {}
    }
}
