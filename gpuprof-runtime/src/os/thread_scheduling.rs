//! Where and how urgently gpuprof's own threads run: not as the thread of the program that happened
//! to start them. A caller that is pinned to one processor under `SCHED_FIFO` would otherwise keep
//! them from running at all.

use std::os::unix::thread::JoinHandleExt;
use std::sync::OnceLock;
use std::thread::JoinHandle;

/// The processors that the process was given, as `taskset` or a launcher sets them. `None`: the
/// system has more than the set has room for.
static PROCESSORS: OnceLock<Option<libc::cpu_set_t>> = OnceLock::new();

// Runs when the program is loaded, before `main`: any thread may pin itself later, also the main
// thread, and the system does not say what it was allowed before.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = note_processors;

extern "C" fn note_processors() {
    PROCESSORS.get_or_init(|| {
        // SAFETY: a set of bits, all of which may be zero.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer and the size are of one live set; 0 is this thread.
        let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
        (status == 0).then_some(set)
    });
}

/// Lets a new thread run on every processor that the process was given, under `SCHED_OTHER`. Called
/// by the thread that started it: the new thread itself may not get to run before. What the system
/// refuses stays as it is.
pub(super) fn reset(thread: &JoinHandle<()>) {
    let thread = thread.as_pthread_t();
    if let Some(Some(set)) = PROCESSORS.get() {
        // SAFETY: the handle is not joined yet, and the pointer and the size are of one live set.
        unsafe { libc::pthread_setaffinity_np(thread, size_of_val(set), set) };
    }
    let normal = libc::sched_param { sched_priority: 0 };
    // SAFETY: the handle is not joined yet, and the parameter is live.
    unsafe { libc::pthread_setschedparam(thread, libc::SCHED_OTHER, &normal) };
}
