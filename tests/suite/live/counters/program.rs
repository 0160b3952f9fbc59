//! The programs that the tests of `counters.rs` run, under a virtual clock.

use std::process::ExitCode;
use std::thread;

use gpuprof::gpu_profile;
use support::{World, world};
use tracing::{info_span, trace_span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

use crate::files::{hear_from_test, say_to_test};

#[gpu_profile(stream = w.gpu.stream)]
fn step(w: &World, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel(1_000 * ns);
}

#[gpu_profile(cpu)]
fn outer(w: &World) {
    w.cpu(7_000);
    inner(w);
}

#[gpu_profile(cpu)]
fn inner(w: &World) {
    w.cpu(5_000);
    support::program::ready();
    hear_from_test("go");
}

pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    match scenario {
        "running" => running(&w),
        "windows" => windows(&w),
        "spans" => spans(&w),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

fn settled(w: &World, ns: u64) {
    step(w, ns);
    w.gpu.context.synchronize().expect("synchronize");
    let _ = gpuprof::collect();
}

fn running(w: &World) {
    [2_000, 3_000, 70_000]
        .into_iter()
        .for_each(|ns| settled(w, ns));
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("worker".to_owned());
        worker.spawn_scoped(scope, || outer(w)).expect("a thread");
    });
    settled(w, 1_000);
    say_to_test("second");
    hear_from_test("end");
}

fn windows(w: &World) {
    settled(w, 2_000);
    support::program::ready();
    hear_from_test("go");
    gpuprof::reset();
    settled(w, 9_000);
    say_to_test("second");
    hear_from_test("end");
}

/// A span of `tracing` in progress, and others that have ended.
fn spans(w: &World) {
    registry().with(gpuprof::tracing::layer()).init();
    let stored = trace_span!(target: "candle", "stored");
    for ns in [2_000, 3_000] {
        stored.in_scope(|| w.cpu(ns));
    }
    info_span!("request").in_scope(|| {
        w.cpu(7_000);
        support::program::ready();
        hear_from_test("end");
    });
}
