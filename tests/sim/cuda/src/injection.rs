//! The library that `cuInit` loads into the program: tools enter a process so.

use std::ffi::{CString, OsString, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::Once;

/// Names the library, as with the real driver.
const VARIABLE: &str = "CUDA_INJECTION64_PATH";
/// What is called in it. Its result is ignored.
const ENTRY: &std::ffi::CStr = c"InitializeInjection";

/// Loads the library and calls its function. The driver is not initialized yet, so that every
/// driver call in it fails. As with the real driver (H100, 580.159.04), a path that cannot be
/// loaded, or has no such function, is ignored.
pub(crate) fn run_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Some(path) = std::env::var_os(VARIABLE) {
            run(path);
        }
    });
}

fn run(path: OsString) {
    let Ok(path) = CString::new(path.into_vec()) else {
        return;
    };
    // SAFETY: whoever set the variable wants this library's initializers to run.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return;
    }
    // SAFETY: the handle is that of a library that is never closed.
    let entry = unsafe { libc::dlsym(library, ENTRY.as_ptr()) };
    if !entry.is_null() {
        // SAFETY: a function of this name has this type.
        let entry: extern "C" fn() -> c_int = unsafe { std::mem::transmute(entry) };
        entry();
    }
}
