//! Promise: what a program may depend on besides CUDA is the same with gpuprof as without: the
//! random numbers of its threads, `errno`, its environment, its locale, its signals, and the
//! thread-locals of other crates. docs/measurements/reliability.md has the list.

use std::ffi::CStr;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, ptr, thread};

use cudarc::driver::CudaStream;
use gpuprof::{gpu_profile, with_stream};
use support::cupti_from_environment;
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;
use support::{World, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        random_numbers_are_the_same,
        errno_is_the_same_after_a_call,
        the_environment_is_the_same,
        the_locale_is_the_same,
        signals_are_the_same,
        a_thread_is_in_no_runtime_of_tokios,
    ]],
)
.with_program(program);

/// Ways to run gpuprof.
const WAYS: [&[(&str, &str)]; 6] = [
    &[],
    &[("GPUPROF_SAMPLE", "1")],
    &[("GPUPROF_SAMPLE", "3")],
    &[("GPUPROF_CHECKPOINT", "0.01")],
    &[("GPUPROF_METRICS", "listen=127.0.0.1:0")],
    &[("GPUPROF_CUPTI", "on"), ("GPUPROF_STACKS", "on")],
];

#[gpu_profile(label = number)]
fn on(_stream: &Arc<CudaStream>, number: u32) {
    inherits();
}

#[gpu_profile]
fn inherits() {}

#[gpu_profile]
async fn later(_stream: &Arc<CudaStream>) {
    support::executor::pause().await;
}

/// The program prints the same whichever way it is run.
fn same_in_all_ways(scenario: &str) {
    let without = Program::new(scenario).env("GPUPROF", "off").run();
    assert!(without.status.success(), "{without:#?}");
    assert!(!without.stdout.is_empty(), "{without:#?}");
    for way in WAYS {
        let folder = Folder::create();
        let json = format!("json={}", folder.path("report.json").display());
        let program = Program::new(scenario).env("GPUPROF_REPORT", json);
        let with = |program: Program, (name, value): &(&str, &str)| program.env(name, value);
        let ended = way.iter().fold(program, with).run();
        assert!(ended.status.success(), "{way:?}: {ended:#?}");
        let lines = |ended: &Ended| -> Vec<String> {
            let text = String::from_utf8_lossy(&ended.stdout);
            text.lines().map(str::to_owned).collect()
        };
        let (with, without) = (lines(&ended), lines(&without));
        assert_eq!(with.len(), without.len(), "{way:?}");
        for (number, (with, without)) in with.iter().zip(&without).enumerate() {
            assert_eq!(with, without, "{way:?}, line {number}");
        }
        assert_eq!(folder.files(), ["report.json"], "{way:?}");
    }
}

fn random_numbers_are_the_same() {
    same_in_all_ways("random");
}

fn errno_is_the_same_after_a_call() {
    same_in_all_ways("errno");
}

fn the_environment_is_the_same() {
    same_in_all_ways("environment");
}

fn the_locale_is_the_same() {
    same_in_all_ways("locale");
}

fn signals_are_the_same() {
    same_in_all_ways("signals");
}

fn a_thread_is_in_no_runtime_of_tokios() {
    same_in_all_ways("tokio");
}

/// Makes calls of all kinds, on this thread and another, and prints what `observe` gives after
/// each; `prepare` comes before it.
fn print_around_calls(w: &World, prepare: fn(), observe: fn() -> String) {
    let stream = &w.gpu.stream;
    let calls = || {
        let calls: [&dyn Fn(u32); 4] = [
            &|number| on(stream, number),
            &|_| inherits(),
            &|_| with_stream(stream, inherits),
            &|_| support::executor::run(w, later(stream), 0),
        ];
        for number in 0..20 {
            for call in calls {
                w.gpu.kernel(1_000);
                prepare();
                call(number);
                println!("{}", observe());
            }
        }
    };
    calls();
    w.gpu.context.synchronize().expect("synchronize");
    thread::scope(|scope| scope.spawn(calls).join().expect("no panic"));
}

#[expect(clippy::disallowed_methods, reason = "the program's own numbers")]
fn program(scenario: &str) -> ExitCode {
    let w = world();
    if env::var_os("GPUPROF_CUPTI").is_some() {
        cupti_from_environment::install();
    }
    let nothing = || ();
    match scenario {
        "random" => {
            let seed = || fastrand::seed(7);
            print_around_calls(&w, seed, || fastrand::u64(..).to_string());
            drop(gpuprof::snapshot());
            println!("{}", fastrand::u64(..));
        }
        "errno" => print_around_calls(&w, || set_errno(77), || errno().to_string()),
        "environment" => {
            let before: Vec<_> = env::vars_os().collect();
            print_around_calls(&w, nothing, String::new);
            println!("{}", env::vars_os().eq(before));
        }
        "locale" => {
            // SAFETY: the name is a C string, and no other thread uses the locale now.
            let set = unsafe { libc::setlocale(libc::LC_ALL, c"C.UTF-8".as_ptr()) };
            assert!(!set.is_null());
            print_around_calls(&w, nothing, locale);
        }
        "signals" => print_around_calls(&w, nothing, signals),
        "tokio" => print_around_calls(&w, nothing, || {
            tokio::runtime::Handle::try_current().is_err().to_string()
        }),
        other => panic!("{other}"),
    }
    ExitCode::SUCCESS
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn set_errno(value: i32) {
    // SAFETY: the call takes nothing and cannot fail.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is to this thread's errno.
    unsafe { *errno = value };
}

fn locale() -> String {
    // SAFETY: a null pointer changes nothing.
    let name = unsafe { libc::setlocale(libc::LC_ALL, ptr::null()) };
    // SAFETY: the name is a C string that lives until the locale is set again.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}

/// The signals that this thread blocks, and those that the process ignores or handles.
fn signals() -> String {
    // The C library's own, for threads.
    const INTERNAL: u64 = 0b11 << (32 - 1);
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
    let masks = ["SigBlk:", "SigIgn:", "SigCgt:"].map(|name| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        let mask = u64::from_str_radix(mask.expect("a line").trim(), 16);
        mask.expect("a mask") & !INTERNAL
    });
    format!("{masks:x?}")
}
