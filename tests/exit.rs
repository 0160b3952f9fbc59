//! Promise: however a process ends, the report comes once, to standard error alone, and the exit status is the program's own.

mod common;
mod process;

use std::cell::Cell;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{io, thread};

use common::{Gpu, function, gpu};
use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use process::{Ended, Folder, Program, tests};

fn main() -> ExitCode {
    match process::scenario() {
        Some(scenario) => program(&scenario),
        None => process::run_tests(tests![
            after_main_returns,
            after_a_panic_in_main,
            after_exit_from_main,
            after_exit_from_another_thread,
            after_exit_from_inside_a_span,
            after_a_panic_in_another_thread,
            while_other_threads_are_inside_spans,
            while_another_thread_holds_standard_error,
            spans_in_destructors_of_thread_locals_are_counted,
            queued_gpu_work_is_waited_for,
            the_wait_for_queued_gpu_work_is_bounded,
            asking_for_the_report_changes_nothing,
            a_forked_child_reports_nothing,
            abort_loses_the_report_and_nothing_else,
            a_process_without_a_span_prints_nothing,
            a_terminal_gets_colours_and_its_width,
            no_color_is_honoured,
        ]),
    }
}

/// Neither text nor a whole line: whoever touches standard output changes it.
const STDOUT: &[u8] = b"first line\n\xff\0 and no newline at the end";

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

