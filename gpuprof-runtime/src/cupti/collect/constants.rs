//! CUPTI's numbers and handles, from its headers of CUDA 12.0 to 13.5, which give each its number once.
//!
//! Must import nothing of gpuprof's.

use std::ffi::{c_int, c_void};

/// `CUptiResult`: 0 is success.
pub(crate) type Status = c_int;

pub(crate) const SUCCESS: Status = 0;
/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: no record is left in a buffer.
pub(crate) const MAX_LIMIT_REACHED: Status = 12;
/// `CUPTI_ERROR_NOT_COMPATIBLE`.
pub(crate) const NOT_COMPATIBLE: Status = 14;
/// `CUPTI_ERROR_NOT_INITIALIZED`: what libcupti of CUDA 12 answers where there is no driver.
pub(crate) const NOT_INITIALIZED: Status = 15;
/// `CUPTI_ERROR_INSUFFICIENT_PRIVILEGES`.
pub(crate) const INSUFFICIENT_PRIVILEGES: Status = 35;
/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`.
pub(crate) const MULTIPLE_SUBSCRIBERS: Status = 39;
/// `CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES`.
pub(crate) const VIRTUALIZED_PRIVILEGES: Status = 40;
/// `CUPTI_ERROR_UNKNOWN`: what that of CUDA 13.5 answers to everything where there is no driver.
pub(crate) const UNKNOWN: Status = 999;

/// `cuptiGetVersion` of CUDA 12.0: from here on all records that are read have their fields at the same offsets.
pub(crate) const OLDEST_VERSION: u32 = 18;

/// `CUpti_ActivityKind`.
pub(crate) mod kind {
    pub(crate) const MEMCPY: u32 = 1;
    pub(crate) const MEMSET: u32 = 2;
    /// Not KERNEL, which runs one kernel after the other.
    pub(crate) const CONCURRENT_KERNEL: u32 = 10;
    /// Copies between devices.
    pub(crate) const MEMCPY2: u32 = 22;
}

/// `CUPTI_CB_DOMAIN_DRIVER_API` and `CUPTI_CB_DOMAIN_RUNTIME_API`.
pub(crate) const DOMAIN_DRIVER: u32 = 1;
pub(crate) const DOMAIN_RUNTIME: u32 = 2;
/// `CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER`, an `uint8_t`: buffers are zeroed by who gives them.
pub(crate) const ATTR_ZEROED_BUFFERS: u32 = 5;
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: buffers with unfinished records as well.
pub(crate) const FLUSH_FORCED: u32 = 1;

/// `CUPTI_API_ENTER`; the other is `CUPTI_API_EXIT`.
pub(crate) const SITE_ENTER: c_int = 0;

/// `CUpti_CallbackData`, the same in every version.
#[repr(C)]
pub(crate) struct CallbackData {
    pub(crate) site: c_int,
    _function_name: *const c_void,
    _parameters: *const c_void,
    /// Where the call's result lies, when it returns.
    pub(crate) answer: *const c_void,
    _symbol_name: *const c_void,
    _context: *const c_void,
    _context_uid: u32,
    _correlation_data: *mut u64,
    /// That of the records of what the call has run.
    pub(crate) correlation: u32,
}

/// `CUpti_SubscriberHandle`: opaque.
pub(crate) type Subscriber = *mut c_void;
/// `CUpti_CallbackFunc`.
pub(crate) type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// `CUpti_BuffersCallbackRequestFunc`: buffer, its size, the most records it may hold.
pub(crate) type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`: context, stream (both without meaning), buffer, its size, how much of it is valid.
pub(crate) type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
