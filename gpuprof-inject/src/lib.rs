//! The library that `gpuprof run` has the CUDA driver load into programs that do not use gpuprof.
//!
//! It exports what the driver and NVTX call, and nothing else.

mod nvtx;

use std::ffi::c_int;
use std::panic;

pub use self::nvtx::InitializeInjectionNvtx2;

/// Called by the driver inside `cuInit`, because `CUDA_INJECTION64_PATH` names this library. Starts
/// to measure the program, unless it contains gpuprof itself. The driver ignores the result.
// SAFETY: the name is the driver's, for the one library that it injects.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    // The program must not fail because of gpuprof.
    let _ = panic::catch_unwind(gpuprof_runtime::injection::start);
    1
}