fn program(scenario: &str) -> ExitCode {
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
        "no span" => assert_eq!(gpuprof::snapshot().trust.calls, 0),
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
    // One that enters and leaves spans all the time, also while the report is made.
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

/// Calls an annotated function when its thread ends.
struct Last(Cell<u8>);

impl Drop for Last {
    fn drop(&mut self) {
        work();
    }
}

thread_local! {
    // Touched before and after gpuprof's own, so that one of them is dropped after it is gone.
    static EARLY: Last = const { Last(Cell::new(0)) };
    static LATE: Last = const { Last(Cell::new(0)) };
}

fn ask_again_and_again() {
    let measured = u64::from(std::env::var_os("GPUPROF").is_none());
    work();
    let asked = [
        gpuprof::report(),
        gpuprof::snapshot(),
        gpuprof::report(),
        gpuprof::snapshot(),
    ];
    assert_eq!(asked.map(|profile| profile.trust.calls), [measured; 4]);
    work();
    assert_eq!(gpuprof::report().trust.calls, 2 * measured);
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

/// Runs `scenario` with gpuprof and without, and checks that the program can see no difference.
fn played(scenario: &str) -> (Ended, Profile) {
    let (with, profile) = Program::new(scenario).profiled();
    let without = Program::new(scenario).env("GPUPROF", "off").run();
    assert_eq!(with.status, without.status, "{with:#?}");
    assert_eq!(without.stdout, STDOUT);
    assert_eq!(with.stdout, STDOUT);
    assert_eq!(
        (with.reports(), without.reports()),
        (1, 0),
        "{}",
        with.stderr
    );
    assert_eq!(with.remarks(), [""; 0]);
    assert!(
        !with.stderr.contains('\x1b'),
        "escape codes in a pipe: {}",
        with.stderr
    );
    (with, profile)
}

fn after_main_returns() {
    let (ended, profile) = played("return");
    assert_eq!(ended.status.code(), Some(5));
    assert_eq!(function(&profile, "step").calls, 3);
    assert_eq!(gpu(&profile, "step").timed_calls, 3);
    assert_eq!(function(&profile, "work").calls, 1);
    assert!(
        ended.stderr.contains("simulated device"),
        "{}",
        ended.stderr
    );
}

fn after_a_panic_in_main() {
    let (ended, profile) = played("panic");
    assert_eq!(ended.status.code(), Some(101));
    assert!(ended.stderr.contains("as planned"));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn after_exit_from_main() {
    let (ended, profile) = played("exit");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(gpu(&profile, "step").timed_calls, 1);
}

fn after_exit_from_another_thread() {
    let (ended, profile) = played("exit elsewhere");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn after_exit_from_inside_a_span() {
    let (ended, profile) = played("exit inside");
    assert_eq!(ended.status.code(), Some(7));
    // The call that exits never ends, so only the one inside it counts.
    assert_eq!(
        (
            function(&profile, "leaving").calls,
            function(&profile, "work").calls
        ),
        (0, 1)
    );
}

fn after_a_panic_in_another_thread() {
    let (ended, profile) = played("panic elsewhere");
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(function(&profile, "work").calls, 1);
}

fn while_other_threads_are_inside_spans() {
    let (ended, profile) = played("inside");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(function(&profile, "waiting").calls, 0);
    assert!(function(&profile, "work").calls > 0);
}

fn while_another_thread_holds_standard_error() {
    let (_, profile) = played("locked");
    assert_eq!(function(&profile, "work").calls, 1);
}

fn spans_in_destructors_of_thread_locals_are_counted() {
    let (_, profile) = played("destructors");
    assert_eq!(function(&profile, "work").calls + profile.trust.dropped, 3);
}

fn queued_gpu_work_is_waited_for() {
    let (_, profile) = played("queued");
    let step = gpu(&profile, "step");
    assert_eq!(step.timed_calls, 1);
    assert!(step.times.total_ns >= 300_000_000, "{step:#?}");
}

fn the_wait_for_queued_gpu_work_is_bounded() {
    let program = || Program::new("queued for a minute").env("GPUPROF_EXIT_WAIT", "100ms");
    let (ended, profile) = program().profiled();
    assert_eq!((ended.status.code(), &*ended.stdout), (Some(3), STDOUT));
    assert!(ended.took >= Duration::from_millis(100), "{:?}", ended.took);
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
    let step = function(&profile, "step");
    assert_eq!((step.calls, gpu(&profile, "step").timed_calls), (2, 1));
    assert_eq!((step.untimed_calls, step.untimed.unfinished), (1, 1));
    assert!(
        ended.stderr.contains("1 not finished on the GPU"),
        "{}",
        ended.stderr
    );
}

fn asking_for_the_report_changes_nothing() {
    let (_, profile) = played("asked");
    assert_eq!(function(&profile, "work").calls, 2);
}

fn a_forked_child_reports_nothing() {
    let (_, profile) = played("fork");
    assert_eq!(function(&profile, "work").calls, 1);
    let folder = Folder::new();
    let path = folder.path("{pid}.json");
    let ended = Program::new("fork")
        .env("GPUPROF_REPORT", format!("json={}", path.display()))
        .run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(
        folder.files().len(),
        1,
        "the parent's file alone: {:?}",
        folder.files()
    );
}

fn abort_loses_the_report_and_nothing_else() {
    let with = Program::new("abort").run();
    let without = Program::new("abort").env("GPUPROF", "off").run();
    assert_eq!(
        (with.status, &with.stdout, &with.stderr),
        (without.status, &without.stdout, &without.stderr)
    );
    assert_eq!((with.status.code(), with.reports()), (None, 0));
}

fn a_process_without_a_span_prints_nothing() {
    let folder = Folder::new();
    let report = format!("table,tree,json={}", folder.path("report.json").display());
    let ended = Program::new("no span").env("GPUPROF_REPORT", report).run();
    assert_eq!(
        (ended.status.code(), &*ended.stdout, &*ended.stderr),
        (Some(0), STDOUT, "")
    );
    assert_eq!(folder.files(), [""; 0]);
}

fn a_terminal_gets_colours_and_its_width() {
    let ended = Program::new("return").run_on_terminal(80);
    assert_eq!(
        (ended.status.code(), ended.reports()),
        (Some(5), 0),
        "the head is coloured"
    );
    assert!(ended.stderr.contains("\x1b["), "{}", ended.stderr);
    let plain = without_escapes(&ended.stderr);
    assert!(
        plain.contains("gpuprof: ") && plain.contains("step"),
        "{plain}"
    );
    let widest = plain.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{plain}");
}

fn no_color_is_honoured() {
    let ended = Program::new("return")
        .env("NO_COLOR", "1")
        .run_on_terminal(200);
    assert_eq!(ended.reports(), 1);
    assert!(!ended.stderr.contains('\x1b'), "{}", ended.stderr);
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').expect("a colour code").1);
    std::iter::once(first).chain(rest).collect()
}
