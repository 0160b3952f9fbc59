//! Opens NVIDIA's libraries to ask for their versions, and gpuprof's to see that it opens. The only
//! unsafe code of the command.

#![expect(unsafe_code, reason = "libraries are opened and called")]

use std::ffi::{CStr, c_int, c_uint};
use std::path::Path;

use gpuprof_report::libcupti_paths;
use libloading::Library;

/// The library that the driver installs, by the name that cudarc opens.
const DRIVER: &str = "libcuda.so.1";
const NVML: &str = "libnvidia-ml.so.1";

/// What the CUDA driver says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FoundDriver {
    /// No library.
    Missing,
    /// It does not start; holds the `CUresult` of `cuInit`.
    Broken(c_int),
    /// It works.
    Works {
        /// CUDA version times 1,000, such as 13,000.
        version: c_int,
        /// The devices by ordinal, by name.
        devices: Vec<String>,
    },
}

/// A libcupti that opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundCupti {
    /// The name or path that opened it.
    pub(crate) name: String,
    /// `cuptiGetVersion`: 18 for CUDA 12.0, 130000 and more for CUDA 13; `None` if it fails, as it
    /// does from CUDA 13 on without a driver.
    pub(crate) version: Option<u32>,
}

/// Starts the driver.
pub(crate) fn driver() -> FoundDriver {
    let Some(library) = open(DRIVER) else {
        return FoundDriver::Missing;
    };
    let status = call_with_flags(library, b"cuInit\0").unwrap_or(-1);
    if status != 0 {
        return FoundDriver::Broken(status);
    }
    FoundDriver::Works {
        version: number(library, b"cuDriverGetVersion\0").unwrap_or(0),
        devices: (0..number(library, b"cuDeviceGetCount\0").unwrap_or(0))
            .map(|ordinal| device_name(library, ordinal))
            .collect(),
    }
}

/// Whether NVML, which reports clocks, starts.
pub(crate) fn nvml_works() -> bool {
    let library = open(NVML);
    library.is_some_and(|library| call_with_flags(library, b"nvmlInitWithFlags\0") == Some(0))
}

/// The libcupti that a program would open: the one that `GPUPROF_CUPTI_LIBRARY` names, or else the
/// first of the usual places.
pub(crate) fn cupti() -> Option<FoundCupti> {
    if let Some(path) = libcupti_paths::user_choice() {
        return cupti_at(&path);
    }
    let candidates = libcupti_paths::candidates();
    // This process has loaded none.
    let mut names = candidates.filter(|candidate| !candidate.only_if_loaded);
    names.find_map(|candidate| cupti_at(&candidate.name))
}

/// The libcupti of this name or path, if it opens.
fn cupti_at(name: &str) -> Option<FoundCupti> {
    const VERSION: &[u8] = b"cuptiGetVersion\0";
    let library = open(name)?;
    has(library, VERSION).then(|| FoundCupti {
        name: name.to_owned(),
        version: number(library, VERSION).and_then(|version| u32::try_from(version).ok()),
    })
}

/// Whether a library of gpuprof's own opens.
pub(crate) fn opens(path: &Path) -> bool {
    path.to_str().is_some_and(|path| open(path).is_some())
}

/// Opens a library for the rest of the process: NVIDIA's start threads and exit handlers, and
/// gpuprof's cannot be unloaded.
fn open(name: &str) -> Option<&'static Library> {
    // SAFETY: the initializers of these libraries are safe to run at any time.
    let library = unsafe { Library::new(name) }.ok()?;
    Some(Box::leak(Box::new(library)))
}

fn has(library: &Library, function: &[u8]) -> bool {
    // SAFETY: the function is not called.
    unsafe { library.get::<unsafe extern "C" fn()>(function) }.is_ok()
}

/// The number that a function writes through its only argument; `None` if it fails or is missing.
fn number(library: &Library, function: &[u8]) -> Option<c_int> {
    type GetNumber = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: cuDriverGetVersion, cuDeviceGetCount and cuptiGetVersion take a pointer to a 32-bit
    // integer and return a 32-bit status.
    let function = unsafe { library.get::<GetNumber>(function) }.ok()?;
    let mut number = 0;
    // SAFETY: the pointer is to a live integer.
    let status = unsafe { function(&raw mut number) };
    (status == 0).then_some(number)
}

/// The name of a device; the ordinal is the handle that `cuDeviceGet` returns for it.
fn device_name(library: &Library, ordinal: c_int) -> String {
    type GetName = unsafe extern "C" fn(*mut u8, c_int, c_int) -> c_int;
    const BYTES: usize = 256;
    // SAFETY: cuDeviceGetName takes a buffer of bytes, its length and a device, and returns a
    // 32-bit status.
    let Ok(function) = (unsafe { library.get::<GetName>(b"cuDeviceGetName\0") }) else {
        return String::new();
    };
    let mut name = [0_u8; BYTES];
    // SAFETY: the buffer has one byte more than is stated, so a zero ends any name.
    let status = unsafe { function(name.as_mut_ptr(), BYTES as c_int - 1, ordinal) };
    let name = CStr::from_bytes_until_nul(&name)
        .ok()
        .filter(|_| status == 0);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The status of a function that takes flags; `None` if it is missing.
fn call_with_flags(library: &Library, function: &[u8]) -> Option<c_int> {
    type TakeFlags = unsafe extern "C" fn(c_uint) -> c_int;
    // SAFETY: cuInit and nvmlInitWithFlags take 32-bit flags and return a 32-bit status.
    let function = unsafe { library.get::<TakeFlags>(function) }.ok()?;
    // SAFETY: 0 stands for no flag in both.
    Some(unsafe { function(0) })
}
