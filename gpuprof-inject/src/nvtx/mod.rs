//! NVTX's calls, passed on as ranges.

mod abi;
mod attach;
mod calls;
mod handles;
mod text;

use std::ffi::c_int;
use std::panic;

use self::abi::GetExportTable;

/// Called by each module of the program that contains NVTX (the program, a library), at its first
/// NVTX call, because `NVTX_INJECTION64_PATH` names this library.
///
/// Returns 1 always: after 0 NVTX unloads the library, whose exit handlers would then run at once.
///
/// # Safety
/// Only NVTX may call it, with its own `nvtxGetExportTable`.
// SAFETY: the name is NVTX's, for the one library that it injects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: GetExportTable) -> c_int {
    let attach = || {
        // A program that contains gpuprof has its ranges there.
        if gpuprof_runtime::injection::is_alone() {
            // SAFETY: as the caller promises.
            unsafe { attach::attach(get_export_table) };
        }
    };
    // The program must not fail because of gpuprof.
    let _ = panic::catch_unwind(attach);
    1
}
