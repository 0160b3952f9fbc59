//! The program that the tests of `exit.rs` run, by scenario.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{io, thread};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::Gpu;

use crate::stopping_clock;

/// Neither UTF-8 nor a whole line: any change of standard output by gpuprof is visible.
pub(super) const STDOUT: &[u8] = b"first line\n\xff\0 and no newline at the end";

#[gpu_profile]
fn step(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

#[gpu_profile(cpu)]
fn work() {}

/// Never returns.
#[gpu_profile(cpu)]
fn waiting(inside: &AtomicU32) {
    inside.fetch_add(1, Ordering::Release);
    loop {
        thread::park();
    }
}

#[gpu_profile(cpu)]
fn leaving() {
    work();
    std::process::exit(7);
}

pub(super) fn run(scenario: &str) -> ExitCode {
    let say = || {
        io::stdout()
            .write_all(STDOUT)
            .expect("standard output is open")
    };
    if scenario != "fork" {
        say();
    }
    match scenario {
        "return" => {
            let gpu = new_gpu();
            (0..3).for_each(|_| step(&gpu, &gpu.stream, 1_000));
            thread::spawn(work).join().expect("no panic");
            return ExitCode::from(5);
        }
        "panic" => {
            work();
            panic!("as planned");
        }
        "exit" => {
            let gpu = new_gpu();
            step(&gpu, &gpu.stream, 1_000);
            std::process::exit(7);
        }
        "exit elsewhere" => {
            thread::spawn(leaving);
            loop {
                thread::park();
            }
        }
        "exit inside" => leaving(),
        "panic elsewhere" => {
            let thread = thread::spawn(|| {
                work();
                panic!("as planned");
            });
            assert!(thread.join().is_err());
        }
        "inside" => exit_while_others_are_inside(),
        "locked" => exit_while_another_thread_holds_stderr(),
        "destructors" => {
            EARLY.with(|_| ());
            work();
            LATE.with(|_| ());
        }
        "queued" => {
            let gpu = new_gpu();
            step(&gpu, &gpu.stream, 300_000_000);
            std::process::exit(3);
        }
        "queued for a minute" => {
            let gpu = new_gpu();
            step(&gpu, &gpu.stream, 1_000);
            gpu.stream.synchronize().expect("synchronize");
            step(&gpu, &gpu.stream, 60_000_000_000);
            std::process::exit(3);
        }
        "asked" => ask_again_and_again(),
        "fork" => {
            fork();
            say();
        }
        "abort" => {
            work();
            std::process::abort();
        }
        "exit at once" => {
            work();
            // SAFETY: the call takes a number and does not return.
            unsafe { libc::_exit(4) };
        }
        "fork and exec" => fork_and_exec(),
        "closed" => {
            work();
            // SAFETY: nothing in this program counts on standard error being there.
            unsafe { libc::close(libc::STDERR_FILENO) };
        }
        "broken" => {
            // Rust's start-up ignores SIGPIPE; programs restore the default to end quietly when a
            // pipe closes. SAFETY: the default action is no function of this program.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            work();
            return ExitCode::from(6);
        }
        "full" => {
            work();
            fill_standard_error();
        }
        "torn down" => {
            let gpu = new_gpu();
            step(&gpu, &gpu.stream, 1_000);
            gpu.stream.synchronize().expect("synchronize");
            // The loop also ends if nothing is measured.
            let diagnostics = || gpuprof::snapshot().diagnostics;
            support::until(|| diagnostics().timed_calls == diagnostics().calls);
            gpu.sim.shut_down();
            std::process::exit(3);
        }
        "torn down in the middle" => {
            let gpu = new_gpu();
            step(&gpu, &gpu.stream, 60_000_000_000);
            gpu.sim.shut_down();
            std::process::exit(3);
        }
        "hook" => {
            std::panic::set_hook(Box::new(|_| std::process::exit(8)));
            work();
            panic!("as planned");
        }
        "held for a second" => exit_while_a_profile_is_made(Duration::from_secs(1)),
        "held for ever" => exit_while_a_profile_is_made(Duration::MAX),
        "fork while locked" => fork_while_a_profile_is_made(),
        "no span" => assert_eq!(gpuprof::snapshot().diagnostics.calls, 0),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

fn new_gpu() -> Gpu {
    Gpu::new(
        simcuda::install().expect("the simulated driver is built"),
        0,
    )
}

fn exit_while_others_are_inside() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    for _ in 0..3 {
        thread::spawn(|| waiting(&INSIDE));
    }
    // This thread enters and leaves spans without end, also while the report is made.
    thread::spawn(|| {
        loop {
            work();
        }
    });
    while INSIDE.load(Ordering::Acquire) < 3 {
        thread::yield_now();
    }
    work();
    std::process::exit(7);
}

fn exit_while_another_thread_holds_stderr() {
    static HELD: AtomicU32 = AtomicU32::new(0);
    thread::spawn(|| {
        let _held = io::stderr().lock();
        waiting(&HELD);
    });
    while HELD.load(Ordering::Acquire) == 0 {
        thread::yield_now();
    }
    work();
}

/// Makes standard error non-blocking, as a parent or a library may do, and fills it.
fn fill_standard_error() {
    // SAFETY: the descriptor is open.
    let flags = unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_GETFL) };
    let flags = flags | libc::O_NONBLOCK;
    // SAFETY: as above.
    let status = unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_SETFL, flags) };
    assert_eq!(status, 0, "fcntl: {}", io::Error::last_os_error());
    while io::stderr().write(&[b'\n'; 512]).is_ok() {}
}

