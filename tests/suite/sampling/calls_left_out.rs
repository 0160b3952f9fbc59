//! Promise: a call that automatic sampling leaves out costs no driver call, and is counted with all
//! calls inside it. Captured calls among them are estimated.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Session, gpu_profile};
use support::executor::{pause, run};
use support::graph_capture::capture;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu};

use crate::automatic_rate::{
    EVENT_OVERHEAD, session, settle, with_event_overhead, with_event_times,
};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_left_out_ask_the_driver_nothing,
        captured_calls_are_estimated_and_marked,
        captured_calls_are_estimated_over_all_paths,
        captured_calls_inside_a_future_that_is_left_out_are_counted,
        calls_inside_one_that_is_left_out_are_counted_as_left_out,
        futures_inside_one_that_is_left_out_are_counted_as_left_out,
        a_panic_ends_what_is_left_out,
    ]],
);

const MS: u64 = 1_000_000;
/// At this duration one call in eight is timed, or up to one in twenty after too many were.
const SHORT: u64 = 750_000;
const CALLS: u64 = 4_000;

#[gpu_profile]
fn short(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, SHORT);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

/// Inherits its stream.
#[gpu_profile]
fn inherits(w: &World) {
    w.gpu.kernel(SHORT / 2);
    on_cpu(w);
}

#[gpu_profile(cpu)]
fn on_cpu(w: &World) {
    w.cpu(3);
}

#[gpu_profile]
async fn request(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    pause().await;
    w.gpu.kernel_on(stream, ns);
    pause().await;
}

#[gpu_profile]
fn timed(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(label = number)]
fn labelled(w: &World, stream: &Arc<CudaStream>, number: u32) {
    w.gpu.kernel_on(stream, SHORT);
    let _ = number;
}

#[gpu_profile(cpu, label = number)]
fn caller(number: u32, inside: impl FnOnce()) {
    inside();
    let _ = number;
}

#[gpu_profile]
async fn calls_inside(w: &World, stream: &Arc<CudaStream>, calls: u32) {
    w.gpu.kernel_on(stream, SHORT);
    pause().await;
    (0..calls).for_each(|_| asks(w, stream));
}

/// Its CPU time is long enough for the driver to be asked about each call.
#[gpu_profile]
fn asks(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, SHORT);
    w.cpu(2 * MS);
}

/// Makes calls until gpuprof has found how many to time.
pub(crate) fn warm_up(w: &World, session: &Session, mut call: impl FnMut()) {
    for _ in 0..50 {
        (0..8).for_each(|_| call());
        settle(w, session);
    }
    gpuprof::reset();
}

/// Every call is timed, captured or left out, and none for another reason.
fn assert_accounted(profile: &Profile, name: &str, calls: u64) {
    let function = function(profile, name);
    let timed = gpu(profile, name).timed_calls;
    let left_out = function.untimed.sampled_out;
    assert_eq!(function.calls, calls, "{name}");
    assert_eq!(timed + function.captured_calls + left_out, calls, "{name}");
    assert_eq!(function.untimed_calls, left_out, "{name}");
}

fn calls_left_out_ask_the_driver_nothing() {
    let w = with_event_overhead();
    let session = session();
    let call = || short(&w, &w.gpu.stream);
    warm_up(&w, &session, call);
    w.sim.reset_calls();
    (0..CALLS).for_each(|_| call());
    let asked = ["cuCtxGetCurrent", "cuStreamIsCapturing"].map(|name| w.sim.calls(name));
    let recorded = w.sim.calls("cuEventRecord");
    let profile = w.finish(session);
    assert_accounted(&profile, "short", CALLS);
    let timed = gpu(&profile, "short").timed_calls;
    // A twentieth to an eighth, and more of them where a loaded machine has the times read late.
    assert!((10..CALLS / 2).contains(&timed), "{timed}");
    assert_eq!(recorded, 2 * timed);
    // cudarc asks for the current context at each launch.
    let [current, capturing] = asked;
    assert!(capturing <= 2 * timed, "{capturing} of {timed}");
    assert!(current <= CALLS + 2 * timed, "{current}");
    assert_eq!(gpu(&profile, "short").times.total_ns, CALLS * SHORT);
}

fn captured_calls_are_estimated_and_marked() {
    let w = with_event_overhead();
    let session = session();
    warm_up(&w, &session, || short(&w, &w.gpu.stream));
    for _ in 0..CALLS / 8 {
        (0..4).for_each(|_| short(&w, &w.gpu.stream));
        let graph = capture(&w.gpu.stream, || {
            (0..4).for_each(|_| short(&w, &w.gpu.stream));
        });
        drop(graph);
    }
    let profile = w.finish(session);
    assert_accounted(&profile, "short", CALLS);
    let found = function(&profile, "short");
    assert!(found.captured_estimated);
    // 2,000 ± 195 if one in twenty is seen. The margin is eight standard deviations.
    let captured = found.captured_calls;
    assert!(captured.abs_diff(CALLS / 2) < 8 * 195, "{captured}");
    // Only the other half runs on the GPU, and all calls last as long: what is not known is how
    // many were captured.
    let (total, truth) = (gpu(&profile, "short").times.total_ns, CALLS / 2 * SHORT);
    let half = gpu(&profile, "short")
        .estimate
        .as_ref()
        .and_then(|e| e.total_ci95_ns)
        .unwrap_or(0);
    // A quarter if one call in twenty is asked about, which is fewer on a loaded machine.
    assert!((1..truth / 2).contains(&half), "{half} of {truth}");
    // Four standard deviations.
    assert!(
        total.abs_diff(truth) < 2 * half,
        "{total} ± {half} of {truth}"
    );
    let table = profile.to_string();
    let (thousands, rest) = (captured / 1_000, captured % 1_000);
    let wanted = format!("~{thousands},{rest:03} captured into a graph");
    assert!(table.contains(&wanted), "{table}");
}

