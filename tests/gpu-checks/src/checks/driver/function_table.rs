//! The loader and the table of driver functions by name, with results as numbers.
//!
//! cudarc is not used here because it panics if a driver lacks a function, and a result code
//! unknown to its bindings is not a valid enum value. The results must be independent of gpuprof.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;

use libloading::os::unix::{Library, Symbol};

/// An opaque `CUcontext`, `CUstream`, `CUevent` or `CUgraph`.
pub(super) type Handle = usize;

/// `CUresult`, or [`CuResult::MISSING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CuResult(pub(super) c_int);

impl CuResult {
    /// `CUDA_SUCCESS`.
    pub(super) const OK: CuResult = CuResult(0);
    /// `CUDA_ERROR_DEINITIALIZED`: the driver then no longer returns error names.
    const DEINITIALIZED: CuResult = CuResult(4);
    /// Not a `CUresult`: the driver lacks the function.
    pub(super) const MISSING: CuResult = CuResult(-1);

    /// This result, or after a success that of `next`.
    pub(super) fn then(self, next: impl FnOnce() -> CuResult) -> CuResult {
        if self == CuResult::OK { next() } else { self }
    }
}

/// The error name without the common prefix `CUDA_ERROR_`.
impl fmt::Display for CuResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CuResult::OK => f.write_str("ok"),
            CuResult::MISSING => f.write_str("no such function"),
            CuResult::DEINITIALIZED => f.write_str("4 DEINITIALIZED"),
            CuResult(code) => {
                let name = driver().and_then(|driver| driver.name(code));
                let name = name.unwrap_or_default();
                write!(f, "{code} {}", name.trim_start_matches("CUDA_ERROR_"))
            }
        }
    }
}

macro_rules! table {
    ($($field:ident = $($symbol:literal)|+ : fn($($arg:ident: $ty:ty),*);)+) => {
        /// The functions that the checks call.
        pub(super) struct Driver {
            $($field: Option<unsafe extern "C" fn($($ty),*) -> c_int>,)+
        }

        impl Driver {
            fn resolve(library: &Library) -> Driver {
                Driver {
                    // SAFETY: each type below restates the CUDA driver API's declaration of this
                    // symbol.
                    $($field: unsafe { find(library, &[$($symbol),+]) },)+
                }
            }

            $(
                pub(super) fn $field(&self, $($arg: $ty),*) -> CuResult {
                    let Some(function) = self.$field else { return CuResult::MISSING };
                    // SAFETY: pointers come from references in these modules and handles from the
                    // driver. Destroyed handles are only passed in separate processes, which may
                    // crash.
                    CuResult(unsafe { function($($arg),*) })
                }
            )+
        }
    };
}

table! {
    ctx_create = "cuCtxCreate_v4":
        fn(out: *mut Handle, parameters: Handle, flags: c_uint, device: c_int);
    ctx_destroy = "cuCtxDestroy_v2": fn(context: Handle);
    ctx_get_current = "cuCtxGetCurrent": fn(out: *mut Handle);
    ctx_set_current = "cuCtxSetCurrent": fn(context: Handle);
    ctx_push = "cuCtxPushCurrent_v2": fn(context: Handle);
    ctx_pop = "cuCtxPopCurrent_v2": fn(out: *mut Handle);
    ctx_get_device = "cuCtxGetDevice": fn(out: *mut c_int);
    ctx_get_id = "cuCtxGetId": fn(context: Handle, out: *mut u64);
    stream_create = "cuStreamCreate": fn(out: *mut Handle, flags: c_uint);
    stream_destroy = "cuStreamDestroy_v2": fn(stream: Handle);
    stream_query = "cuStreamQuery": fn(stream: Handle);
    stream_synchronize = "cuStreamSynchronize": fn(stream: Handle);
    stream_get_ctx = "cuStreamGetCtx": fn(stream: Handle, out: *mut Handle);
    stream_get_id = "cuStreamGetId": fn(stream: Handle, out: *mut u64);
    stream_get_device = "cuStreamGetDevice": fn(stream: Handle, out: *mut c_int);
    stream_is_capturing = "cuStreamIsCapturing": fn(stream: Handle, out: *mut c_int);
    begin_capture = "cuStreamBeginCapture_v2": fn(stream: Handle, mode: c_int);
    end_capture = "cuStreamEndCapture": fn(stream: Handle, out: *mut Handle);
    graph_destroy = "cuGraphDestroy": fn(graph: Handle);
    exchange_mode = "cuThreadExchangeStreamCaptureMode": fn(mode: *mut c_int);
    event_create = "cuEventCreate": fn(out: *mut Handle, flags: c_uint);
    event_destroy = "cuEventDestroy_v2": fn(event: Handle);
    event_record = "cuEventRecord": fn(event: Handle, stream: Handle);
    event_query = "cuEventQuery": fn(event: Handle);
    event_elapsed = "cuEventElapsedTime_v2" | "cuEventElapsedTime":
        fn(out: *mut f32, start: Handle, end: Handle);
    error_name = "cuGetErrorName": fn(code: c_int, out: *mut *const c_char);
}

/// The function table of the loaded driver, or `None` if no driver can be loaded.
pub(super) fn driver() -> Option<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    let load = || {
        let names = ["libcuda.so", "libcuda.so.1"];
        let library = names.iter().find_map(|name| {
            // SAFETY: this is the driver that cudarc loads; it is never unloaded.
            unsafe { Library::new(*name) }.ok()
        })?;
        let driver = Driver::resolve(&library);
        std::mem::forget(library);
        Some(driver)
    };
    DRIVER.get_or_init(load).as_ref()
}

/// Like [`driver`], with an error message if there is none.
pub(super) fn open() -> Result<&'static Driver, String> {
    driver().ok_or_else(|| "the driver library cannot be loaded".into())
}

/// # Safety
/// `F` must be a function pointer type that matches the symbol.
unsafe fn find<F: Copy>(library: &Library, names: &[&str]) -> Option<F> {
    names.iter().find_map(|name| {
        // SAFETY: guaranteed by the caller.
        let symbol: Symbol<F> = unsafe { library.get(name.as_bytes()) }.ok()?;
        Some(*symbol)
    })
}

impl Driver {
    fn name(&self, code: c_int) -> Option<String> {
        let mut text = ptr::null();
        if self.error_name(code, &raw mut text) != CuResult::OK || text.is_null() {
            return None;
        }
        // SAFETY: the driver returns a static string that ends in NUL.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    }

    /// A new event in the current context; 0 if there is none.
    pub(super) fn new_event(&self, flags: c_uint) -> Handle {
        let mut event = 0;
        self.event_create(&raw mut event, flags);
        event
    }

    /// The time between two events, or the error.
    pub(super) fn elapsed_ms(&self, start: Handle, end: Handle) -> Result<f32, CuResult> {
        let mut ms = 0.0;
        match self.event_elapsed(&raw mut ms, start, end) {
            CuResult::OK => Ok(ms),
            refused => Err(refused),
        }
    }
}
