//! The C types of NVTX 3 that an injection library needs.
//!
//! Source: `nvToolsExt.h` and `nvtxDetail/nvtxTypes.h` of NVTX 3; names are the same without the
//! prefix. They are declared by hand because the crate that binds them is under test.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `nvtxDomainHandle_t` and `nvtxStringHandle_t`: opaque to the program, so they can hold an index.
pub(crate) type Handle = *mut c_void;

/// `wchar_t` on Linux: one UTF-32 unit.
pub(crate) type WideChar = u32;

/// `NvtxGetExportTableFunc_t`.
pub(crate) type GetExportTable = unsafe extern "C" fn(table: u32) -> *const c_void;

/// `NVTX_ETID_CALLBACKS`: the export table that provides the function tables.
pub(crate) const EXPORT_CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE`: the calls without a domain.
pub(crate) const MODULE_CORE: c_int = 1;
/// `NVTX_CB_MODULE_CORE2`: the calls with a domain.
pub(crate) const MODULE_CORE2: c_int = 5;

/// `NvtxFunctionPointer`: must be cast to the slot's own type before it is called.
pub(crate) type Function = unsafe extern "C" fn();

/// `NvtxExportTableCallbacks`.
#[repr(C)]
pub(crate) struct ExportTableCallbacks {
    pub(crate) struct_size: usize,
    /// Returns an array of pointers to the function slots; 1 on success.
    pub(crate) get_module_function_table: unsafe extern "C" fn(
        module: c_int,
        table: *mut *mut *mut Function,
        size: *mut c_uint,
    ) -> c_int,
}

/// `NVTX_COLOR_ARGB`.
pub(crate) const COLOR_ARGB: i32 = 1;

/// `NVTX_MESSAGE_TYPE_ASCII`.
pub(crate) const MESSAGE_ASCII: i32 = 1;
/// `NVTX_MESSAGE_TYPE_UNICODE`.
pub(crate) const MESSAGE_UNICODE: i32 = 2;
/// `NVTX_MESSAGE_TYPE_REGISTERED`.
pub(crate) const MESSAGE_REGISTERED: i32 = 3;

/// `nvtxMessageValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Message {
    pub(crate) ascii: *const c_char,
    pub(crate) unicode: *const WideChar,
    pub(crate) registered: Handle,
}

/// `nvtxEventAttributes_v2`. The payload is stored as eight bytes, to be read by `payload_type`.
#[repr(C)]
pub(crate) struct EventAttributes {
    pub(crate) version: u16,
    pub(crate) size: u16,
    pub(crate) category: u32,
    pub(crate) color_type: i32,
    pub(crate) color: u32,
    pub(crate) payload_type: i32,
    pub(crate) reserved0: i32,
    pub(crate) payload: [u8; 8],
    pub(crate) message_type: i32,
    pub(crate) message: Message,
}

// The layout of the C struct on a 64-bit machine; a wrong field above does not compile.
const _: () = assert!(size_of::<EventAttributes>() == 48);
const _: () = assert!(std::mem::offset_of!(EventAttributes, payload) == 24);
const _: () = assert!(std::mem::offset_of!(EventAttributes, message) == 40);
