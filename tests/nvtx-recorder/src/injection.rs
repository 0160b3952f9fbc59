//! The entry point that NVTX calls after loading the library, and the two function tables that it
//! fills.
//!
//! Slot numbers are those of `NvtxCallbackIdCore` and `NvtxCallbackIdCore2` in
//! `nvtxDetail/nvtxTypes.h`. Slots that are not filled become no-ops in NVTX.

use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

use crate::abi::{self, ExportTableCallbacks, Function, GetExportTable};
use crate::{domain_calls, global_calls, log};

/// One of our functions without its type, as NVTX's tables store it.
macro_rules! slot {
    ($id:literal, $function:path, $type:ty) => {
        // SAFETY: all function pointers have one size; NVTX casts back to `$type` before a call.
        ($id, unsafe {
            std::mem::transmute::<$type, Function>($function as $type)
        })
    };
}

/// Starts recording. Returns 1 for success; after 0 NVTX unloads the library and does nothing.
///
/// # Safety
/// Must only be called by NVTX, once, with its own `nvtxGetExportTable`.
#[unsafe(no_mangle)]
unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: GetExportTable) -> c_int {
    if let Err(error) = log::open() {
        eprintln!("nvtx-recorder: nothing will be recorded: {error}");
        return 0;
    }
    // SAFETY: this is NVTX's own function.
    let table = unsafe { get_export_table(abi::EXPORT_CALLBACKS) };
    // SAFETY: null or NVTX's static table of that type.
    let Some(callbacks) = (unsafe { table.cast::<ExportTableCallbacks>().as_ref() }) else {
        eprintln!("nvtx-recorder: this NVTX has no callback table");
        return 0;
    };
    if callbacks.struct_size < size_of::<ExportTableCallbacks>() {
        eprintln!("nvtx-recorder: this NVTX's callback table is too small");
        return 0;
    }
    // SAFETY: these are the functions of module CORE.
    let core = unsafe { attach(callbacks, abi::MODULE_CORE, &core_slots()) };
    // SAFETY: these are the functions of module CORE2.
    let core2 = unsafe { attach(callbacks, abi::MODULE_CORE2, &core2_slots()) };
    if !(core && core2) {
        eprintln!("nvtx-recorder: this NVTX lacks functions to record");
    }
    c_int::from(core && core2)
}

/// Stores `functions` in the slots of `module`; false if the module or a slot does not exist.
///
/// # Safety
/// `callbacks` must be NVTX's, and each function must have the type of its slot in `module`.
unsafe fn attach(
    callbacks: &ExportTableCallbacks,
    module: c_int,
    functions: &[(usize, Function)],
) -> bool {
    let mut table: *mut *mut Function = null_mut();
    let mut size: c_uint = 0;
    // SAFETY: this is NVTX's own function, and both outputs are writable.
    let found =
        unsafe { (callbacks.get_module_function_table)(module, &raw mut table, &raw mut size) };
    if found != 1 || table.is_null() {
        return false;
    }
    for &(id, function) in functions {
        if !u32::try_from(id).is_ok_and(|id| id < size) {
            return false;
        }
        // SAFETY: `id` is below the number of slots.
        let place = unsafe { table.add(id) };
        // SAFETY: in bounds; the array holds pointers to the slots.
        let slot = unsafe { place.read() };
        if slot.is_null() {
            return false;
        }
        // SAFETY: NVTX allows this slot to be written during this call, and it has this function's
        // type.
        unsafe { slot.write(function) };
    }
    true
}

type Text = *const std::ffi::c_char;
type Wide = *const abi::WideChar;
type Event = *const abi::EventAttributes;

fn core_slots() -> [(usize, Function); 15] {
    use global_calls as g;
    [
        slot!(1, g::mark_ex, unsafe extern "C" fn(Event)),
        slot!(2, g::mark_a, unsafe extern "C" fn(Text)),
        slot!(3, g::mark_w, unsafe extern "C" fn(Wide)),
        slot!(4, g::range_start_ex, unsafe extern "C" fn(Event) -> u64),
        slot!(5, g::range_start_a, unsafe extern "C" fn(Text) -> u64),
        slot!(6, g::range_start_w, unsafe extern "C" fn(Wide) -> u64),
        slot!(7, g::range_end, unsafe extern "C" fn(u64)),
        slot!(8, g::range_push_ex, unsafe extern "C" fn(Event) -> c_int),
        slot!(9, g::range_push_a, unsafe extern "C" fn(Text) -> c_int),
        slot!(10, g::range_push_w, unsafe extern "C" fn(Wide) -> c_int),
        slot!(11, g::range_pop, unsafe extern "C" fn() -> c_int),
        slot!(12, g::name_category_a, unsafe extern "C" fn(u32, Text)),
        slot!(13, g::name_category_w, unsafe extern "C" fn(u32, Wide)),
        slot!(14, g::name_thread_a, unsafe extern "C" fn(u32, Text)),
        slot!(15, g::name_thread_w, unsafe extern "C" fn(u32, Wide)),
    ]
}

fn core2_slots() -> [(usize, Function); 13] {
    use abi::Handle;
    use domain_calls as d;
    [
        slot!(1, d::mark_ex, unsafe extern "C" fn(Handle, Event)),
        slot!(
            2,
            d::range_start_ex,
            unsafe extern "C" fn(Handle, Event) -> u64
        ),
        slot!(3, d::range_end, unsafe extern "C" fn(Handle, u64)),
        slot!(
            4,
            d::range_push_ex,
            unsafe extern "C" fn(Handle, Event) -> c_int
        ),
        slot!(5, d::range_pop, unsafe extern "C" fn(Handle) -> c_int),
        slot!(
            8,
            d::name_category_a,
            unsafe extern "C" fn(Handle, u32, Text)
        ),
        slot!(
            9,
            d::name_category_w,
            unsafe extern "C" fn(Handle, u32, Wide)
        ),
        slot!(
            10,
            d::register_string_a,
            unsafe extern "C" fn(Handle, Text) -> Handle
        ),
        slot!(
            11,
            d::register_string_w,
            unsafe extern "C" fn(Handle, Wide) -> Handle
        ),
        slot!(12, d::create_a, unsafe extern "C" fn(Text) -> Handle),
        slot!(13, d::create_w, unsafe extern "C" fn(Wide) -> Handle),
        slot!(14, d::destroy, unsafe extern "C" fn(Handle)),
        slot!(
            15,
            d::initialize,
            unsafe extern "C" fn(*const std::ffi::c_void)
        ),
    ]
}
