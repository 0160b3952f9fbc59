//! Promise: consecutive sessions are independent, each with its own filter, sampling and mode; only
//! one can be open.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Mode, Profile, Sampling, Session, SessionError, gpu_profile};
use support::profiles::{functions, local_name};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, node, one_in, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        sessions_one_after_another_are_apart,
        what_is_filtered_out_is_no_place_in_the_tree,
        a_second_session_is_an_error_while_one_is_open,
        functions_never_called_are_listed_and_filtered_ones_are_not,
        what_is_filtered_out_costs_no_call_of_the_driver,
        without_measuring_there_are_no_numbers,
        a_profile_without_a_session_is_empty,
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

#[expect(dead_code, reason = "it is never called")]
#[gpu_profile]
fn never_called() {}

fn is_listed(profile: &Profile, name: &str) -> bool {
    functions(profile).any(|function| local_name(&function.name) == name)
}

fn sessions_one_after_another_are_apart() {
    let w = world();
    let session = Session::builder()
        .filter("^sessions::step$")
        .start()
        .expect("start");
    step(&w, &w.gpu.stream, 100);
    around(&w, &w.gpu.stream, counted);
    let first = w.finish(session);

    // Between them nothing counts.
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
    assert_eq!(first.diagnostics.sampling, Sampling::EveryCall);

    // 1 000 + 30: what is filtered out is no child.
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

fn what_is_filtered_out_is_no_place_in_the_tree() {
    let w = world();
    let session = Session::builder()
        .filter("^sessions::(around|counted)$")
        .start()
        .expect("start");
    around(&w, &w.gpu.stream, || {
        #[gpu_profile]
        fn between(inside: impl FnOnce()) {
            inside();
        }
        between(counted);
    });
    let profile = w.finish(session);
    assert_eq!(node(&profile, &["around", "counted"]).calls, 1);
    assert_eq!(profile.tree.len(), 2);
}

fn a_second_session_is_an_error_while_one_is_open() {
    let w = world();
    let session = w.session();
    let second = Session::builder().start().map(drop);
    assert!(matches!(second, Err(SessionError::Open)), "{second:?}");
    // It did the first no harm.
    counted();
    assert_eq!(function(&w.finish(session), "counted").calls, 1);
    let third = w.session();
    drop(third);
    // A wrong filter is one too, and opens nothing.
    let wrong = Session::builder().filter("(").start().map(drop);
    assert!(matches!(wrong, Err(SessionError::Filter(_))), "{wrong:?}");
    drop(w.session());
}

fn functions_never_called_are_listed_and_filtered_ones_are_not() {
    let w = world();
    let session = w.session();
    let profile = w.finish(session);
    let never = function(&profile, "never_called");
    assert_eq!((never.calls, never.threads, never.line > 0), (0, 0, true));
    assert!(never.file.ends_with("sessions.rs"), "{}", never.file);
    let session = Session::builder()
        .filter("^sessions::never")
        .start()
        .expect("start");
    let profile = w.finish(session);
    assert!(is_listed(&profile, "never_called") && !is_listed(&profile, "step"));
}

fn what_is_filtered_out_costs_no_call_of_the_driver() {
    let w = world();
    w.warm_up(|| step(&w, &w.gpu.stream, 1));
    let session = Session::builder()
        .filter("^sessions::counted$")
        .start()
        .expect("start");
    w.sim.reset_calls();
    step(&w, &w.gpu.stream, 100);
    let here: Vec<(&str, u64)> = [
        "cuEventRecord",
        "cuStreamIsCapturing",
        "cuCtxPushCurrent_v2",
    ]
    .map(|symbol| (symbol, w.sim.calls_here(symbol)))
    .into();
    assert!(here.iter().all(|(_, calls)| *calls == 0), "{here:?}");
    // The launch.
    assert_eq!(w.sim.calls_here("cuLaunchKernel"), 1);
    let profile = w.finish(session);
    assert!(!is_listed(&profile, "step"));
    assert_eq!((profile.diagnostics.calls, profile.tree.len()), (0, 0));
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
        // Not the time since some start of the clock.
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

fn a_wait_without_end_is_no_deadline() {
    let w = world();
    let builder = Session::builder().exit_wait(std::time::Duration::MAX);
    let session = builder.start().expect("no other session is open");
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.calls, 0);
}
