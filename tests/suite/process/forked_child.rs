//! Promise: in a forked child nothing of gpuprof runs: no call of the interface waits for a thread
//! that does not exist there, and no CUDA call is made, also where the fork was inside a span.

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{io, thread};

use cudarc::driver::CudaStream;
use gpuprof::{Session, gpu_profile};
use support::Gpu;
use support::executor::{pause, poll};
use support::program::Program;
use support::suite::Module;
use support::tests;

use crate::stopping_clock;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        spans_that_are_open_at_a_fork_end_without_a_cuda_call,
        no_call_of_the_interface_hangs_in_a_forked_child,
        settings_that_other_threads_change_hang_no_forked_child,
    ]],
)
.with_program(program);

const CHILD_STATUS: i32 = 9;

#[gpu_profile]
fn around<R>(_stream: &Arc<CudaStream>, inside: impl FnOnce() -> R) -> R {
    inside()
}

#[gpu_profile]
fn inherits<R>(inside: impl FnOnce() -> R) -> R {
    inside()
}

#[gpu_profile(cpu)]
fn on_the_cpu<R>(inside: impl FnOnce() -> R) -> R {
    inside()
}

#[gpu_profile]
async fn later(_stream: Arc<CudaStream>) {
    pause().await;
    pause().await;
}

#[gpu_profile(cpu, label = name)]
fn labelled(name: &str) {}

/// Never called before the fork.
#[gpu_profile(cpu)]
fn first_in_the_child() {}

fn spans_that_are_open_at_a_fork_end_without_a_cuda_call() {
    for cupti in ["off", "on"] {
        let ended = Program::new("inside").env("GPUPROF_CUPTI", cupti).run();
        assert!(ended.status.success(), "{ended:#?}");
        assert_eq!(ended.reports(), 1, "{}", ended.stderr);
    }
}

fn no_call_of_the_interface_hangs_in_a_forked_child() {
    for scenario in ["interface", "session"] {
        let ended = Program::new(scenario).run();
        assert!(ended.status.success(), "{ended:#?}");
    }
}

fn settings_that_other_threads_change_hang_no_forked_child() {
    let ended = Program::new("changing").run();
    assert!(ended.status.success(), "{ended:#?}");
}

