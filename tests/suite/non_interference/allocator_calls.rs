//! Promise: annotated functions that the program's `#[global_allocator]` calls neither hang nor
//! crash. Within gpuprof's own work, on whatever thread, they are counted and not measured.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use cudarc::driver::{CudaContext, CudaStream};
use gpuprof::{Profile, gpu_profile, with_stream};
use support::cupti_from_environment;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{function, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_call_of_the_allocator_is_counted,
        a_window_counts_none_of_the_calls_before_it,
        the_first_use_of_gpuprof_may_be_in_the_allocator,
    ]],
)
.with_program(program);

static IS_ON: AtomicBool = AtomicBool::new(false);
static MADE: AtomicU64 = AtomicU64::new(0);

/// Called by the allocator of this binary.
pub(crate) fn on_allocation(bytes: usize) {
    if IS_ON.load(Relaxed) {
        MADE.fetch_add(1, Relaxed);
        allocated(bytes);
    }
}

/// Inherits the stream of the call that allocates.
#[gpu_profile(name = "allocated", bytes = bytes, label = bytes.leading_zeros())]
fn allocated(bytes: usize) {
    std::hint::black_box(bytes);
}

#[gpu_profile(label = label, args(label))]
fn on(_stream: &Arc<CudaStream>, label: &str) {
    drop(std::hint::black_box(Box::new(1)));
    inside();
}

#[gpu_profile(cpu)]
fn inside() {}

#[gpu_profile]
async fn later(_stream: &Arc<CudaStream>) {
    support::executor::pause().await;
    inside();
}

/// Calls of all kinds, on this thread and on another one.
fn work(context: &Arc<CudaContext>) {
    let streams = [(); 2].map(|()| context.new_stream().expect("a stream"));
    let [stream, other] = &streams;
    let calls = || {
        for number in 0..40 {
            on(stream, &format!("label {number}"));
            with_stream(other, inside);
            let mut later = pin!(later(stream));
            while support::executor::poll(later.as_mut()).is_pending() {}
        }
    };
    calls();
    thread::scope(|scope| scope.spawn(calls).join().expect("no panic"));
    context.synchronize().expect("synchronize");
    drop(gpuprof::snapshot());
    drop(gpuprof::collect());
}

fn assert_all_counted(profile: &Profile, made: u64) {
    let dropped = profile.diagnostics.dropped;
    assert!(dropped > 0, "none was made within gpuprof's own work");
    let calls = function(profile, "allocated").calls;
    assert_eq!(calls + dropped, made, "{calls} and {dropped}");
    assert!(profile.to_string().contains("or gpuprof itself allocated"));
}

fn every_call_of_the_allocator_is_counted() {
    let w = world();
    let session = w.session();
    IS_ON.store(true, Relaxed);
    work(&w.gpu.context);
    IS_ON.store(false, Relaxed);
    let made = MADE.load(Relaxed);
    let profile = session.finish();
    assert_all_counted(&profile, made);
    assert_eq!(function(&profile, "on").calls, 80);
    assert_eq!(function(&profile, "later").calls, 80);
}

fn a_window_counts_none_of_the_calls_before_it() {
    let w = world();
    let made = || {
        MADE.store(0, Relaxed);
        IS_ON.store(true, Relaxed);
        work(&w.gpu.context);
        IS_ON.store(false, Relaxed);
        MADE.load(Relaxed)
    };
    for _ in 0..2 {
        let session = w.session();
        let first = made();
        assert_all_counted(&gpuprof::collect(), first);
        gpuprof::reset();
        let second = made();
        assert_all_counted(&session.finish(), second);
    }
}

/// While gpuprof starts, under all of its settings, and at exit.
fn the_first_use_of_gpuprof_may_be_in_the_allocator() {
    let settings: [&[(&str, &str)]; 3] = [
        &[],
        &[("GPUPROF_SAMPLE", "1")],
        &[("GPUPROF_CUPTI", "full"), ("GPUPROF_STACKS", "on")],
    ];
    for settings in settings {
        let run = |scenario| {
            let with = |program: Program, (name, value): &(&str, &str)| program.env(name, value);
            settings
                .iter()
                .fold(Program::new(scenario), with)
                .profiled()
        };
        let (ended, profile) = run("until the end");
        assert!(ended.status.success(), "{settings:?}: {ended:#?}");
        let printed = String::from_utf8_lossy(&ended.stdout);
        let made = printed.trim().parse().expect("a number");
        assert_all_counted(&profile, made);
        let (ended, profile) = run("and at exit");
        assert!(ended.status.success(), "{settings:?}: {ended:#?}");
        assert_eq!(function(&profile, "on").calls, 80);
    }
}

fn program(scenario: &str) -> ExitCode {
    IS_ON.store(true, Relaxed);
    if scenario == "and at exit" {
        // Allocates nothing itself, so that gpuprof's state is made within it.
        gpuprof::step();
    }
    simcuda::install().expect("the simulated device is built");
    if std::env::var_os("GPUPROF_CUPTI").is_some() {
        cupti_from_environment::install();
    }
    work(&CudaContext::new(0).expect("a context"));
    if scenario == "until the end" {
        IS_ON.store(false, Relaxed);
        println!("{}", MADE.load(Relaxed));
    }
    ExitCode::SUCCESS
}
