//! The C types of NVTX 3 that are needed, from `nvToolsExt.h` and `nvtxDetail/nvtxTypes.h`.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `nvtxDomainHandle_t` and `nvtxStringHandle_t`: opaque to the program.
pub(super) type Handle = *mut c_void;

/// `wchar_t` on Linux: one UTF-32 unit.
pub(super) type WideChar = u32;

/// `NvtxGetExportTableFunc_t`.
pub(super) type GetExportTable = unsafe extern "C" fn(table: u32) -> *const c_void;

/// `NVTX_ETID_CALLBACKS`: the export table with the function tables.
pub(super) const EXPORT_CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE`: the calls without a domain.
pub(super) const MODULE_CORE: c_int = 1;
/// `NVTX_CB_MODULE_CORE2`: the calls with a domain.
pub(super) const MODULE_CORE2: c_int = 5;

/// `NvtxFunctionPointer`: cast to the slot's own type before it is called.
pub(super) type Function = unsafe extern "C" fn();

/// `NvtxExportTableCallbacks`.
#[repr(C)]
pub(super) struct ExportTableCallbacks {
    pub(super) struct_size: usize,
    /// Returns an array of pointers to the function slots; 1 on success.
    pub(super) get_module_function_table: unsafe extern "C" fn(
        module: c_int,
        table: *mut *mut *mut Function,
        size: *mut c_uint,
    ) -> c_int,
}

/// `NVTX_MESSAGE_TYPE_ASCII`.
pub(super) const MESSAGE_ASCII: i32 = 1;
/// `NVTX_MESSAGE_TYPE_UNICODE`.
pub(super) const MESSAGE_UNICODE: i32 = 2;
/// `NVTX_MESSAGE_TYPE_REGISTERED`.
pub(super) const MESSAGE_REGISTERED: i32 = 3;

/// `nvtxMessageValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union Message {
    pub(super) ascii: *const c_char,
    pub(super) unicode: *const WideChar,
    pub(super) registered: Handle,
}

/// `nvtxEventAttributes_v2`, of which the message is used.
#[repr(C)]
pub(super) struct EventAttributes {
    _version: u16,
    _size: u16,
    _category: u32,
    _color_type: i32,
    _color: u32,
    _payload_type: i32,
    _reserved0: i32,
    _payload: u64,
    pub(super) message_type: i32,
    pub(super) message: Message,
}

// The layout of the C struct on a 64-bit machine; a wrong field above does not compile.
const _: () = assert!(size_of::<EventAttributes>() == 48);
const _: () = assert!(std::mem::offset_of!(EventAttributes, message_type) == 32);
const _: () = assert!(std::mem::offset_of!(EventAttributes, message) == 40);
