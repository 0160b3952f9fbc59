//! `GPUPROF_SIGNALS=on`: SIGINT and SIGTERM write the report before they end the process.
//!
//! Only signals whose action is the default are taken, by `sigaction` alone. A program or library
//! with a handler of its own keeps it, and a handler that is installed later owns the signal from
//! then on, whether or not it calls this one. The handler only posts a semaphore: a thread that was
//! started beforehand writes the report and ends the process by the signal.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::io;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::exit;
use crate::collector::collector;
use crate::os;
use crate::settings::{Mode, Settings};

const SIGNALS: [c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// The signal that the thread is to end the process by; 0 before one has arrived.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// The process that took the signals; a forked child is another one.
static OWNER: AtomicU32 = AtomicU32::new(0);
static ARRIVAL: SignalSemaphore = SignalSemaphore(UnsafeCell::new(MaybeUninit::zeroed()));

/// Wakes the thread. A signal handler may post a semaphore, and a program that closes descriptors
/// which it does not know cannot close one.
struct SignalSemaphore(UnsafeCell<MaybeUninit<libc::sem_t>>);

// SAFETY: it is initialized before another thread or a handler uses it, and semaphores may be
// shared.
unsafe impl Sync for SignalSemaphore {}

impl SignalSemaphore {
    /// Must be called once, before anything else.
    fn init(&self) -> io::Result<()> {
        // SAFETY: the pointer is to memory of a semaphore's size, which nothing uses yet.
        match unsafe { libc::sem_init(self.0.get().cast(), 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn post(&self) {
        // SAFETY: the semaphore was initialized before a handler was installed.
        unsafe { libc::sem_post(self.0.get().cast()) };
    }

    fn wait(&self) {
        // SAFETY: the semaphore was initialized before the thread was started. An interrupted wait
        // is repeated.
        while unsafe { libc::sem_wait(self.0.get().cast()) } != 0 {}
    }
}

/// Takes the signals if the settings ask for it. To be called once.
pub(super) fn start(settings: &Settings) {
    // If nothing is measured there is no report to write first.
    if settings.signals
        && settings.mode == Mode::On
        && let Err(error) = take()
    {
        let line = format!("GPUPROF_SIGNALS has no effect: could not start a thread: {error}");
        collector().diagnostics.warning(&line);
    }
}

/// Takes the signals whose action is the default.
fn take() -> io::Result<()> {
    OWNER.store(std::process::id(), Ordering::Relaxed);
    ARRIVAL.init()?;
    os::thread_signals::spawn("gpuprof-signals", report_and_end)?;
    for signal in SIGNALS {
        if action(signal).is_some_and(|action| action == libc::SIG_DFL) {
            // SA_RESTART: a blocking call of the program must not fail before the report is
            // written.
            set_action(
                signal,
                on_signal as *const () as usize,
                libc::SA_RESTART | libc::SA_ONSTACK,
            );
        }
    }
    Ok(())
}

/// Async-signal-safe: it reads and writes atomics and calls `getpid`, `sigaction`, `raise` and
/// `sem_post`.
extern "C" fn on_signal(signal: c_int) {
    // A library that took the signal later may call the handler that it replaced: this one.
    if action(signal) != Some(on_signal as *const () as usize) {
        return;
    }
    // A forked child has no thread that reports, and a second signal ends the process at once.
    let ours = OWNER.load(Ordering::Relaxed) == process();
    let first = RECEIVED
        .compare_exchange(0, signal, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok();
    if ours && first {
        ARRIVAL.post();
    } else {
        end_by(signal);
    }
}

fn report_and_end() {
    ARRIVAL.wait();
    exit::report_once();
    let signal = RECEIVED.load(Ordering::Acquire);
    os::thread_signals::unblock(signal);
    end_by(signal);
}

/// Ends the process as the signal would have without gpuprof, so that its parent sees the same
/// status. Within the handler, where the signal is blocked, the process ends when the handler
/// returns.
fn end_by(signal: c_int) {
    set_action(signal, libc::SIG_DFL, 0);
    // SAFETY: a signal number.
    unsafe { libc::raise(signal) };
}

/// What the process does on `signal`; `None` if the system does not say.
fn action(signal: c_int) -> Option<libc::sighandler_t> {
    // SAFETY: a structure of numbers and an optional function pointer, all of which may be zero.
    let mut found: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: a null pointer changes nothing, and the present action is written into the memory
    // given.
    let status = unsafe { libc::sigaction(signal, ptr::null(), &mut found) };
    (status == 0).then_some(found.sa_sigaction)
}

fn set_action(signal: c_int, handler: libc::sighandler_t, flags: c_int) {
    // SAFETY: a structure of numbers and an optional function pointer, all of which may be zero.
    let mut wanted: libc::sigaction = unsafe { mem::zeroed() };
    wanted.sa_sigaction = handler;
    wanted.sa_mask = os::thread_signals::signal_set(&[]);
    wanted.sa_flags = flags;
    // SAFETY: the action is complete, and its handler takes what a handler of these flags is given.
    unsafe { libc::sigaction(signal, &wanted, ptr::null_mut()) };
}

fn process() -> u32 {
    // SAFETY: the call only answers.
    let process = unsafe { libc::getpid() };
    process.cast_unsigned()
}
