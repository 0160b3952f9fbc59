//! Which signals this thread takes: gpuprof's own threads take none of the program's, and a write of gpuprof's own never
//! ends the program by a signal.
//!
//! Must not import what measures.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread;

/// Starts a thread that takes no signal: the program's handlers run on the program's threads, and a signal that every
/// thread of the program has blocked, to wait for it, still finds no other taker. `None` where the system has no thread
/// left.
pub(crate) fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    // A thread begins with the mask of the one that starts it.
    let _blocked = Blocked::all();
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Runs `write` without the signals by which the system ends a program that writes to a broken pipe (a program may have
/// set `SIGPIPE` back to its default, which Rust's start-up ignores) or beyond its file size limit; the error comes alone.
pub(crate) fn without_write_signals<T>(write: impl FnOnce() -> T) -> T {
    let set = set_of(&[libc::SIGPIPE, libc::SIGXFSZ]);
    let pending_before = pending();
    let _blocked = Blocked::these(&set);
    let result = write();
    // What the write brought about is taken away before the mask is restored; what was pending before is the program's.
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        if !is_in(&pending_before, signal) {
            take(signal);
        }
    }
    result
}

/// Lets this thread take `signal`.
pub(crate) fn unblock(signal: c_int) {
    let set = set_of(&[signal]);
    // SAFETY: the set is initialized, and a null pointer asks for no old mask.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut()) };
}

/// Signals blocked on this thread until it is dropped.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    fn all() -> Self {
        let mut set = set_of(&[]);
        // SAFETY: the set is initialized.
        unsafe { libc::sigfillset(&mut set) };
        Self::these(&set)
    }

    fn these(set: &libc::sigset_t) -> Self {
        let mut before = set_of(&[]);
        // SAFETY: both sets are initialized; the old mask is written into the second.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, &mut before) };
        Self { before }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is what this thread's mask was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

/// The set of these signals.
pub(crate) fn set_of(signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is to memory of a set's size, which the call makes the empty set of.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the call above has initialized it.
    let mut set = unsafe { set.assume_init() };
    for signal in signals {
        // SAFETY: the set is initialized.
        unsafe { libc::sigaddset(&mut set, *signal) };
    }
    set
}

/// The signals that wait for this thread to take them.
fn pending() -> libc::sigset_t {
    let mut set = set_of(&[]);
    // SAFETY: the set is initialized, and the call writes it.
    unsafe { libc::sigpending(&mut set) };
    set
}

fn is_in(set: &libc::sigset_t, signal: c_int) -> bool {
    // SAFETY: the set is initialized.
    unsafe { libc::sigismember(set, signal) == 1 }
}

/// Takes a pending signal, if there is one, without waiting.
fn take(signal: c_int) {
    let set = set_of(&[signal]);
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the set and the time are initialized, and a null pointer asks for no details.
    unsafe { libc::sigtimedwait(&set, ptr::null_mut(), &at_once) };
}