fn program(scenario: &str) -> ExitCode {
    let sim = simcuda::install().expect("the simulated driver is built");
    if std::env::var_os("GPUPROF_CUPTI").is_some_and(|value| value == "on") {
        support::cupti_from_environment::install();
    }
    stopping_clock::install();
    let gpu = Gpu::new(sim, 0);
    match scenario {
        "inside" => fork_inside_spans(&gpu),
        "interface" => fork_and_use_the_interface(&gpu),
        "session" => fork_in_a_session(&gpu),
        "changing" => fork_while_settings_change(&gpu),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// Returns twice, while another thread of the parent holds gpuprof's locks.
fn fork() -> libc::pid_t {
    stopping_clock::hold_the_window();
    // SAFETY: the child calls nothing that needs a lock but, if it were wrong, gpuprof.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", io::Error::last_os_error());
    if child == 0 {
        // SAFETY: the call takes a number. A child that hangs ends by it.
        unsafe { libc::alarm(10) };
    }
    child
}

/// Ends the child, or waits for it in the parent.
fn join(child: libc::pid_t) {
    if child == 0 {
        // With the destructors of thread-locals and exit handlers.
        std::process::exit(CHILD_STATUS);
    }
    let mut status = 0;
    // SAFETY: the status is writable.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    stopping_clock::release();
    assert_eq!(waited, child);
    let is_as_planned = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == CHILD_STATUS;
    assert!(is_as_planned, "{status:#x}");
}

/// The CUDA calls so far.
fn cuda_calls(gpu: &Gpu) -> u64 {
    gpu.sim
        .calls_by_symbol()
        .iter()
        .map(|(_, calls)| calls)
        .sum()
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

fn fork_inside_spans(gpu: &Gpu) {
    gpuprof::set_default_stream(&gpu.stream);
    labelled("known");
    let mut polled: [Task; 2] = [(); 2].map(|()| Box::pin(later(gpu.stream.clone())) as Task);
    for future in &mut polled {
        assert!(poll(future.as_mut()).is_pending());
    }
    let unpolled: Task = Box::pin(later(gpu.stream.clone()));
    let [mut to_end, to_drop] = polled;
    let (child, before) = around(&gpu.stream, || {
        inherits(|| {
            gpuprof::with_stream(&gpu.stream, || {
                on_the_cpu(|| inherits(|| (fork(), cuda_calls(gpu))))
            })
        })
    });
    if child == 0 {
        while poll(to_end.as_mut()).is_pending() {}
        drop(to_drop);
        let mut unpolled = unpolled;
        assert!(poll(unpolled.as_mut()).is_pending());
        drop(unpolled);
        around(&gpu.stream, || inherits(|| on_the_cpu(first_in_the_child)));
        inherits(|| gpuprof::set_default_stream(None::<&Arc<CudaStream>>));
        ["known", "new"].into_iter().for_each(labelled);
        thread::scope(|scope| scope.spawn(first_in_the_child).join()).expect("no panic");
        if cuda_calls(gpu) != before {
            eprintln!("CUDA calls in the child");
            // SAFETY: the call takes a number and does not return.
            unsafe { libc::_exit(1) };
        }
    }
    join(child);
}

fn fork_and_use_the_interface(gpu: &Gpu) {
    around(&gpu.stream, || on_the_cpu(|| ()));
    let child = fork();
    if child == 0 {
        gpuprof::step();
        gpuprof::reset();
        gpuprof::with_stream(&gpu.stream, || inherits(|| ()));
        gpuprof::set_default_stream(&gpu.stream);
        inherits(|| ());
        assert_eq!(gpuprof::snapshot().diagnostics.calls, 0);
        assert_eq!(gpuprof::collect().functions.len(), 0);
        let session = Session::builder().start().expect("it does nothing");
        on_the_cpu(first_in_the_child);
        assert_eq!(session.snapshot().diagnostics.calls, 0);
        assert_eq!(session.finish().diagnostics.calls, 0);
        drop(Session::builder().start().expect("it does nothing"));
    }
    join(child);
}

fn fork_in_a_session(gpu: &Gpu) {
    let session = Session::builder().start().expect("start");
    around(&gpu.stream, || on_the_cpu(|| ()));
    let child = fork();
    if child == 0 {
        gpuprof::step();
        drop(session);
        join(child);
        return;
    }
    join(child);
    assert_eq!(session.finish().diagnostics.calls, 2);
}

/// Some of the forks are at a moment when another thread holds a lock.
fn fork_while_settings_change(gpu: &Gpu) {
    let is_over = AtomicBool::new(false);
    let change_until_over = || {
        while !is_over.load(Relaxed) {
            gpuprof::set_default_stream(&gpu.stream);
        }
    };
    around(&gpu.stream, || ());
    thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(change_until_over)));
        for _ in 0..300 {
            // SAFETY: the child calls nothing that needs a lock but, if it were wrong, gpuprof.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: the call takes a number. A child that hangs ends by it.
                unsafe { libc::alarm(10) };
                gpuprof::set_default_stream(&gpu.stream);
                // SAFETY: the call takes a number and does not return.
                unsafe { libc::_exit(CHILD_STATUS) };
            }
            let mut status = 0;
            // SAFETY: the status is writable.
            let waited = unsafe { libc::waitpid(child, &mut status, 0) };
            is_over.store(status != CHILD_STATUS << 8, Relaxed);
            assert_eq!((waited, status), (child, CHILD_STATUS << 8));
        }
        is_over.store(true, Relaxed);
    });
}
