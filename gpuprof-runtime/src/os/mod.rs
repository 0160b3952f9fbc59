//! What gpuprof needs of the operating system: threads, files, descriptors and the tick counter.

pub(crate) mod atomic_file;
pub(crate) mod fd;
pub(crate) mod fork;
mod thread_scheduling;
pub(crate) mod thread_signals;
pub(crate) mod tick_counter;

use std::ffi::CStr;

/// The machine's name, at most 64 bytes on Linux.
pub(crate) fn host_name() -> String {
    let mut name = [0_u8; 65];
    // SAFETY: the pointer and the length are of one live array.
    let status = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let name = CStr::from_bytes_until_nul(&name)
        .ok()
        .filter(|_| status == 0);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
