//! Threads and the signals that they take: gpuprof's own threads take none of the program's, and
//! gpuprof's own writes never end the program by a signal.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread;

use super::{own_work, thread_scheduling};

/// Starts a thread that takes no signal: the program's handlers run on the program's own threads,
/// and a signal that all of these have blocked, to wait for it, reaches no other thread.
///
/// # Errors
/// The system's, if it has no thread left.
pub(crate) fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    start(thread::Builder::new().name(name.to_owned()), run)
}

/// The same with a stack of at least `stack_bytes`, of which the system only provides what is used.
///
/// # Errors
/// The system's, if it has no thread or no such stack left.
pub(crate) fn spawn_with_stack(
    name: &str,
    stack_bytes: usize,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.to_owned());
    start(thread.stack_size(stack_bytes), run)
}

fn start(
    thread: thread::Builder,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    // A new thread inherits the mask of the one that starts it.
    let _blocked = Blocked::all();
    let thread = thread.spawn(|| {
        own_work::note_own_thread();
        run();
    })?;
    thread_scheduling::reset(&thread);
    Ok(thread)
}

/// Runs `write` without `SIGPIPE` and `SIGXFSZ`, by which the system ends a program that writes to
/// a broken pipe or beyond its file size limit: `write` only sees the error. Rust's start-up
/// ignores `SIGPIPE`, but a program may have restored its default.
pub(crate) fn without_write_signals<T>(write: impl FnOnce() -> T) -> T {
    let set = signal_set(&[libc::SIGPIPE, libc::SIGXFSZ]);
    let pending_before = pending();
    let _blocked = Blocked::these(&set);
    let result = write();
    // A signal that the write caused is consumed before the mask is restored; one that was pending
    // before belongs to the program.
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        if !is_in(&pending_before, signal) {
            consume(signal);
        }
    }
    result
}

/// Lets this thread take `signal`.
pub(crate) fn unblock(signal: c_int) {
    let set = signal_set(&[signal]);
    // SAFETY: the set is initialized, and a null pointer asks for no old mask.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut()) };
}

/// Signals blocked on this thread until it is dropped.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    fn all() -> Self {
        let mut set = signal_set(&[]);
        // SAFETY: the set is initialized.
        unsafe { libc::sigfillset(&mut set) };
        Self::these(&set)
    }

    fn these(set: &libc::sigset_t) -> Self {
        let mut before = signal_set(&[]);
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

pub(crate) fn signal_set(signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is to memory of a set's size, which the call initializes.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the call above initialized it.
    let mut set = unsafe { set.assume_init() };
    for signal in signals {
        // SAFETY: the set is initialized.
        unsafe { libc::sigaddset(&mut set, *signal) };
    }
    set
}

/// The signals that are pending on this thread.
fn pending() -> libc::sigset_t {
    let mut set = signal_set(&[]);
    // SAFETY: the set is initialized, and the call writes it.
    unsafe { libc::sigpending(&mut set) };
    set
}

fn is_in(set: &libc::sigset_t, signal: c_int) -> bool {
    // SAFETY: the set is initialized.
    unsafe { libc::sigismember(set, signal) == 1 }
}

/// Consumes a pending signal, if there is one, without waiting.
fn consume(signal: c_int) {
    let set = signal_set(&[signal]);
    let no_wait = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the set and the time are initialized; a null pointer asks for no details.
    unsafe { libc::sigtimedwait(&set, ptr::null_mut(), &no_wait) };
}
