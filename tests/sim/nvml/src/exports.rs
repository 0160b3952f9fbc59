//! The functions of NVML, as `nvml.h` declares them, and the functions by which a test controls
//! them.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

const SUCCESS: u32 = 0;
const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NOT_FOUND: u32 = 6;
/// `NVML_CLOCK_SM`.
const SM: u32 = 1;

static REASONS: AtomicU64 = AtomicU64::new(0);
static CLOCK: AtomicU32 = AtomicU32::new(crate::Simulated::MAX_CLOCK);
static RESULT: AtomicU32 = AtomicU32::new(SUCCESS);
/// `nvmlInit` less `nvmlShutdown`.
static OPEN: AtomicU32 = AtomicU32::new(0);
/// The target of the device's handle.
static DEVICE: u8 = 0;

#[unsafe(no_mangle)]
extern "C" fn simnvml_set(reasons: u64, clock: u32, result: u32) {
    REASONS.store(reasons, SeqCst);
    CLOCK.store(clock, SeqCst);
    RESULT.store(result, SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn simnvml_open() -> u32 {
    OPEN.load(SeqCst)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> u32 {
    OPEN.fetch_add(1, SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> u32 {
    OPEN.fetch_sub(1, SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(
    uuid: *const c_char,
    device: *mut *const c_void,
) -> u32 {
    if OPEN.load(SeqCst) == 0 {
        return UNINITIALIZED;
    }
    // SAFETY: the caller passes a C string.
    let uuid = unsafe { CStr::from_ptr(uuid) };
    if uuid.to_bytes() != crate::Simulated::UUID.as_bytes() {
        return NOT_FOUND;
    }
    // SAFETY: the caller passes a valid place for the handle.
    unsafe { device.write((&raw const DEVICE).cast()) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: *const c_void,
    reasons: *mut u64,
) -> u32 {
    // SAFETY: the caller passes a valid place for the value.
    unsafe { write_value(device, reasons, REASONS.load(SeqCst)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetClockInfo(
    device: *const c_void,
    kind: u32,
    clock: *mut u32,
) -> u32 {
    if kind != SM {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller passes a valid place for the value.
    unsafe { write_value(device, clock, CLOCK.load(SeqCst)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(
    device: *const c_void,
    kind: u32,
    clock: *mut u32,
) -> u32 {
    if kind != SM {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller passes a valid place for the value.
    unsafe { write_value(device, clock, crate::Simulated::MAX_CLOCK) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(
    device: *const c_void,
    generation: *mut u32,
) -> u32 {
    // SAFETY: the caller passes a valid place for the value.
    unsafe { write_value(device, generation, crate::Simulated::LINK[0]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(device: *const c_void, lanes: *mut u32) -> u32 {
    // SAFETY: the caller passes a valid place for the value.
    unsafe { write_value(device, lanes, crate::Simulated::LINK[1]) }
}

/// Writes `value` if the device is the simulated one and no failure was set.
///
/// # Safety
/// `place` must be valid for a write.
unsafe fn write_value<T>(device: *const c_void, place: *mut T, value: T) -> u32 {
    if device != (&raw const DEVICE).cast() {
        return INVALID_ARGUMENT;
    }
    let result = RESULT.load(SeqCst);
    if result == SUCCESS {
        // SAFETY: the caller upholds the contract.
        unsafe { place.write(value) };
    }
    result
}
