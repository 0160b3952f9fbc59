//! The function that CUPTI calls on the program's threads: in CUDA calls, and about graph nodes,
//! contexts and modules.

use std::ffi::c_void;

use super::bindings::{
    API_ENTER, CONTEXT_CREATED, CONTEXT_DESTROYED, CallbackData, DOMAIN_RESOURCE, DOMAIN_RUNTIME,
    MODULE_LOADED, MODULE_UNLOADED, ModuleData, ResourceData,
};
use super::callback_ids::{self, CallGroup, CallPurpose, ProfilerCall};
use super::record::ApiFunction;
use super::{api_callbacks, call_gate, graph_nodes, lifecycle, used_contexts};
use crate::os::own_work::OwnWork;

/// What CUPTI's callbacks and reader call.
#[derive(Debug)]
pub(crate) struct Hooks {
    /// After each subscription.
    pub(crate) subscribed: fn(),
    /// Inside the call of the program's that creates a context.
    pub(crate) context_created: fn(),
    /// Inside a call of the program's that uses a context for the first time.
    pub(crate) context_used: fn(),
    /// Inside the call of the program's that destroys the context of this address.
    pub(crate) context_destroyed: fn(usize),
    /// Inside the call of the program's that loads a module with this code.
    pub(crate) module_loaded: fn(&[u8]),
    /// Inside the call of the program's that unloads a module, before.
    pub(crate) module_unloaded: fn(),
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
        // SAFETY: the data of this domain has the type that the function expects.
        DOMAIN_RESOURCE => unsafe { on_resource(hooks, cbid, data) },
        // SAFETY: the other enabled domains are those of API calls.
        _ => unsafe { on_call(hooks, domain, cbid, data) },
    }
}

/// # Safety
/// `data` must be CUPTI's data of a driver or runtime call, or null.
unsafe fn on_call(hooks: &Hooks, domain: u32, cbid: u32, data: *const c_void) {
    // SAFETY: the data of the two API domains has this type and lives until this function returns.
    let Some(data) = (unsafe { data.cast::<CallbackData>().as_ref() }) else {
        return;
    };
    if data.callback_site == API_ENTER
        && used_contexts::meet(data.context)
        // Not in a forked child.
        && lifecycle::callable_library().is_some()
    {
        (hooks.context_used)();
    }
    let purpose = call_gate::counts_calls()
        .then(|| purpose(domain, cbid))
        .flatten();
    if data.callback_site == API_ENTER
        && let Some(purpose) = purpose
    {
        call_gate::enter(purpose == CallPurpose::Sync);
    }
    match callback_ids::profiler_call(domain, cbid) {
        None => api_callbacks::on_api_call(domain, cbid, data),
        Some(call) => on_profiler_call(hooks, call, data),
    }
    if data.callback_site != API_ENTER && purpose.is_some() {
        call_gate::leave();
    }
}

/// The purpose of a call that is recorded for as long as CUPTI runs: of others, the beginning may
/// be seen and the end not.
fn purpose(domain: u32, cbid: u32) -> Option<CallPurpose> {
    let is_runtime = domain == DOMAIN_RUNTIME;
    let purpose = ApiFunction { is_runtime, cbid }.purpose();
    purpose.filter(|purpose| purpose.group() == CallGroup::Always)
}

/// # Safety
/// `data` must be CUPTI's data of an enabled callback about resources, or null.
unsafe fn on_resource(hooks: &Hooks, cbid: u32, data: *const c_void) {
    // SAFETY: the data of this domain has this type, and lives until this function returns.
    let context = unsafe { data.cast::<ResourceData>().as_ref() }.map(|data| data.context as usize);
    // These take locks, which another thread may have held when a child was forked.
    let takes_locks = [CONTEXT_DESTROYED, MODULE_LOADED, MODULE_UNLOADED].contains(&cbid);
    if takes_locks && lifecycle::callable_library().is_none() {
        return;
    }
    match cbid {
        CONTEXT_CREATED => {
            context.into_iter().for_each(used_contexts::renew);
            (hooks.context_created)();
        }
        CONTEXT_DESTROYED => context.into_iter().for_each(hooks.context_destroyed),
        MODULE_LOADED => {
            // SAFETY: as above.
            if let Some(code) = unsafe { code(data) } {
                (hooks.module_loaded)(code);
            }
        }
        MODULE_UNLOADED => (hooks.module_unloaded)(),
        // SAFETY: otherwise only callbacks about graph nodes are enabled.
        _ => unsafe { graph_nodes::on_node_callback(cbid, data) },
    }
}

/// The code of the module that is loaded.
///
/// # Safety
/// `data` must be CUPTI's data of the callback [`MODULE_LOADED`], or null; the code lives until the
/// callback returns.
unsafe fn code<'a>(data: *const c_void) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises.
    let data = unsafe { data.cast::<ResourceData>().as_ref() }?;
    // SAFETY: the data of this callback has this description, or none.
    let module = unsafe { data.descriptor.cast::<ModuleData>().as_ref() }?;
    if module.cubin.is_null() {
        return None;
    }
    // SAFETY: CUPTI passes the address and the size of the code.
    Some(unsafe { std::slice::from_raw_parts(module.cubin, module.bytes) })
}

/// Measuring ends when the outer of two nested calls begins, and begins when the inner one has
/// returned; the other changes nothing. A call that fails counts too.
fn on_profiler_call(hooks: &Hooks, call: ProfilerCall, data: &CallbackData) {
    match (call, data.callback_site) {
        (ProfilerCall::Stop, API_ENTER) => (hooks.profiler_called)(false),
        (ProfilerCall::Start, site) if site != API_ENTER => (hooks.profiler_called)(true),
        _ => {}
    }
}
