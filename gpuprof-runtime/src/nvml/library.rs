//! The functions of NVML that gpuprof calls, from the library that the driver installs.
//!
//! The crate nvml-wrapper is not used: it brings 13 packages for these eight functions.

use std::ffi::{CString, c_char, c_uint, c_ulonglong, c_void};
use std::fmt;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

/// The name that a driver installs. The one without a version comes only with development packages.
const NAME: &str = "libnvidia-ml.so.1";

/// `nvmlReturn_t`.
type NvmlReturn = c_uint;

const SUCCESS: NvmlReturn = 0;

/// `NVML_CLOCK_SM`.
const CLOCK_SM: c_uint = 1;

/// `nvmlDevice_t`.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct DeviceHandle(*mut c_void);

type Init = unsafe extern "C" fn() -> NvmlReturn;
type FindDevice = unsafe extern "C" fn(*const c_char, *mut DeviceHandle) -> NvmlReturn;
type Query<T> = unsafe extern "C" fn(DeviceHandle, *mut T) -> NvmlReturn;
type ClockQuery = unsafe extern "C" fn(DeviceHandle, c_uint, *mut c_uint) -> NvmlReturn;

/// NVML, initialized until it is dropped.
pub(super) struct Nvml {
    library: Library,
}

/// A device that NVML knows.
pub(super) struct NvmlDevice<'a> {
    nvml: &'a Nvml,
    handle: DeviceHandle,
}

impl Nvml {
    /// Opens and initializes NVML, which takes milliseconds with a real driver. `None` if it is not
    /// installed or does not start.
    pub(super) fn open() -> Option<Self> {
        // SAFETY: the initializers of the driver's library may run on any thread.
        let library = unsafe { Library::open(Some(NAME), RTLD_LAZY | RTLD_LOCAL) }.ok()?;
        // SAFETY: the declaration in nvml.h.
        let init = unsafe { library.get::<Init>(b"nvmlInit_v2\0") }.ok()?;
        // SAFETY: the function takes nothing, and may be called at any time.
        let is_open = unsafe { init() } == SUCCESS;
        is_open.then_some(Self { library })
    }

    /// The device of this UUID, in the form `GPU-…`.
    pub(super) fn device(&self, uuid: &str) -> Option<NvmlDevice<'_>> {
        let uuid = CString::new(uuid).ok()?;
        let mut handle = DeviceHandle(std::ptr::null_mut());
        // SAFETY: the declaration in nvml.h.
        let find = unsafe {
            self.library
                .get::<FindDevice>(b"nvmlDeviceGetHandleByUUID\0")
        };
        // SAFETY: NVML is initialized, the UUID ends in 0, and `handle` is writable.
        let found = unsafe { find.ok()?(uuid.as_ptr(), &raw mut handle) };
        (found == SUCCESS).then_some(NvmlDevice { nvml: self, handle })
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: the declaration in nvml.h.
        if let Ok(shutdown) = unsafe { self.library.get::<Init>(b"nvmlShutdown\0") } {
            // SAFETY: undoes the call in `open`; no device handle outlives `self`.
            unsafe { shutdown() };
        }
    }
}

impl fmt::Debug for Nvml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvml").finish_non_exhaustive()
    }
}

impl NvmlDevice<'_> {
    /// Bits of `nvmlClocksEventReasons`.
    pub(super) fn throttle_reasons(&self) -> Option<c_ulonglong> {
        // SAFETY: nvml.h declares this function as a query of that type.
        unsafe { self.query(b"nvmlDeviceGetCurrentClocksThrottleReasons\0") }
    }

    /// Present clock of the SMs, MHz.
    pub(super) fn sm_clock_mhz(&self) -> Option<c_uint> {
        // SAFETY: nvml.h declares this function as a query of a clock.
        unsafe { self.query_sm_clock(b"nvmlDeviceGetClockInfo\0") }
    }

    /// Maximum clock of the SMs, MHz.
    pub(super) fn max_sm_clock_mhz(&self) -> Option<c_uint> {
        // SAFETY: nvml.h declares this function as a query of a clock.
        unsafe { self.query_sm_clock(b"nvmlDeviceGetMaxClockInfo\0") }
    }

    /// The highest PCIe generation that device and slot can do.
    pub(super) fn max_link_generation(&self) -> Option<c_uint> {
        // SAFETY: nvml.h declares this function as a query of that type.
        unsafe { self.query(b"nvmlDeviceGetMaxPcieLinkGeneration\0") }
    }

    /// The most PCIe lanes that device and slot can use.
    pub(super) fn max_link_lanes(&self) -> Option<c_uint> {
        // SAFETY: nvml.h declares this function as a query of that type.
        unsafe { self.query(b"nvmlDeviceGetMaxPcieLinkWidth\0") }
    }

    /// # Safety
    /// `symbol` names a function that nvml.h declares as [`Query<T>`].
    unsafe fn query<T: Default>(&self, symbol: &[u8]) -> Option<T> {
        // SAFETY: the caller's promise.
        let query = unsafe { self.nvml.library.get::<Query<T>>(symbol) }.ok()?;
        let mut value = T::default();
        // SAFETY: the handle is of an initialized NVML, and `value` is writable.
        let answer = unsafe { query(self.handle, &raw mut value) };
        (answer == SUCCESS).then_some(value)
    }

    /// # Safety
    /// `symbol` names a function that nvml.h declares as [`ClockQuery`].
    unsafe fn query_sm_clock(&self, symbol: &[u8]) -> Option<c_uint> {
        // SAFETY: the caller's promise.
        let query = unsafe { self.nvml.library.get::<ClockQuery>(symbol) }.ok()?;
        let mut mhz = 0;
        // SAFETY: the handle is of an initialized NVML, and `mhz` is writable.
        let answer = unsafe { query(self.handle, CLOCK_SM, &raw mut mhz) };
        (answer == SUCCESS).then_some(mhz)
    }
}
