//! Thread scheduling on Linux: processor affinity and priority.

use std::mem;
use std::{fs, io};

/// Restricts this process, with all future threads, to one processor.
pub(super) fn share_one() -> Result<(), String> {
    // SAFETY: `cpu_set_t` is plain numbers, and zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the set has the stated size and is writable.
    let status = unsafe { libc::sched_getaffinity(0, size, &raw mut set) };
    answer(status, "sched_getaffinity")?;
    let allowed = (0..libc::CPU_SETSIZE as usize).find(|&processor| {
        // SAFETY: the processor is within the set.
        unsafe { libc::CPU_ISSET(processor, &set) }
    });
    let processor = allowed.ok_or("no processor is allowed")?;
    // SAFETY: the set is a local variable.
    unsafe { libc::CPU_ZERO(&mut set) };
    // SAFETY: the processor is within the set.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: as above.
    let status = unsafe { libc::sched_setaffinity(0, size, &raw const set) };
    answer(status, "sched_setaffinity")
}

/// Gives the named thread the idle priority, or the normal one again.
pub(super) fn only_when_idle(name: &str, idle: bool) -> Result<(), String> {
    let policy = if idle {
        libc::SCHED_IDLE
    } else {
        libc::SCHED_OTHER
    };
    let thread = thread_called(name).ok_or(format!("no thread is called {name}"))?;
    // SAFETY: the parameters are plain numbers, for which zero is valid.
    let parameters: libc::sched_param = unsafe { mem::zeroed() };
    // SAFETY: the thread belongs to this process, and the parameters live through the call.
    let status = unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) };
    answer(status, "sched_setscheduler")
}

/// Linux truncates thread names.
const LONGEST_NAME: usize = 15;

fn thread_called(name: &str) -> Option<libc::pid_t> {
    let name = name.get(..LONGEST_NAME).unwrap_or(name);
    let mut tasks = fs::read_dir("/proc/self/task").ok()?.flatten();
    let found = tasks.find(|task| {
        let comm = fs::read_to_string(task.path().join("comm"));
        comm.is_ok_and(|comm| comm.trim_end() == name)
    })?;
    found.file_name().to_str()?.parse().ok()
}

fn answer(status: libc::c_int, call: &str) -> Result<(), String> {
    match status {
        0 => Ok(()),
        _ => Err(format!("{call}: {}", io::Error::last_os_error())),
    }
}
