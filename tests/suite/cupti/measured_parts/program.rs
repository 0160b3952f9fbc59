//! The programs that the tests of `measured_parts.rs` run, by scenario.

use std::cell::Cell;
use std::process::ExitCode;

use cudarc::driver::{profiler_start, profiler_stop};
use gpuprof::{CuptiMode, Profile, Session, gpu_profile};
use support::cupti_world::all_kernels;
use support::{World, until, world};

/// Called in pauses alone.
#[gpu_profile(stream = w.gpu.stream)]
fn outside(w: &World) {
    w.gpu.kernel(1_000);
    synchronize(w);
}

#[gpu_profile(stream = w.gpu.stream)]
fn step(w: &World, ns: u64) {
    w.cpu(10);
    w.gpu.kernel(ns);
}

#[gpu_profile(cpu)]
fn into(w: &World) {
    start();
    step(w, 300);
    synchronize(w);
    w.cpu(1);
}

#[gpu_profile(cpu)]
fn out_of(w: &World) {
    step(w, 400);
    w.cpu(20);
    stop();
    w.cpu(1_000);
    outside(w);
}

#[gpu_profile(cpu)]
fn tick() {}

fn start() {
    profiler_start().expect("a context");
}

fn stop() {
    profiler_stop().expect("a context");
}

fn synchronize(w: &World) {
    w.gpu.context.synchronize().expect("synchronize");
}

pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    if std::env::var("GPUPROF_CUPTI").as_deref() != Ok("off") {
        let cupti = simcupti::install().expect("the simulated libcupti is built");
        cupti.launch_by_runtime(scenario.ends_with("by the runtime"));
    }
    match scenario {
        "two parts" | "two parts by the runtime" => two_parts(&w),
        "crossing" => crossing(&w),
        "steps" => steps(&w),
        "reset" => reset(&w),
        "snapshots" => snapshots(&w),
        "session" => session(&w),
        "never" => {
            outside(&w);
            // It was never started.
            stop();
            w.cpu(5_000);
        }
        "until it is measured" => until(|| ticks(1) > 0),
        "until it is no longer measured" => {
            let measured = Cell::new(0);
            until(|| {
                let before = measured.replace(ticks(1));
                before > 0 && measured.get() == before
            });
            ticks(10);
            println!("{}", measured.get());
        }
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// Calls `tick` so many times. Returns how many calls of it were measured.
fn ticks(calls: u64) -> u64 {
    (0..calls).for_each(|_| tick());
    let profile = gpuprof::snapshot();
    let mut functions = profile.functions.iter();
    let found = functions.find(|function| function.name.ends_with("::tick"));
    found.map_or(0, |function| function.calls)
}

fn two_parts(w: &World) {
    outside(w);
    w.cpu(5_000);
    // The second start, and the second stop, change nothing.
    start();
    w.cpu(100);
    start();
    step(w, 300);
    synchronize(w);
    w.cpu(50);
    stop();
    w.cpu(7_000);
    outside(w);
    stop();
    w.cpu(3_000);
    start();
    w.cpu(200);
    step(w, 400);
    synchronize(w);
    w.cpu(60);
    stop();
    w.cpu(9_000);
    outside(w);
}

fn crossing(w: &World) {
    w.cpu(1);
    into(w);
    out_of(w);
}

fn steps(w: &World) {
    outside(w);
    gpuprof::step();
    start();
    w.cpu(100);
    gpuprof::step();
    w.cpu(40);
    stop();
    w.cpu(1_000);
    gpuprof::step();
    w.cpu(1_000);
    start();
    w.cpu(30);
    gpuprof::step();
    w.cpu(7);
    step_of_part();
    stop();
}

/// So that there is a report.
#[gpu_profile(cpu)]
fn step_of_part() {}

fn reset(w: &World) {
    outside(w);
    start();
    step(w, 300);
    synchronize(w);
    w.cpu(1);
    stop();
    gpuprof::reset();
    w.cpu(1_000);
    outside(w);
    start();
    step(w, 300);
    synchronize(w);
    w.cpu(1);
    gpuprof::reset();
    step(w, 400);
    synchronize(w);
    stop();
}

fn snapshots(w: &World) {
    let wall_ns = || gpuprof::snapshot().wall_ns;
    outside(w);
    assert_eq!(wall_ns(), 0);
    start();
    w.cpu(100);
    assert_eq!(wall_ns(), 100);
    step(w, 300);
    w.cpu(40);
    stop();
    w.cpu(1_000);
    assert_eq!(wall_ns(), 150);
    // Its kernel ended in the pause.
    synchronize(w);
    let kernels = |profile: &Profile| all_kernels(profile);
    assert_eq!(kernels(&gpuprof::collect()), (1, 300));
    assert_eq!(wall_ns(), 150);
}

fn session(w: &World) {
    outside(w);
    w.cpu(1_000);
    let session = Session::builder().cupti(CuptiMode::On);
    let session = session.start().expect("the only session");
    w.cpu(1);
    step(w, 300);
    stop();
    step(w, 400);
    synchronize(w);
    w.cpu(1);
    let profile = session.finish();
    assert_eq!(all_kernels(&profile), (2, 700));
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    start();
    outside(w);
}
