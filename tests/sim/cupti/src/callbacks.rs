//! The subscriber's callbacks for API calls, contexts, modules and graph nodes. A real library
//! calls back at entry, when a context, module or node changes and at exit; here a change is
//! reported after the call's work.

use std::cell::Cell;
use std::ffi::c_void;

use simbase::activity::{Call, Module, ResourceChange};

use crate::abi::{Callback, CallbackData, GraphData, ModuleData, ResourceData, User};
use crate::record_sizes::Version;
use crate::result_codes::{Answer, Code};
use crate::state;

/// `CUPTI_CB_DOMAIN_DRIVER_API`.
pub(crate) const DRIVER_API: u32 = 1;
/// `CUPTI_CB_DOMAIN_RUNTIME_API`.
pub(crate) const RUNTIME_API: u32 = 2;
/// `CUPTI_CB_DOMAIN_RESOURCE`.
pub(crate) const RESOURCE: u32 = 3;

/// `CUPTI_CBID_RESOURCE_CONTEXT_CREATED`.
const CONTEXT_CREATED: u32 = 1;
/// `CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING`.
const CONTEXT_DESTROYED: u32 = 2;
/// `CUPTI_CBID_RESOURCE_MODULE_LOADED`.
const MODULE_LOADED: u32 = 6;
/// `CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING`.
const MODULE_UNLOADED: u32 = 7;
/// `CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED`.
const NODE_CREATED: u32 = 13;
/// `CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED`.
const NODE_CLONED: u32 = 20;
/// `CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED`.
const NODE_UPDATED: u32 = 22;
/// `CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS`.
const NODE_SET_PARAMS: u32 = 23;

/// The simulated callbacks of the domain [`RESOURCE`].
pub(crate) const RESOURCE_CALLBACKS: [u32; 8] = [
    CONTEXT_CREATED,
    CONTEXT_DESTROYED,
    MODULE_LOADED,
    MODULE_UNLOADED,
    NODE_CREATED,
    NODE_CLONED,
    NODE_UPDATED,
    NODE_SET_PARAMS,
];

/// Whether a version has this callback of the domain [`RESOURCE`].
pub(crate) fn has_resource_callback(version: Version, cbid: u32) -> bool {
    let is_since_13 = [NODE_UPDATED, NODE_SET_PARAMS].contains(&cbid);
    RESOURCE_CALLBACKS.contains(&cbid) && !(is_since_13 && version < Version::Cuda13_0)
}

/// The handles of a callback's node and of its original. They are valid inside the callback.
const NODE: usize = 0x10;
const ORIGINAL_NODE: usize = 0x20;

thread_local! {
    /// The numbers of the node and of its original, in the callback that runs on this thread.
    static CALLBACK_NODES: Cell<[Option<u64>; 2]> = const { Cell::new([None; 2]) };
}

/// A subscriber, and what to report to it of a call.
pub(crate) struct Notification {
    pub(crate) callback: Callback,
    pub(crate) user: User,
    /// The domain, callback id and correlation id of the call, if it has an enabled callback.
    pub(crate) api: Option<(u32, u32, u32)>,
    /// The callbacks for contexts, modules and graph nodes that are enabled.
    pub(crate) resource_callbacks: Vec<u32>,
}

impl Notification {
    /// Makes the callbacks at the call's beginning or end, which share a value of the client. Must
    /// be called without the state lock.
    pub(crate) fn deliver(&self, call: &Call<'_>, shared: &mut u64) {
        if !call.has_ended {
            self.deliver_api(call, shared);
            return;
        }
        for change in call.resource_changes() {
            self.deliver_change(*change);
        }
        self.deliver_api(call, shared);
    }

    fn deliver_api(&self, call: &Call<'_>, shared: &mut u64) {
        if let Some((domain, cbid, correlation)) = self.api {
            let data = CallbackData::new(correlation, call, shared);
            let data = std::ptr::from_ref(&data).cast();
            self.call_back(domain, cbid, data);
        }
    }

    fn deliver_change(&self, change: ResourceChange) {
        let (cbid, node, original) = match change {
            ResourceChange::ContextCreated { context } => {
                return self.deliver_context(CONTEXT_CREATED, context);
            }
            ResourceChange::ContextDestroyed { context, .. } => {
                return self.deliver_context(CONTEXT_DESTROYED, context);
            }
            ResourceChange::ModuleLoaded { module } => {
                return self.deliver_module(MODULE_LOADED, module);
            }
            ResourceChange::ModuleUnloaded { module } => {
                return self.deliver_module(MODULE_UNLOADED, module);
            }
            ResourceChange::Created { node } => (NODE_CREATED, node, None),
            ResourceChange::Cloned { node, original } => (NODE_CLONED, node, Some(original)),
            ResourceChange::Updated { source } => (NODE_UPDATED, source, None),
            ResourceChange::ParametersSet { node } => (NODE_SET_PARAMS, node, None),
        };
        if !self.resource_callbacks.contains(&cbid) {
            return;
        }
        let graph = GraphData::new(NODE, original.map_or(0, |_| ORIGINAL_NODE));
        let data = ResourceData::new(0, Some(&graph));
        CALLBACK_NODES.set([Some(node), original]);
        self.call_back(RESOURCE, cbid, std::ptr::from_ref(&data).cast());
        CALLBACK_NODES.set([None; 2]);
    }

    fn deliver_context(&self, cbid: u32, context: u64) {
        if self.resource_callbacks.contains(&cbid) {
            let data = ResourceData::<GraphData>::new(context, None);
            self.call_back(RESOURCE, cbid, std::ptr::from_ref(&data).cast());
        }
    }

    /// The image is valid inside the callback, and overwritten afterwards.
    fn deliver_module(&self, cbid: u32, module: &Module) {
        if !self.resource_callbacks.contains(&cbid) {
            return;
        }
        let image = state::lock().modules.image(module);
        let mut bytes = image.bytes.clone();
        let descriptor = ModuleData::new(module.id, &bytes);
        let data = ResourceData::new(module.context, Some(&descriptor));
        self.call_back(RESOURCE, cbid, std::ptr::from_ref(&data).cast());
        bytes.fill(0xdd);
        std::hint::black_box(&bytes);
    }

    fn call_back(&self, domain: u32, cbid: u32, data: *const c_void) {
        (self.callback)(self.user, domain, cbid, data);
    }
}

/// The number of the node with this handle; INVALID_PARAMETER outside the callback that got it.
pub(crate) fn node_number(handle: usize) -> Answer<u64> {
    let [node, original] = CALLBACK_NODES.get();
    let number = match handle {
        NODE => node,
        ORIGINAL_NODE => original,
        _ => None,
    };
    number.ok_or(Code::INVALID_PARAMETER)
}