fn captured_calls_are_estimated_over_all_paths() {
    let w = with_event_overhead();
    let session = session();
    // The label of the calls that are not captured.
    let live = 200;
    let call = || labelled(&w, &w.gpu.stream, live);
    warm_up(&w, &session, call);
    for round in 0..CALLS as u32 / 4 {
        (0..4).for_each(|_| call());
        let graph = capture(&w.gpu.stream, || {
            caller(round / 50, || {
                (0..4).for_each(|at| labelled(&w, &w.gpu.stream, (4 * round + at) % 200));
            });
        });
        drop(graph);
    }
    let profile = w.finish(session);
    assert_accounted(&profile, "labelled", 2 * CALLS);
    // No path has two captured calls, and so few paths have one that was asked about. 4,000 ± 276
    // if one call in twenty is. The margin is eight standard deviations.
    let captured = function(&profile, "labelled").captured_calls;
    assert!(captured.abs_diff(CALLS) < 8 * 276, "{captured}");
    let gpu = gpu(&profile, "labelled");
    let half = gpu
        .estimate
        .as_ref()
        .and_then(|e| e.total_ci95_ns)
        .unwrap_or(0);
    let (total, truth) = (gpu.times.total_ns, CALLS * SHORT);
    // Eight standard deviations.
    assert!(
        total.abs_diff(truth) <= 4 * half,
        "{total} ± {half} of {truth}"
    );
}

fn captured_calls_inside_a_future_that_is_left_out_are_counted() {
    let w = with_event_overhead();
    let s = &w.gpu.stream;
    let session = session();
    warm_up(&w, &session, || run(&w, calls_inside(&w, s, 0), 0));
    warm_up(&w, &session, || asks(&w, s));
    for _ in 0..CALLS / 10 {
        (0..4).for_each(|_| asks(&w, s));
        let graph = capture(s, || {
            (0..2).for_each(|_| run(&w, calls_inside(&w, s, 10), 0));
        });
        drop(graph);
    }
    let profile = w.finish(session);
    let found = function(&profile, "asks");
    assert_accounted(&profile, "asks", CALLS / 10 * 24);
    assert!(found.untimed.sampled_out > 0, "it is sampled");
    assert_eq!(found.captured_calls, CALLS / 10 * 20);
    assert!(!found.captured_estimated);
    // All calls last as long, and it is known how many ran: the interval has no width.
    let gpu = gpu(&profile, "asks");
    assert_eq!(gpu.times.total_ns, CALLS / 10 * 4 * 2 * MS);
    assert_eq!(gpu.estimate.as_ref().and_then(|e| e.total_ci95_ns), Some(0));
}

fn calls_inside_one_that_is_left_out_are_counted_as_left_out() {
    let w = with_event_times();
    let session = session();
    let call = || around(&w.gpu.stream, || inherits(&w));
    warm_up(&w, &session, call);
    (0..CALLS).for_each(|_| call());
    // A call after them is not inside any.
    timed(&w.gpu.stream, || w.gpu.kernel(MS));
    let profile = w.finish(session);
    assert_accounted(&profile, "around", CALLS);
    assert_accounted(&profile, "inherits", CALLS);
    assert_eq!(cpu_times(&profile, "on_cpu"), (CALLS, 3 * CALLS, 3 * CALLS));
    for name in ["around", "inherits"] {
        assert_eq!(
            gpu(&profile, name).times.total_ns,
            CALLS * (SHORT / 2 + EVENT_OVERHEAD)
        );
    }
    assert_eq!(gpu(&profile, "timed").timed_calls, 1);
}

fn futures_inside_one_that_is_left_out_are_counted_as_left_out() {
    let w = with_event_times();
    let session = session();
    let s = &w.gpu.stream;
    let call = || {
        around(s, || {
            run(&w, request(&w, s, SHORT), 0);
            // Each poll has ended.
            inherits(&w);
        });
    };
    warm_up(&w, &session, call);
    (0..CALLS).for_each(|_| call());
    let profile = w.finish(session);
    for name in ["around", "request", "inherits"] {
        assert_accounted(&profile, name, CALLS);
    }
    assert_eq!(
        gpu(&profile, "request").times.total_ns,
        CALLS * (SHORT + EVENT_OVERHEAD)
    );
}

fn a_panic_ends_what_is_left_out() {
    let w = with_event_overhead();
    let session = session();
    let call = || {
        let panics = || std::panic::resume_unwind(Box::new(()));
        let called = || around(&w.gpu.stream, || inside_of_panic(&w, panics));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(called)).is_err());
    };
    warm_up(&w, &session, call);
    (0..CALLS).for_each(|_| call());
    timed(&w.gpu.stream, || w.gpu.kernel(MS));
    let profile = w.finish(session);
    assert_accounted(&profile, "around", CALLS);
    assert_accounted(&profile, "inside_of_panic", CALLS);
    assert_eq!(gpu(&profile, "timed").timed_calls, 1);
}

#[gpu_profile]
fn inside_of_panic(w: &World, panics: impl FnOnce()) {
    w.gpu.kernel(SHORT);
    panics();
}
