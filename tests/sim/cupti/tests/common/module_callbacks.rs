//! What the subscriber is told of contexts and modules.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// `CUPTI_CBID_RESOURCE_CONTEXT_CREATED`.
pub(crate) const CONTEXT_CREATED: u32 = 1;
/// `CUPTI_CBID_RESOURCE_MODULE_LOADED`.
pub(crate) const MODULE_LOADED: u32 = 6;
/// `CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING`.
pub(crate) const MODULE_UNLOADED: u32 = 7;

/// A callback about a module, or about a context, which has no number and no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleCallback {
    pub(crate) cbid: u32,
    /// The handle of its context.
    pub(crate) context: u64,
    pub(crate) id: u32,
    pub(crate) image: Vec<u8>,
}

/// Those since the test has last taken them.
pub(crate) fn module_callbacks() -> MutexGuard<'static, Vec<ModuleCallback>> {
    static CALLBACKS: Mutex<Vec<ModuleCallback>> = Mutex::new(Vec::new());
    CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Receives a callback with the address of a `CUpti_ResourceData`.
pub(super) fn called(cbid: u32, data: *const u8) {
    // SAFETY: the header declares a context, a stream and the address of a descriptor.
    let [context, _, descriptor] = unsafe { data.cast::<[u64; 3]>().read() };
    let mut callback = ModuleCallback {
        cbid,
        context,
        id: 0,
        image: Vec::new(),
    };
    if cbid != CONTEXT_CREATED {
        // SAFETY: the header declares a number, a size and the address of an image.
        let [id, bytes, cubin] = unsafe { (descriptor as *const [u64; 3]).read() };
        // SAFETY: the image is valid inside the callback.
        let image = unsafe { std::slice::from_raw_parts(cubin as *const u8, bytes as usize) };
        callback.id = id as u32;
        callback.image = image.to_vec();
    }
    module_callbacks().push(callback);
}
