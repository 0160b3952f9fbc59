//! CUPTI's constants and types: equal in the headers of CUDA 12.0 to 13.5, if they have them.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// `CUptiResult`: 0 is success.
pub(crate) type CuptiResult = c_int;

pub(crate) const SUCCESS: CuptiResult = 0;
/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: no record is left in a buffer.
pub(crate) const MAX_LIMIT_REACHED: CuptiResult = 12;
/// `CUPTI_ERROR_NOT_COMPATIBLE`.
pub(crate) const NOT_COMPATIBLE: CuptiResult = 14;
/// `CUPTI_ERROR_NOT_INITIALIZED`: returned by CUDA 12's libcupti when no driver is installed.
pub(crate) const NOT_INITIALIZED: CuptiResult = 15;
/// `CUPTI_ERROR_INSUFFICIENT_PRIVILEGES`.
pub(crate) const INSUFFICIENT_PRIVILEGES: CuptiResult = 35;
/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`.
pub(crate) const MULTIPLE_SUBSCRIBERS: CuptiResult = 39;
/// `CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES`.
pub(crate) const VIRTUALIZED_PRIVILEGES: CuptiResult = 40;
/// `CUPTI_ERROR_UNKNOWN`: returned by every call of CUDA 13.5's libcupti when no driver is
/// installed.
pub(crate) const UNKNOWN: CuptiResult = 999;

/// `cuptiGetVersion` of CUDA 12.0. From this version on, the layout of all activity records that
/// gpuprof reads is unchanged.
pub(crate) const MIN_VERSION: u32 = 18;
/// `cuptiGetVersion` of CUDA 13.3, whose calls of a subscriber are the first that are complete.
/// They deliver records of the same layout.
pub(crate) const MIN_SUBSCRIBER_CALLS_VERSION: u32 = 130_300;

/// `CUpti_ActivityKind`.
pub(crate) mod kind {
    pub(crate) const MEMCPY: u32 = 1;
    pub(crate) const MEMSET: u32 = 2;
    /// Not `KERNEL`, which serializes kernels.
    pub(crate) const CONCURRENT_KERNEL: u32 = 10;
    /// Copies between devices.
    pub(crate) const MEMCPY2: u32 = 22;
    /// One record for an allocation and one for its free, each with its call.
    pub(crate) const MEMORY2: u32 = 49;
}

/// `CUPTI_CB_DOMAIN_DRIVER_API`.
pub(crate) const DOMAIN_DRIVER: u32 = 1;
/// `CUPTI_CB_DOMAIN_RUNTIME_API`.
pub(crate) const DOMAIN_RUNTIME: u32 = 2;
/// `CUPTI_CB_DOMAIN_RESOURCE`.
pub(crate) const DOMAIN_RESOURCE: u32 = 3;
/// `CUPTI_CBID_RESOURCE_CONTEXT_CREATED`.
pub(crate) const CONTEXT_CREATED: u32 = 1;
/// `CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING`.
pub(crate) const CONTEXT_DESTROYED: u32 = 2;
/// `CUPTI_CBID_RESOURCE_MODULE_LOADED`.
pub(crate) const MODULE_LOADED: u32 = 6;
/// `CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING`.
pub(crate) const MODULE_UNLOADED: u32 = 7;

/// `CUpti_CallbackIdResource`, of the callbacks that have [`GraphData`]. Others have other data.
pub(crate) mod node_callback {
    pub(crate) const CREATED: u32 = 13;
    pub(crate) const CLONED: u32 = 20;
    /// Since CUDA 13.0.
    pub(crate) const UPDATED: u32 = 22;
    /// Since CUDA 13.0.
    pub(crate) const SET_PARAMS: u32 = 23;
    pub(crate) const ALL: [u32; 4] = [CREATED, CLONED, UPDATED, SET_PARAMS];
}
/// `CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER`, a `uint8_t`: the client zeroes the buffers.
pub(crate) const ATTR_ZEROED_BUFFERS: u32 = 5;
/// `CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE`, a `uint8_t`: no subscriber gets
/// records of the nodes of graphs.
pub(crate) const ATTR_GRAPHS_AS_ONE: u32 = 20;
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: also return buffers that hold unfinished records.
pub(crate) const FLUSH_FORCED: u32 = 1;

/// `CUPTI_API_ENTER`; the other value is `CUPTI_API_EXIT`.
pub(crate) const API_ENTER: c_int = 0;

/// `CUpti_CallbackData`, the same in every version.
#[repr(C)]
pub(crate) struct CallbackData {
    pub(crate) callback_site: c_int,
    _function_name: *const c_void,
    /// The struct of the function's arguments.
    pub(crate) parameters: *const c_void,
    /// On exit, points to the call's return value.
    pub(crate) return_value: *const c_void,
    /// The kernel's symbol. Only a launch has one; of other calls the value is undefined.
    pub(crate) symbol_name: *const c_void,
    /// The current context of the thread; null for none.
    pub(crate) context: *const c_void,
    _context_uid: u32,
    _correlation_data: *mut u64,
    /// The activity records caused by this API call carry the same correlation id.
    pub(crate) correlation: u32,
}

/// The beginning of the arguments of a one-dimensional copy or memset.
#[repr(C)]
pub(crate) struct LinearParameters {
    /// Two addresses, or an address and a value that is followed by padding.
    _operands: [MaybeUninit<u64>; 2],
    /// In bytes, or in values of a memset.
    pub(crate) count: usize,
}

/// `CUpti_ResourceData`, the same in every version.
#[repr(C)]
pub(crate) struct ResourceData {
    pub(crate) context: *const c_void,
    _resource: *const c_void,
    /// [`GraphData`] or [`ModuleData`]; null in callbacks about contexts.
    pub(crate) descriptor: *const c_void,
}

/// `CUpti_ModuleResourceData`, the same in every version. The code is valid inside the callback.
#[repr(C)]
pub(crate) struct ModuleData {
    _module: u32,
    pub(crate) bytes: usize,
    pub(crate) cubin: *const u8,
}

/// `CUpti_GraphData`, the same in every version. The handles are valid inside the callback.
#[repr(C)]
pub(crate) struct GraphData {
    _graph: *const c_void,
    _original_graph: *const c_void,
    pub(crate) node: GraphNode,
    /// Null unless the node is a copy.
    pub(crate) original_node: GraphNode,
    _node_type: c_int,
    _dependency: *const c_void,
    /// Null unless an executable graph is updated.
    pub(crate) executable: *const c_void,
}

/// `CUgraphNode`: opaque.
pub(crate) type GraphNode = *mut c_void;
/// `CUpti_SubscriberHandle`: opaque.
pub(crate) type Subscriber = *mut c_void;
/// `CUpti_SubscriberParams` of CUDA 13.3.
#[repr(C)]
pub(crate) struct SubscriberParams {
    pub(crate) bytes: usize,
    /// A text; null for none.
    pub(crate) name: *const c_char,
    /// If another one has subscribed, its name is written here, unless this is null.
    pub(crate) holder: *mut c_char,
    pub(crate) holder_bytes: usize,
    /// 1 if others may subscribe too.
    pub(crate) allow_multiple: u8,
    pub(crate) padding: [u8; 7],
}
/// `CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN`.
pub(crate) const MIN_HOLDER_BYTES: usize = 64;
/// `CUpti_CallbackFunc`.
pub(crate) type CuptiCallback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// `CUpti_BuffersCallbackRequestFunc`: buffer, its size, the maximum number of records.
pub(crate) type BufferRequested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`: context and stream (both unused), buffer, its size, bytes
/// that hold records.
pub(crate) type BufferCompleted = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
/// `CUpti_BuffersCallbackRequestFunc_v2`: buffer, its size, the maximum number of records, and
/// nothing that is used.
pub(crate) type OwnBufferRequested =
    unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize, *const c_void);
/// `CUpti_BuffersCallbackCompleteFunc_v2`: buffer, its size, bytes that hold records, and a thread
/// and layouts (both unused).
pub(crate) type OwnBufferCompleted = unsafe extern "C" fn(*mut u8, usize, usize, *const c_void);
