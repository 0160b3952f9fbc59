//! gpuprof's own table of driver functions, resolved from the library that cudarc has loaded.
//!
//! cudarc's functions are not used: some exist only in the bindings of some CUDA versions, a
//! missing symbol panics there, and the safe wrappers consume the error that cudarc stores for the
//! user, synchronize, or bind contexts. Every failure is counted here.

#[cfg(gpuprof_test_hooks)]
use std::ffi::c_void;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, Symbol};
use parking_lot::Mutex;

use crate::driver::handles::{Context, CuDevice, Event, Stream};

/// `CUresult`: 0 is success.
type CuResult = c_int;

const SUCCESS: CuResult = 0;
/// `CUDA_ERROR_DEINITIALIZED`: the driver is shutting down; the end of GPU reading and no error.
const DEINITIALIZED: CuResult = 4;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: asked about the null stream while a blocking stream is
/// being captured.
pub(crate) const CAPTURE_IMPLICIT: CuResult = 906;
/// Asks for the number of a context, and so whether it lives.
const GET_ID: &str = "cuCtxGetId";
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
pub(crate) const CONTEXT_IS_DESTROYED: CuResult = 709;
/// `CUDA_ERROR_NOT_READY`.
pub(crate) const NOT_READY: CuResult = 600;

/// A failed driver call: its `CUresult`. It is already counted when anyone sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FailedCall(pub(crate) CuResult);

impl FailedCall {
    /// The driver has no such function.
    pub(crate) fn is_missing(self) -> bool {
        self.0 == MISSING
    }

    /// `CUDA_ERROR_INVALID_CONTEXT` and `CUDA_ERROR_INVALID_HANDLE`: the current context may be the
    /// reason.
    pub(crate) fn is_of_context(self) -> bool {
        matches!(self.0, 201 | 400)
    }

    /// After these the context answers every call with the same error (CUDA driver API, "Data
    /// types", CUresult).
    pub(crate) fn is_sticky(self) -> bool {
        matches!(
            self.0,
            DEINITIALIZED | 3 | 201 | 700 | 702 | 709 | 710 | 713..=719 | 999
        )
    }
}

/// One kind of failure and how often it was met.
struct Met {
    call: &'static str,
    code: CuResult,
    count: u64,
}

