//! The program that the tests of `signals.rs` run, by scenario.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, ptr, thread};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::Gpu;

/// What a program that shuts down gracefully prints, and its exit status.
pub(super) const GRACEFUL: &str = "closed the books\n";
pub(super) const GRACEFUL_STATUS: u8 = 12;

#[gpu_profile(cpu)]
fn work() {}

/// A worker loop.
#[gpu_profile(cpu)]
fn serving() -> ! {
    work();
    wait_for_ever()
}

#[gpu_profile]
fn step(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        "none" => {
            work();
            wait_for_ever()
        }
        "serving" => serving(),
        "queued" => {
            queue(300_000_000);
            wait_for_ever()
        }
        "queued for a minute" => {
            queue(60_000_000_000);
            wait_for_ever()
        }
        "exit meanwhile" => {
            queue(300_000_000);
            raise(libc::SIGTERM);
            std::process::exit(3)
        }
        "ignored" => {
            set_action(libc::SIGINT, libc::SIG_IGN);
            work();
            wait_for_ever()
        }
        "own" => {
            work();
            set_action(libc::SIGINT, note_signal as *const () as usize);
            gracefully(|| CAME.load(Ordering::Acquire))
        }
        "tokio" => {
            work();
            with_tokio(true)
        }
        "tokio first" => with_tokio(false),
        "ctrlc" => {
            work();
            ctrlc::set_handler(|| CAME.store(true, Ordering::Release)).expect("a handler");
            gracefully(|| CAME.load(Ordering::Acquire))
        }
        "ctrlc first" => {
            ctrlc::try_set_handler(|| CAME.store(true, Ordering::Release)).expect("a handler");
            work();
            gracefully(|| CAME.load(Ordering::Acquire))
        }
        "ctrlc insists" => {
            work();
            let refused = ctrlc::try_set_handler(|| ());
            assert!(matches!(refused, Err(ctrlc::Error::MultipleHandlers)));
            finish()
        }
        "signal-hook" => {
            work();
            with_signal_hook()
        }
        "signal-hook first" => {
            let came = flag();
            work();
            gracefully(|| came.load(Ordering::Acquire))
        }
        "sigwait" => wait_for_the_signal_itself(),
        "forked" => fork_and_end_the_child(),
        _ => panic!("no scenario {scenario}"),
    }
}

fn wait_for_ever() -> ! {
    support::program::ready();
    loop {
        thread::park();
    }
}

/// Queues GPU work of `ns` and makes one call of [`work`].
fn queue(ns: u64) {
    let gpu = Gpu::new(
        simcuda::install().expect("the simulated driver is built"),
        0,
    );
    work();
    step(&gpu, &gpu.stream, ns);
    // Dropping it would wait for the GPU.
    std::mem::forget(gpu);
}

static CAME: AtomicBool = AtomicBool::new(false);

extern "C" fn note_signal(_: i32) {
    CAME.store(true, Ordering::Release);
}

fn gracefully(came: impl Fn() -> bool) -> ExitCode {
    support::program::ready();
    support::until(came);
    finish()
}

fn finish() -> ExitCode {
    work();
    print!("{GRACEFUL}");
    ExitCode::from(GRACEFUL_STATUS)
}

fn with_tokio(ran: bool) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut interrupt = Box::pin(tokio::signal::ctrl_c());
        // The first poll installs tokio's handler.
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(interrupt.as_mut().poll(context).is_pending())
        });
        assert!(polled.await);
        if !ran {
            work();
        }
        support::program::ready();
        interrupt.await.expect("a signal");
    });
    finish()
}

fn flag() -> Arc<AtomicBool> {
    let came = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&came)).expect("a handler");
    }
    came
}

fn with_signal_hook() -> ExitCode {
    let came = flag();
    gracefully(|| came.load(Ordering::Acquire))
}

/// What daemons do: block the signal in every thread of the program and take it with `sigwait`.
fn wait_for_the_signal_itself() -> ExitCode {
    // gpuprof's threads start before the signal is blocked.
    queue(1_000);
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is to memory of a set's size, which the call initializes.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: as above; the set is initialized.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM) };
    // SAFETY: the set is initialized.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut()) };
    support::program::ready();
    // The signal arrives during this sleep: a thread that has not blocked it would receive it.
    thread::sleep(std::time::Duration::from_millis(200));
    let mut came = 0;
    // SAFETY: the set is initialized and the number can be written.
    let status = unsafe { libc::sigwait(set.as_ptr(), &mut came) };
    assert_eq!((status, came), (0, libc::SIGTERM));
    finish()
}

fn fork_and_end_the_child() -> ExitCode {
    work();
    // SAFETY: the child only waits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            thread::park();
        }
    }
    assert!(child > 0, "fork: {}", io::Error::last_os_error());
    // SAFETY: the child is not waited for yet, so the number is its own.
    unsafe { libc::kill(child, libc::SIGTERM) };
    let mut status = 0;
    // SAFETY: the status can be written.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert!(libc::WIFSIGNALED(status), "{status}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGTERM);
    support::program::ready();
    finish()
}

fn raise(signal: i32) {
    // SAFETY: a signal number.
    unsafe { libc::raise(signal) };
}

fn set_action(signal: i32, action: usize) {
    // SAFETY: one of the system's own actions, or a handler that stores into an atomic.
    unsafe { libc::signal(signal, action) };
}
