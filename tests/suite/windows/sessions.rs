//! Promise: consecutive sessions are independent, each with its own filter, sampling and mode; only
//! one can be open.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Mode, Sampling, Session, SessionError, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, one_in, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        sessions_one_after_another_are_apart,
        a_second_session_is_an_error_while_one_is_open,
        without_measuring_there_are_no_numbers,
        a_profile_without_a_session_is_empty,
        after_a_session_no_time_passes_in_a_profile,
        a_wait_without_end_is_no_deadline,
    ]],
);

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

#[gpu_profile]
fn around(w: &World, _stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.cpu(1_000);
    inside();
    w.cpu(30);
}

#[gpu_profile(cpu)]
fn counted() {}

fn sessions_one_after_another_are_apart() {
    let w = world();
    let session = Session::builder()
        .filter("^sessions::step$")
        .start()
        .expect("start");
    step(&w, &w.gpu.stream, 100);
    around(&w, &w.gpu.stream, counted);
    let first = w.finish(session);

    // No session is open here, so this call does not count.
    step(&w, &w.gpu.stream, 5_000);

    let session = Session::builder()
        .filter("sessions::around|sessions::counted")
        .sampling(one_in(1_000_000))
        .start()
        .expect("start");
    step(&w, &w.gpu.stream, 200);
    around(&w, &w.gpu.stream, counted);
    let second = w.finish(session);

    let session = w.session();
    step(&w, &w.gpu.stream, 400);
    let third = w.finish(session);

    assert_eq!(cpu_times(&first, "step"), (1, 100, 100));
    assert_eq!(first.functions.len(), 1);
    assert_eq!(first.diagnostics.sampling, Sampling::AUTO);

    // 1,000 + 30: a filtered-out callee is not subtracted from its caller's self time.
    assert_eq!(cpu_times(&second, "around"), (1, 1_030, 1_030));
    assert_eq!(cpu_times(&second, "counted").0, 1);
    assert_eq!(
        (second.functions.len(), second.diagnostics.sampling),
        (2, one_in(1_000_000))
    );

    assert_eq!(cpu_times(&third, "step"), (1, 400, 400));
    assert_eq!(cpu_times(&third, "around"), (0, 0, 0));
    assert_eq!(third.diagnostics.sampling, Sampling::EveryCall);
    assert_eq!(third.tree.len(), 1);
}

fn a_second_session_is_an_error_while_one_is_open() {
    let w = world();
    let session = w.session();
    let second = Session::builder().start().map(drop);
    assert!(matches!(second, Err(SessionError::Open)), "{second:?}");
    // The first session is unaffected by the error.
    counted();
    assert_eq!(function(&w.finish(session), "counted").calls, 1);
    let third = w.session();
    drop(third);
    // An invalid filter is also an error, and no session is opened.
    let wrong = Session::builder().filter("(").start().map(drop);
    assert!(matches!(wrong, Err(SessionError::Filter(_))), "{wrong:?}");
    drop(w.session());
}

fn without_measuring_there_are_no_numbers() {
    let w = world();
    w.warm_up(|| step(&w, &w.gpu.stream, 1));
    for mode in [Mode::Nvtx, Mode::Off] {
        let session = Session::builder().mode(mode).start().expect("start");
        w.sim.reset_calls();
        step(&w, &w.gpu.stream, 100);
        gpuprof::with_stream(&w.gpu.stream, counted);
        assert_eq!(w.sim.calls_here("cuEventRecord"), 0, "{mode:?}");
        let profile = w.finish(session);
        assert_eq!(
            (profile.diagnostics.calls, profile.tree.len()),
            (0, 0),
            "{mode:?}"
        );
        assert!(profile.functions.iter().all(|function| function.calls == 0));
        // Nothing was measured, so the wall time is 0 and not the clock's value.
        assert_eq!(profile.wall_ns, 0, "{mode:?}");
    }
}

fn a_profile_without_a_session_is_empty() {
    let w = world();
    drop(w.session());
    step(&w, &w.gpu.stream, 100);
    for profile in [gpuprof::snapshot(), gpuprof::collect()] {
        assert_consistent(&profile);
        assert_eq!(profile.diagnostics.calls, 0);
    }
}

fn after_a_session_no_time_passes_in_a_profile() {
    let w = world();
    let session = w.session();
    step(&w, &w.gpu.stream, 100);
    assert_eq!(w.finish(session).diagnostics.calls, 1);
    w.cpu(1_000);
    let profile = gpuprof::snapshot();
    assert_eq!((profile.wall_ns, profile.diagnostics.calls), (0, 0));
}

fn a_wait_without_end_is_no_deadline() {
    let w = world();
    let builder = Session::builder().exit_wait(std::time::Duration::MAX);
    let session = builder.start().expect("no other session is open");
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.calls, 0);
}
