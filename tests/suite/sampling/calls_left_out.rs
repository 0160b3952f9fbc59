//! Promise: a call that automatic sampling leaves out costs no driver call, and is counted with all
//! calls inside it. What may have had the time of an untimed call on its stream is marked.

use std::sync::{Arc, Barrier};
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Session, gpu_profile};
use support::executor::{pause, run};
use support::graph_capture::capture;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu, until, world};

use crate::automatic_rate::{session, settle, with_event_overhead};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_left_out_ask_the_driver_nothing,
        captured_calls_are_estimated_and_marked,
        calls_inside_one_that_is_left_out_are_counted_as_left_out,
        futures_inside_one_that_is_left_out_are_counted_as_left_out,
        a_panic_ends_what_is_left_out,
        a_call_beside_an_untimed_one_is_marked,
        a_call_after_an_untimed_one_is_not_marked,
        a_call_beside_an_untimed_one_on_another_stream_is_not_marked,
        a_call_around_an_untimed_one_is_not_marked,
        a_future_beside_an_untimed_one_is_marked,
        a_future_around_an_untimed_one_is_not_marked,
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

/// Practically never timed.
#[gpu_profile(sample = 1_000_000_000)]
async fn untimed_request(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    pause().await;
    w.gpu.kernel_on(stream, ns);
    pause().await;
}

#[gpu_profile]
async fn handler(w: &World, stream: &Arc<CudaStream>) {
    untimed_request(w, stream, MS).await;
    pause().await;
    w.gpu.kernel_on(stream, MS);
}

#[gpu_profile]
fn timed(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

/// Practically never timed.
#[gpu_profile(sample = 1_000_000_000)]
fn untimed(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

/// Makes calls until gpuprof has found how many to time.
fn warm_up(w: &World, session: &Session, mut call: impl FnMut()) {
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
    assert!((10..CALLS / 6).contains(&timed), "{timed}");
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
        .map_or(0, |e| e.total_ci95_ns);
    assert!((1..truth / 3).contains(&half), "{half} of {truth}");
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

fn calls_inside_one_that_is_left_out_are_counted_as_left_out() {
    let w = with_event_overhead();
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
        assert_eq!(gpu(&profile, name).times.total_ns, CALLS * SHORT / 2);
    }
    assert_eq!(gpu(&profile, "timed").timed_calls, 1);
}

fn futures_inside_one_that_is_left_out_are_counted_as_left_out() {
    let w = with_event_overhead();
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
    assert_eq!(gpu(&profile, "request").times.total_ns, CALLS * SHORT);
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

/// Runs `here`, and `there` on another thread. Both are given a function that waits for the other
/// to call it as often.
fn on_two_threads(here: impl FnOnce(&dyn Fn()), there: impl FnOnce(&dyn Fn()) + Send) {
    let barrier = Barrier::new(2);
    let meet = || {
        barrier.wait();
    };
    thread::scope(|scope| {
        scope.spawn(|| there(&meet));
        here(&meet);
    });
}

/// Waits until so many calls have their time.
fn wait_for(session: &Session, calls: u64) {
    until(|| session.snapshot().diagnostics.timed_calls == calls);
}

fn a_call_beside_an_untimed_one_is_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            timed(s, || {
                meet();
                w.gpu.kernel_on(s, 10 * MS);
                meet();
            });
        },
        |meet| {
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
            untimed(s, || {
                meet();
                w.gpu.kernel_on(s, 10 * MS);
                meet();
            });
        },
    );
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 1);
    assert!(function(&profile, "timed").gpu_overlaps);
    assert_eq!(gpu(&profile, "timed").times.self_ns, 20 * MS);
    assert!(profile.to_string().contains("≤20.0  ms"), "{profile}");
}

fn a_call_after_an_untimed_one_is_not_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            w.gpu.context.synchronize().expect("synchronize");
            wait_for(&session, 1);
            timed(s, || w.gpu.kernel_on(s, 10 * MS));
            w.gpu.context.synchronize().expect("synchronize");
            wait_for(&session, 2);
            meet();
        },
        |meet| {
            untimed(s, || w.gpu.kernel_on(s, MS));
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
            meet();
            untimed(s, || w.gpu.kernel_on(s, MS));
        },
    );
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 2);
    assert!(!function(&profile, "timed").gpu_overlaps);
    assert_eq!(gpu(&profile, "timed").times.self_ns, 10 * MS);
}

fn a_call_beside_an_untimed_one_on_another_stream_is_not_marked() {
    let w = world();
    let (s, other) = (&w.gpu.stream, &w.gpu.another_stream());
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            timed(s, || {
                meet();
                w.gpu.kernel_on(s, 10 * MS);
                meet();
            });
        },
        |meet| {
            around(other, || w.gpu.kernel_on(other, MS));
            meet();
            untimed(other, || {
                meet();
                w.gpu.kernel_on(other, 10 * MS);
                meet();
            });
        },
    );
    let profile = w.finish(session);
    assert!(!function(&profile, "timed").gpu_overlaps);
}

fn a_call_around_an_untimed_one_is_not_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    // Another thread has used the stream before.
    on_two_threads(
        |meet| meet(),
        |meet| {
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
        },
    );
    for _ in 0..10 {
        timed(s, || untimed(s, || w.gpu.kernel_on(s, MS)));
    }
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 10);
    assert!(!function(&profile, "timed").gpu_overlaps);
}

/// Polls both in turn until they are ready, as `join!` does.
async fn join(a: impl Future<Output = ()>, b: impl Future<Output = ()>) {
    let (mut a, mut b) = (Some(Box::pin(a)), Some(Box::pin(b)));
    std::future::poll_fn(move |context| {
        if a.as_mut()
            .is_some_and(|a| a.as_mut().poll(context).is_ready())
        {
            a = None;
        }
        if b.as_mut()
            .is_some_and(|b| b.as_mut().poll(context).is_ready())
        {
            b = None;
        }
        match a.is_none() && b.is_none() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

fn a_future_beside_an_untimed_one_is_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    let both = join(request(&w, s, MS), untimed_request(&w, s, MS));
    run(&w, both, 0);
    let profile = w.finish(session);
    assert!(function(&profile, "request").gpu_overlaps);
    assert_eq!(gpu(&profile, "request").times.self_ns, 2 * MS);
}

fn a_future_around_an_untimed_one_is_not_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    run(&w, handler(&w, s), 0);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed_request").untimed.sampled_out, 1);
    assert!(!function(&profile, "handler").gpu_overlaps);
    assert_eq!(gpu(&profile, "handler").times.total_ns, 2 * MS);
}
