//! What gpuprof needs of the operating system: threads, files, descriptors and the tick counter.

pub(crate) mod atomic_file;
pub(crate) mod fd;
pub(crate) mod fork;
pub(crate) mod modules;
pub(crate) mod noted_descriptor;
pub(crate) mod own_memory;
pub(crate) mod own_work;
pub(crate) mod poll;
pub(crate) mod random;
#[cfg(feature = "inject")]
pub(crate) mod redirection;
mod thread_scheduling;
pub(crate) mod thread_signals;
pub(crate) mod tick_counter;
pub(crate) mod user;

use std::cell::Cell;
use std::ffi::CStr;

thread_local! {
    static THREAD_ID: Cell<u32> = const { Cell::new(0) };
}

/// The system's number of the calling thread; in a forked child that of the thread that forked.
pub(crate) fn thread_id() -> u32 {
    if THREAD_ID.get() == 0 {
        // SAFETY: the call takes nothing and cannot fail.
        let id = unsafe { libc::gettid() };
        THREAD_ID.set(id.unsigned_abs());
    }
    THREAD_ID.get()
}

/// CPU time that the calling thread has taken, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on Linux, and the call writes one `timespec` to the pointer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

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
