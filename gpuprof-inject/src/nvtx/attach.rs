//! Puts our functions into a module's NVTX tables.

use std::ffi::{c_char, c_int, c_uint};
use std::ptr::null_mut;

use super::abi::{
    self, EventAttributes, ExportTableCallbacks, Function, GetExportTable, Handle, WideChar,
};
use super::calls;

type Text = *const c_char;
type Wide = *const WideChar;
type Event = *const EventAttributes;

/// One of our functions without its type, as NVTX's tables have it.
macro_rules! slot {
    ($id:literal, $function:path, $type:ty) => {
        // SAFETY: all function pointers have one size; NVTX casts back to `$type` before a call.
        ($id, unsafe {
            std::mem::transmute::<$type, Function>($function as $type)
        })
    };
}

/// Slots by `NvtxCallbackIdCore`. Those that stay empty do nothing.
fn core_slots() -> [(usize, Function); 8] {
    [
        slot!(4, calls::start_ex, unsafe extern "C" fn(Event) -> u64),
        slot!(5, calls::start_a, unsafe extern "C" fn(Text) -> u64),
        slot!(6, calls::start_w, unsafe extern "C" fn(Wide) -> u64),
        slot!(7, calls::end, unsafe extern "C" fn(u64)),
        slot!(8, calls::push_ex, unsafe extern "C" fn(Event) -> c_int),
        slot!(9, calls::push_a, unsafe extern "C" fn(Text) -> c_int),
        slot!(10, calls::push_w, unsafe extern "C" fn(Wide) -> c_int),
        slot!(11, calls::pop, unsafe extern "C" fn() -> c_int),
    ]
}

/// Slots by `NvtxCallbackIdCore2`.
fn core2_slots() -> [(usize, Function); 8] {
    use calls as c;
    type DomainEvent<T> = unsafe extern "C" fn(Handle, Event) -> T;
    [
        slot!(2, c::domain_start_ex, DomainEvent<u64>),
        slot!(3, c::domain_end, unsafe extern "C" fn(Handle, u64)),
        slot!(4, c::domain_push_ex, DomainEvent<c_int>),
        slot!(5, c::domain_pop, unsafe extern "C" fn(Handle) -> c_int),
        slot!(
            10,
            c::register_string_a,
            unsafe extern "C" fn(Handle, Text) -> Handle
        ),
        slot!(
            11,
            c::register_string_w,
            unsafe extern "C" fn(Handle, Wide) -> Handle
        ),
        slot!(12, c::domain_create_a, unsafe extern "C" fn(Text) -> Handle),
        slot!(13, c::domain_create_w, unsafe extern "C" fn(Wide) -> Handle),
    ]
}

/// Has NVTX call our functions, as far as this NVTX has them.
///
/// # Safety
/// It must be NVTX's own function, during its initialization.
pub(super) unsafe fn attach(get_export_table: GetExportTable) {
    // SAFETY: as the caller promises.
    let table = unsafe { get_export_table(abi::EXPORT_CALLBACKS) };
    // SAFETY: null or NVTX's static table of that type.
    let Some(callbacks) = (unsafe { table.cast::<ExportTableCallbacks>().as_ref() }) else {
        return;
    };
    if callbacks.struct_size < size_of::<ExportTableCallbacks>() {
        return;
    }
    // SAFETY: these are functions of that module.
    unsafe { fill(callbacks, abi::MODULE_CORE, &core_slots()) };
    // SAFETY: these are functions of that module.
    unsafe { fill(callbacks, abi::MODULE_CORE2, &core2_slots()) };
}

/// # Safety
/// `callbacks` must be NVTX's, and each function must have the type of its slot in `module`.
unsafe fn fill(callbacks: &ExportTableCallbacks, module: c_int, functions: &[(usize, Function)]) {
    let mut table: *mut *mut Function = null_mut();
    let mut size: c_uint = 0;
    // SAFETY: NVTX's own function, and both outputs are writable.
    let found =
        unsafe { (callbacks.get_module_function_table)(module, &raw mut table, &raw mut size) };
    if found != 1 || table.is_null() {
        return;
    }
    for &(id, function) in functions {
        if !u32::try_from(id).is_ok_and(|id| id < size) {
            continue;
        }
        // SAFETY: `id` is below the number of slots.
        let place = unsafe { table.add(id) };
        // SAFETY: in bounds; the array holds pointers to the slots.
        let slot = unsafe { place.read() };
        if !slot.is_null() {
            // SAFETY: NVTX lets this slot be written during its initialization, and it has this
            // function's type.
            unsafe { slot.write(function) };
        }
    }
}