/// Calls an annotated function when its thread ends.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        work();
    }
}

thread_local! {
    // Initialized before and after gpuprof's thread-local, so that one of them is dropped after it.
    static EARLY: Last = const { Last };
    static LATE: Last = const { Last };
}

fn ask_again_and_again() {
    let measured = u64::from(std::env::var_os("GPUPROF").is_none());
    work();
    let asked = [
        gpuprof::collect(),
        gpuprof::snapshot(),
        gpuprof::collect(),
        gpuprof::snapshot(),
    ];
    assert_eq!(
        asked.map(|profile| profile.diagnostics.calls),
        [measured; 4]
    );
    work();
    assert_eq!(gpuprof::collect().diagnostics.calls, 2 * measured);
}

fn fork() {
    work();
    // SAFETY: no other thread of this process holds a lock that the child will want.
    let child = unsafe { libc::fork() };
    if child == 0 {
        work();
        std::process::exit(9);
    }
    assert!(child > 0, "fork: {}", io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: the status is writable.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((waited, libc::WEXITSTATUS(status)), (child, 9));
}

/// Starts the same program again in a new process.
fn fork_and_exec() {
    work();
    let exe = std::env::current_exe().expect("a test has a path");
    let child = std::process::Command::new(exe)
        .env(support::program::SCENARIO, "asked")
        .status();
    assert!(child.expect("the program starts").success());
}

fn exit_while_a_profile_is_made(time: Duration) {
    stopping_clock::install();
    // On another thread, because this thread would itself wait for these locks when it ends.
    thread::spawn(work).join().expect("no panic");
    stopping_clock::hold_the_window();
    thread::spawn(move || {
        thread::sleep(time);
        stopping_clock::release();
    });
    std::process::exit(7);
}

/// Never called before the fork.
#[gpu_profile(cpu)]
fn first_in_the_child() {}

/// The thread that holds the locks does not exist in the child.
fn fork_while_a_profile_is_made() {
    stopping_clock::install();
    work();
    stopping_clock::hold_the_window();
    // SAFETY: the child calls nothing that needs a lock but, if it were wrong, gpuprof.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the call takes a number. A child that hangs ends by it.
        unsafe { libc::alarm(10) };
        work();
        first_in_the_child();
        // SAFETY: the call takes a number and does not return.
        unsafe { libc::_exit(9) };
    }
    assert!(child > 0, "fork: {}", io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: the status is writable.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    stopping_clock::release();
    assert_eq!(waited, child);
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 9,
        "{status:#x}"
    );
}
