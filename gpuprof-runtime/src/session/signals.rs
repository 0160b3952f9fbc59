//! `GPUPROF_SIGNALS=on`: SIGINT and SIGTERM print the report first.
//!
//! By `sigaction` alone and only where the action was the default, so that a program or library with a handler of its own
//! keeps it, and one that installs its own later owns the signal from then on, whether or not it calls on to this one.
//! The handler itself does next to nothing: a thread, started beforehand, reports and lets the signal end the process.
//! Must not import what measures.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::exit;
use crate::os;

/// The signals that are taken.
const TAKEN: [c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// The signal that the thread is to end the process by; 0 before one has come.
static CAME: AtomicI32 = AtomicI32::new(0);
/// The process that took the signals; a forked child is another one.
static OWNER: AtomicU32 = AtomicU32::new(0);
static BELL: Bell = Bell(UnsafeCell::new(MaybeUninit::zeroed()));

/// What wakes the thread. A semaphore, because posting one is among the few things that a signal handler may do, and a
/// program that closes every descriptor it does not know cannot take it away.
struct Bell(UnsafeCell<MaybeUninit<libc::sem_t>>);

// SAFETY: the semaphore is made before any other thread or handler knows of it, and semaphores are there to be shared.
unsafe impl Sync for Bell {}

impl Bell {
    /// Makes it; once, before anything else.
    fn make(&self) -> bool {
        // SAFETY: the pointer is to memory of a semaphore's size, which nobody uses yet.
        unsafe { libc::sem_init(self.0.get().cast(), 0, 0) == 0 }
    }

    fn ring(&self) {
        // SAFETY: the semaphore was made before a handler was installed.
        unsafe { libc::sem_post(self.0.get().cast()) };
    }

    fn wait(&self) {
        // SAFETY: the semaphore was made before the thread was started. An interrupted wait begins again.
        while unsafe { libc::sem_wait(self.0.get().cast()) } != 0 {}
    }
}

/// Takes the signals whose action is the default. Returns whether that was possible at all. To be called once.
pub(super) fn take() -> bool {
    OWNER.store(std::process::id(), Ordering::Relaxed);
    if !BELL.make() || os::thread::spawn("gpuprof-signals", report_and_end).is_none() {
        return false;
    }
    for signal in TAKEN {
        if action(signal).is_some_and(|action| action == libc::SIG_DFL) {
            // A blocking call of the program's goes on where it was: nothing there should end it before the report.
            set_action(
                signal,
                on_signal as *const () as usize,
                libc::SA_RESTART | libc::SA_ONSTACK,
            );
        }
    }
    true
}

/// The handler. Async-signal-safe: it reads and writes atomics and calls `getpid`, `sigaction`, `raise` and `sem_post`.
extern "C" fn on_signal(signal: c_int) {
    // A library that took the signal later may call the handler it found, which is this one.
    if action(signal) != Some(on_signal as *const () as usize) {
        return;
    }
    // In a forked child there is no thread to report. And who sends a second signal does not want to wait.
    let ours = OWNER.load(Ordering::Relaxed) == process();
    let first = CAME
        .compare_exchange(0, signal, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok();
    if ours && first {
        BELL.ring();
    } else {
        end_by(signal);
    }
}

fn report_and_end() {
    BELL.wait();
    exit::report_once();
    let signal = CAME.load(Ordering::Acquire);
    os::thread::unblock(signal);
    end_by(signal);
}

/// Ends the process as the signal would have without gpuprof, so that whoever waits for it sees the same. Within the
/// handler, where the signal is blocked, that happens on return.
fn end_by(signal: c_int) {
    set_action(signal, libc::SIG_DFL, 0);
    // SAFETY: a signal number.
    unsafe { libc::raise(signal) };
}

/// What the process does on `signal`; `None` where the system does not say.
fn action(signal: c_int) -> Option<libc::sighandler_t> {
    // SAFETY: a structure of numbers and an optional function pointer, all of which may be zero.
    let mut found: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: a null pointer changes nothing, and the present action is written into the memory given.
    let status = unsafe { libc::sigaction(signal, ptr::null(), &mut found) };
    (status == 0).then_some(found.sa_sigaction)
}

fn set_action(signal: c_int, handler: libc::sighandler_t, flags: c_int) {
    // SAFETY: a structure of numbers and an optional function pointer, all of which may be zero.
    let mut wanted: libc::sigaction = unsafe { mem::zeroed() };
    wanted.sa_sigaction = handler;
    wanted.sa_mask = os::thread::set_of(&[]);
    wanted.sa_flags = flags;
    // SAFETY: the action is complete, and its handler takes what a handler of these flags is given.
    unsafe { libc::sigaction(signal, &wanted, ptr::null_mut()) };
}

fn process() -> u32 {
    // SAFETY: the call only answers.
    let process = unsafe { libc::getpid() };
    process.cast_unsigned()
}
