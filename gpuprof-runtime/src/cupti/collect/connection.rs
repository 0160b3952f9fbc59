//! Subscribes to CUPTI and enables what is recorded; disables it and leaves CUPTI.

use std::ffi::c_void;
use std::time::Duration;

use super::bindings::{
    CONTEXT_CREATED, CONTEXT_DESTROYED, DOMAIN_DRIVER, DOMAIN_RESOURCE, DOMAIN_RUNTIME,
    MODULE_LOADED, MODULE_UNLOADED, kind, node_callback,
};
use super::call_gate::{self, Calls};
use super::callback_ids::{self, CallGroup, DRIVER_LAUNCH, PROFILER_CALLS, RUNTIME_LAUNCH};
use super::callbacks::{self, Hooks};
use super::library::{CallError, CuptiLibrary};
use super::lifecycle;
use super::unavailable_reason::CuptiUnavailable;

/// The kinds of activity that are recorded.
const KINDS: [u32; 4] = [
    kind::CONCURRENT_KERNEL,
    kind::MEMCPY,
    kind::MEMCPY2,
    kind::MEMSET,
];

/// For how long gpuprof tries to leave CUPTI.
const LEAVE_TIME: Duration = Duration::from_secs(2);
/// For how long it waits for a moment without launches to enable activities.
const ENABLE_TIME: Duration = Duration::from_secs(2);

/// How CUPTI is started.
#[derive(Clone, Copy)]
pub(crate) struct Connecting {
    /// Beside other profilers, if they can.
    pub(crate) may_share: bool,
    /// Between the program's launches: its calls are counted from then on.
    pub(crate) between_launches: bool,
}

/// Subscribes, and enables what is always recorded.
pub(super) fn connect(
    library: &CuptiLibrary,
    hooks: &'static Hooks,
    how: Connecting,
) -> Result<(), CuptiUnavailable> {
    if !library.own.is_subscribed() {
        // Before anything else: this call fails if another tool uses CUPTI, and any other call
        // would disturb that tool.
        library.subscribe_by_name(
            callbacks::on_callback,
            std::ptr::from_ref(hooks).cast_mut().cast::<c_void>(),
            how.may_share,
        )?;
        // Of calls that were counted before, the end may not have been seen.
        call_gate::forget_calls();
        (hooks.subscribed)();
    }
    let mut enabled = 0;
    let result = enable_callbacks(library);
    for (domain, cbid, _) in PROFILER_CALLS {
        let _ = library.set_callback(true, domain, cbid);
    }
    // Without it the report may be made after the driver's end, and lack the devices.
    let _ = library.set_callback(true, DOMAIN_RESOURCE, CONTEXT_CREATED);
    let mut enable = || enable_activities(library, &mut enabled);
    let enabled_all = match result {
        Ok(()) if how.between_launches => {
            between_launches(enable).ok_or(CuptiUnavailable::ProcessEnds)?
        }
        Ok(()) => enable(),
        Err(error) => Err(error),
    };
    if let Err(error) = enabled_all {
        for kind in KINDS.get(..enabled).unwrap_or_default() {
            let _ = library.disable(*kind);
        }
        library.leave();
        return Err(library.unavailable(error));
    }
    library.look_for_hidden_nodes();
    Ok(())
}

/// Disables every callback that may be enabled, last those of the calls that the gate counts: a
/// thread that begins one after that is not kept from it.
fn disable_callbacks(library: &CuptiLibrary) {
    let groups = [CallGroup::Memory, CallGroup::Lookups, CallGroup::Always].into_iter();
    let api_calls = groups.flat_map(|group| {
        let ids = move |is_runtime| callback_ids::ids_of_group(is_runtime, group);
        let of_driver = ids(false).map(|cbid| (DOMAIN_DRIVER, cbid));
        of_driver.chain(ids(true).map(|cbid| (DOMAIN_RUNTIME, cbid)))
    });
    let profiler_calls = PROFILER_CALLS
        .into_iter()
        .map(|(domain, cbid, _)| (domain, cbid));
    let resources = [
        CONTEXT_CREATED,
        CONTEXT_DESTROYED,
        MODULE_LOADED,
        MODULE_UNLOADED,
    ];
    let resources = resources
        .into_iter()
        .chain(node_callback::ALL)
        .map(|cbid| (DOMAIN_RESOURCE, cbid));
    for (domain, cbid) in resources.chain(profiler_calls).chain(api_calls) {
        // A version may lack some.
        let _ = library.set_callback(false, domain, cbid);
    }
}

/// Enables activities at a moment without launches, if there is one soon; not once the process
/// ends.
fn between_launches<R>(mut enable: impl FnMut() -> R) -> Option<R> {
    call_gate::count_calls();
    let mut enable = || (!lifecycle::is_shutting_down()).then(&mut enable);
    let enabled = call_gate::between_calls(ENABLE_TIME, Calls::WithoutWaits, &mut enable);
    enabled.unwrap_or_else(enable)
}

/// Enables every kind of activity, and counts the enabled ones as it goes.
fn enable_activities(library: &CuptiLibrary, enabled: &mut usize) -> Result<(), CallError> {
    // Otherwise CUPTI zeroes each buffer inside the CUDA call that needs it, which takes 0.5 ms of
    // the program's thread (on an H200's machine). A version without the attribute still does so.
    let _ = library.set_zeroed_buffers(true);
    library.clear_failure_counts();
    library.register_buffers()?;
    for kind in KINDS {
        library.enable(kind)?;
        *enabled += 1;
    }
    Ok(())
}

/// Enables the callbacks for the CUDA calls that are always recorded, and for graph nodes.
fn enable_callbacks(library: &CuptiLibrary) -> Result<(), CallError> {
    for (is_runtime, domain, launch) in [
        (false, DOMAIN_DRIVER, DRIVER_LAUNCH),
        (true, DOMAIN_RUNTIME, RUNTIME_LAUNCH),
    ] {
        for cbid in callback_ids::ids_of_group(is_runtime, CallGroup::Always) {
            let result = library.set_callback(true, domain, cbid);
            // A version may lack newer calls, but every version has launches.
            if cbid == launch {
                result?;
            }
        }
    }
    for cbid in node_callback::ALL {
        let result = library.set_callback(true, DOMAIN_RESOURCE, cbid);
        // CUDA 12 reports no updates of nodes.
        if cbid < node_callback::UPDATED {
            result?;
        }
    }
    Ok(())
}

pub(super) fn disable_activities(library: &CuptiLibrary) {
    for kind in KINDS.into_iter().chain([kind::MEMORY2]) {
        let _ = library.disable(kind);
    }
}

/// Leaves CUPTI as if nobody had used it.
pub(super) fn disconnect(library: &CuptiLibrary) {
    let _ = library.set_zeroed_buffers(false);
    disable_callbacks(library);
    library.leave();
}

/// Leaves CUPTI at a moment at which the program is in no call. Without one in [`LEAVE_TIME`] it
/// stays subscribed, to the end of the next look.
pub(super) fn leave_between_calls(library: &CuptiLibrary) {
    let left = call_gate::between_calls(LEAVE_TIME, Calls::All, || {
        if !lifecycle::is_shutting_down() {
            disconnect(library);
        }
    });
    if left.is_some() {
        call_gate::forget_calls();
    }
}