macro_rules! driver_table {
    ($($(#[$doc:meta])* $field:ident = $($symbol:literal)|+ : fn($($arg:ident: $ty:ty),*);)+) => {
        /// The functions gpuprof calls; one that the loaded driver lacks is `None`.
        pub(crate) struct Driver {
            $($field: Option<unsafe extern "C" fn($($ty),*) -> CuResult>,)+
            simulated: bool,
            /// The first missing function that GPU timing cannot do without: every span asks.
            lacks: Option<&'static str>,
            /// The missing functions that were called.
            missed: Mutex<Vec<&'static str>>,
            met: Mutex<Vec<Met>>,
            ended: AtomicBool,
            /// Calls on a stream's own handle have failed without its context.
            needs_current: AtomicBool,
            /// What popping a context answered when nothing could be done about it; 0 for never.
            stuck: AtomicI32,
        }

        impl Driver {
            fn resolve(library: &Library) -> Self {
                let mut missing = Vec::new();
                $(
                    // SAFETY: each type below restates the CUDA driver API's declaration of the
                    // symbol of this name.
                    let $field = unsafe { find(library, &[$($symbol),+]) };
                    if $field.is_none() {
                        missing.push([$($symbol),+][0]);
                    }
                )+
                type Simulator = unsafe extern "C" fn();
                // SAFETY: only asked for, never called.
                let simulator = unsafe { find::<Simulator>(library, &[SIMULATOR_SYMBOL]) };
                Self {
                    $($field,)+
                    simulated: simulator.is_some(),
                    lacks: needed(&missing),
                    missed: Mutex::new(Vec::new()),
                    met: Mutex::new(Vec::new()),
                    ended: AtomicBool::new(false),
                    needs_current: AtomicBool::new(false),
                    stuck: AtomicI32::new(SUCCESS),
                }
            }

            $(
                $(#[$doc])*
                #[inline]
                pub(crate) fn $field(&self, $($arg: $ty),*) -> Result<(), FailedCall> {
                    const NAME: &str = [$($symbol),+][0];
                    let Some(function) = self.$field else { return Err(self.miss(NAME)) };
                    // SAFETY: the public methods of this type state what they need for the call to
                    // be sound.
                    self.check(NAME, unsafe { function($($arg),*) })
                }
            )+
        }
    };
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Not a `CUresult`: the driver has no such function.
const MISSING: CuResult = -1;
/// Exported by the simulated device alone, which has to be told apart in every report.
const SIMULATOR_SYMBOL: &str = "simcuda_now";

driver_table! {
    ctx_get_current = "cuCtxGetCurrent": fn(out: *mut Context);
    /// Makes `context` current until [`pop`](Self::pop).
    push = "cuCtxPushCurrent_v2": fn(context: Context);
    ctx_pop = "cuCtxPopCurrent_v2": fn(out: *mut Context);
    /// Makes `context`, or none, current in the place of what is. Only after a failed pop; never
    /// replaces a context that the program has made current.
    set_current = "cuCtxSetCurrent": fn(context: Context);
    ctx_get_device = "cuCtxGetDevice": fn(out: *mut CuDevice);
    ctx_get_id = "cuCtxGetId": fn(context: Context, out: *mut u64);
    stream_get_ctx = "cuStreamGetCtx": fn(stream: Stream, out: *mut Context);
    stream_is_capturing = "cuStreamIsCapturing": fn(stream: Stream, out: *mut c_int);
    stream_create = "cuStreamCreate": fn(out: *mut Stream, flags: c_uint);
    /// Destroys a stream made by [`create_stream`](Self::create_stream).
    destroy_stream = "cuStreamDestroy_v2": fn(stream: Stream);
    event_create = "cuEventCreate": fn(out: *mut Event, flags: c_uint);
    /// Destroys an event of a live context.
    destroy_event = "cuEventDestroy_v2": fn(event: Event);
    /// Records `event` at the end of the work of `stream`; both are of the same live context.
    record = "cuEventRecord": fn(event: Event, stream: Stream);
    event_query = "cuEventQuery": fn(event: Event);
    // Under CUDA 13 the first name is the only one in the headers; drivers before 12.8 have only
    // the second.
    event_elapsed = "cuEventElapsedTime_v2" | "cuEventElapsedTime": fn(
        out: *mut f32, start: Event, end: Event
    );
    exchange_capture_mode = "cuThreadExchangeStreamCaptureMode": fn(mode: *mut c_int);
    device_get_attribute = "cuDeviceGetAttribute": fn(
        out: *mut c_int, attribute: c_int, device: CuDevice
    );
    device_get_name = "cuDeviceGetName": fn(out: *mut c_char, len: c_int, device: CuDevice);
    device_get_uuid = "cuDeviceGetUuid_v2" | "cuDeviceGetUuid": fn(
        out: *mut [u8; 16], device: CuDevice
    );
    device_total_mem = "cuDeviceTotalMem_v2": fn(out: *mut usize, device: CuDevice);
    driver_get_version = "cuDriverGetVersion": fn(out: *mut c_int);
    get_error_name = "cuGetErrorName": fn(status: CuResult, out: *mut *const c_char);
}

/// A test's functions in the place of the library's: by name, null for what stays the library's.
#[cfg(gpuprof_test_hooks)]
static REPLACED: OnceLock<fn(&str) -> *const c_void> = OnceLock::new();

/// Replaces the driver functions that gpuprof calls, and not the program's, by a test's own: so
/// that gpuprof's calls can fail while the program's own do not. Works only before the first span
/// with a stream.
///
/// Returns whether it took effect.
///
/// # Safety
/// What `by` gives is null or a function that can stand for the driver's of that name.
#[cfg(gpuprof_test_hooks)]
pub unsafe fn replace(by: fn(&str) -> *const c_void) -> bool {
    DRIVER.get().is_none() && REPLACED.set(by).is_ok()
}

/// The first of `missing` that GPU timing cannot do without.
fn needed(missing: &[&'static str]) -> Option<&'static str> {
    const NEEDED: [&str; 10] = [
        "cuCtxGetCurrent",
        "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2",
        "cuStreamIsCapturing",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventQuery",
        "cuEventElapsedTime_v2",
        "cuThreadExchangeStreamCaptureMode",
    ];
    missing.iter().copied().find(|name| NEEDED.contains(name))
}

/// The function that a test has put in the place of `name`.
///
/// # Safety
/// `F` must be a function pointer type that fits the symbol.
#[cfg(gpuprof_test_hooks)]
unsafe fn replaced<F: Copy>(name: &str) -> Option<F> {
    let function = REPLACED.get().map_or(std::ptr::null(), |by| by(name));
    // SAFETY: a function pointer and a data pointer have one size on these platforms, and the
    // callers of `replace` and of this function promise that the function and `F` fit the symbol.
    (!function.is_null()).then(|| unsafe { std::mem::transmute_copy(&function) })
}

/// # Safety
/// `F` must be a function pointer type that fits the symbol.
pub(super) unsafe fn find<F: Copy>(library: &Library, names: &[&str]) -> Option<F> {
    names.iter().find_map(|name| {
        #[cfg(gpuprof_test_hooks)]
        // SAFETY: passed on to the caller.
        if let Some(function) = unsafe { replaced(name) } {
            return Some(function);
        }
        // SAFETY: passed on to the caller.
        let symbol: Symbol<F> = unsafe { library.get(*name) }.ok()?;
        Some(*symbol)
    })
}

/// The driver library the process has already loaded, by the names cudarc looks for; else what is
/// linked in.
pub(super) fn loaded_library() -> Library {
    const NOLOAD: c_int = libc::RTLD_NOLOAD;
    for name in ["libcuda.so", "libcuda.so.1"] {
        // SAFETY: with RTLD_NOLOAD nothing is loaded and no initializer runs.
        if let Ok(library) = unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL | NOLOAD) } {
            return library;
        }
    }
    Library::this()
}

impl Driver {
    /// The table of the process, made at the first call. Call it only with a stream at hand: then a
    /// driver is loaded.
    #[inline]
    pub(crate) fn get() -> &'static Self {
        DRIVER.get_or_init(|| {
            let library = loaded_library();
            let driver = Self::resolve(&library);
            // The functions must stay valid for the rest of the process.
            std::mem::forget(library);
            driver
        })
    }

    /// The table, if any span has had a stream. `None`: no driver may be loaded.
    pub(crate) fn loaded() -> Option<&'static Self> {
        DRIVER.get()
    }

    /// The address of one of its functions.
    pub(crate) fn address(&self) -> Option<usize> {
        self.event_query.map(|function| function as usize)
    }

    /// The first function that GPU timing cannot do without and the driver lacks.
    #[inline]
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        self.lacks
    }

    /// Functions that were called and that the driver lacks.
    pub(crate) fn missed(&self) -> Vec<&'static str> {
        self.missed.lock().clone()
    }

    #[cold]
    fn miss(&self, call: &'static str) -> FailedCall {
        let mut missed = self.missed.lock();
        if !missed.contains(&call) {
            missed.push(call);
        }
        FailedCall(MISSING)
    }

    /// Whether this is the simulated device of gpuprof's tests and examples.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Whether the driver has said that it is shutting down.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// Whether a stream's context must be current also for calls that name the stream. An H200
    /// (driver 580) does not need that, and the documentation does not say.
    #[inline]
    pub(crate) fn needs_current_context(&self) -> bool {
        self.needs_current.load(Relaxed)
    }

    #[cold]
    pub(crate) fn note_needs_current_context(&self) {
        self.needs_current.store(true, Relaxed);
    }

    /// The error after which no context may be pushed any more, as none could be popped.
    pub(crate) fn is_stuck(&self) -> Option<FailedCall> {
        match self.stuck.load(Relaxed) {
            SUCCESS => None,
            status => Some(FailedCall(status)),
        }
    }

    pub(crate) fn note_stuck(&self, failed: FailedCall) {
        self.stuck.store(failed.0, Relaxed);
    }

    #[inline]
    fn check(&self, call: &'static str, status: CuResult) -> Result<(), FailedCall> {
        match status {
            SUCCESS => Ok(()),
            _ => Err(self.count_failure(call, status)),
        }
    }

    #[cold]
    fn count_failure(&self, call: &'static str, status: CuResult) -> FailedCall {
        match status {
            // Answers, not failures.
            NOT_READY | CAPTURE_IMPLICIT => {}
            CONTEXT_IS_DESTROYED if call == GET_ID => {}
            DEINITIALIZED => self.ended.store(true, Relaxed),
            _ => self.count(call, status),
        }
        FailedCall(status)
    }

    /// Counts that a context has ended before what was to be read there.
    #[cold]
    pub(crate) fn count_ended_context(&self) {
        self.count(GET_ID, CONTEXT_IS_DESTROYED);
    }

    #[cold]
    fn count(&self, call: &'static str, code: CuResult) {
        let mut met = self.met.lock();
        match met
            .iter_mut()
            .find(|met| met.call == call && met.code == code)
        {
            Some(known) => known.count += 1,
            None => met.push(Met {
                call,
                code,
                count: 1,
            }),
        }
    }

    /// Every failure met so far, as `(function, CUresult, its name, how often)`.
    pub(crate) fn failures(&self) -> Vec<(&'static str, u32, String, u64)> {
        // Copied first: asking for a name can fail too, and would then want the lock.
        let met: Vec<_> = self
            .met
            .lock()
            .iter()
            .map(|met| (met.call, met.code, met.count))
            .collect();
        let named = met
            .into_iter()
            .map(|(call, code, count)| (call, code.unsigned_abs(), self.error_name(code), count));
        named.collect()
    }

    /// Clears the failure counts, except of failures whose effect lasts.
    pub(crate) fn clear_failure_counts(&self) {
        // A destroyed context does not affect later calls in other contexts.
        let lasts =
            |met: &Met| FailedCall(met.code).is_sticky() && met.code != CONTEXT_IS_DESTROYED;
        self.met.lock().retain(lasts);
    }

    pub(crate) fn error_name(&self, code: CuResult) -> String {
        let mut name = std::ptr::null();
        if self.get_error_name(code, &raw mut name).is_err() || name.is_null() {
            return format!("CUresult {code}");
        }
        // SAFETY: the driver answers a static NUL-terminated string.
        unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned()
    }
}
