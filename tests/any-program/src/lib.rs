//! A library with an annotated function, as an extension of Python may be.

use gpuprof::gpu_profile;

#[gpu_profile(cpu)]
fn annotated() {}

/// What the C program calls.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn call_annotated() {
    annotated();
}
