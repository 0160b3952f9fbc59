//! Promise: the time of a stream on which calls overlap is divided among them. Between two
//! neighbouring events each call has an equal part that is open and has no open call nested in it,
//! so that exclusive times add up to the time for which the stream was covered.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use promises::{Tolerance, assert_kept, shared_streams};
use support::executor::{join, pause, poll};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, on_two_threads, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        two_threads_on_one_stream_have_half_of_its_time_each,
        only_the_common_part_is_divided,
        of_nested_calls_the_innermost_shares_with_the_other_thread,
        joined_futures_on_one_stream_have_its_time_once,
        the_call_around_joined_futures_has_what_they_leave,
        a_future_that_moves_between_threads_shares_as_one_call,
        calls_one_after_another_share_nothing,
        streams_of_their_own_of_two_threads_share_nothing,
        a_call_on_several_streams_shares_each_with_the_calls_there,
        a_call_nested_on_one_of_several_streams_is_subtracted,
        a_reset_inside_a_call_leaves_other_threads_their_times,
    ]],
);

const MS: u64 = 1_000_000;

#[gpu_profile]
fn first(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn second(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn third(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(stream = [a, b])]
fn on_both(a: &Arc<CudaStream>, b: &Arc<CudaStream>, inside: impl FnOnce()) {
    let _ = (a, b);
    inside();
}

#[gpu_profile]
fn without_stream(inside: impl FnOnce()) {
    inside();
}

/// Begins in its first poll, launches in the second and ends in the third.
#[gpu_profile]
async fn request(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    pause().await;
    w.gpu.kernel_on(stream, ns);
    pause().await;
}

#[gpu_profile]
async fn handler(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, MS);
    join((0..4).map(|_| request(w, stream, MS)).collect()).await;
    w.gpu.kernel_on(stream, 2 * MS);
}

/// `(timed calls, exclusive time)` of these functions.
fn exclusive<const N: usize>(profile: &Profile, names: [&str; N]) -> [(u64, u64); N] {
    names.map(|name| {
        let gpu = gpu(profile, name);
        (gpu.timed_calls, gpu.times.self_ns)
    })
}

/// `(shortest call, longest call)` of the function.
fn durations(profile: &Profile, name: &str) -> (u64, u64) {
    let times = &gpu(profile, name).times;
    (times.min_ns, times.max_ns)
}

fn two_threads_on_one_stream_have_half_of_its_time_each() {
    assert_kept(shared_streams::shared_all_the_time(
        &world().gpu,
        Tolerance::EXACT,
    ));
}

fn only_the_common_part_is_divided() {
    assert_kept(shared_streams::shared_in_part(
        &world().gpu,
        Tolerance::EXACT,
    ));
}

fn of_nested_calls_the_innermost_shares_with_the_other_thread() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_two_threads(
        |meet| {
            first(s, || {
                w.gpu.kernel_on(s, 2 * MS);
                second(s, || {
                    meet();
                    meet();
                });
                w.gpu.kernel_on(s, 8 * MS);
                meet();
                meet();
            });
        },
        |meet| {
            meet();
            third(s, || {
                w.gpu.kernel_on(s, 4 * MS);
                meet();
                meet();
            });
            meet();
        },
    );
    let profile = w.finish(session);
    // 2 ms of the first alone, 4 ms of the second and third, 8 ms of the first and third.
    let expected = [(1, 6 * MS), (1, 2 * MS), (1, 6 * MS)];
    assert_eq!(exclusive(&profile, ["first", "second", "third"]), expected);
    assert_eq!(durations(&profile, "first"), (14 * MS, 14 * MS));
}

fn joined_futures_on_one_stream_have_its_time_once() {
    assert_kept(shared_streams::joined_futures(
        &world().gpu,
        Tolerance::EXACT,
    ));
}

fn the_call_around_joined_futures_has_what_they_leave() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    let mut handler = Box::pin(handler(&w, s));
    while poll(handler.as_mut()).is_pending() {}
    let profile = w.finish(session);
    let expected = [(1, 3 * MS), (4, 4 * MS)];
    assert_eq!(exclusive(&profile, ["handler", "request"]), expected);
    assert_eq!(durations(&profile, "handler"), (7 * MS, 7 * MS));
}

fn a_future_that_moves_between_threads_shares_as_one_call() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    let mut request = Box::pin(request(&w, s, 2 * MS));
    assert!(poll(request.as_mut()).is_pending());
    w.gpu.kernel_on(s, MS);
    thread::scope(|scope| {
        scope.spawn(|| {
            first(s, || {
                assert!(poll(request.as_mut()).is_pending());
                w.gpu.kernel_on(s, 4 * MS);
            });
        });
    });
    assert!(poll(request.as_mut()).is_ready());
    let profile = w.finish(session);
    // 1 ms of the request alone, 6 ms of both.
    let expected = [(1, 4 * MS), (1, 3 * MS)];
    assert_eq!(exclusive(&profile, ["request", "first"]), expected);
    assert_eq!(durations(&profile, "request"), (7 * MS, 7 * MS));
}

fn calls_one_after_another_share_nothing() {
    assert_kept(shared_streams::in_turn(&world().gpu, Tolerance::EXACT));
}

fn streams_of_their_own_of_two_threads_share_nothing() {
    let w = world();
    assert_kept(shared_streams::on_a_stream_each(&w.gpu, Tolerance::EXACT));
    assert_kept(shared_streams::on_the_per_thread_stream(
        &w.gpu,
        Tolerance::EXACT,
    ));
}

fn a_call_on_several_streams_shares_each_with_the_calls_there() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    without_stream(|| {
        first(&a, || {
            w.gpu.kernel_on(&a, MS);
            on_both(&a, &b, || {
                w.gpu.kernel_on(&a, 3 * MS);
                w.gpu.kernel_on(&b, 2 * MS);
            });
        });
    });
    let profile = w.finish(session);
    // Stream a: 1 ms of the first alone, then 3 ms of the nested call. Stream b: 2 ms of that call,
    // which lasts from its start on b to its end on a, 4 ms.
    assert_eq!(exclusive(&profile, ["first"]), [(1, MS)]);
    assert_eq!(durations(&profile, "on_both"), (4 * MS, 4 * MS));
    // Of its parts of the two streams the larger.
    assert_eq!(exclusive(&profile, ["on_both"]), [(1, 3 * MS)]);
    let around = function(&profile, "without_stream");
    assert_eq!(around.gpu_nested_ns, 4 * MS);
    assert!(!around.gpu_overlaps);
}

fn a_call_nested_on_one_of_several_streams_is_subtracted() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    on_both(&a, &b, || {
        w.gpu.kernel_on(&a, 3 * MS);
        w.gpu.kernel_on(&b, 5 * MS);
        first(&b, || w.gpu.kernel_on(&b, 20 * MS));
    });
    let profile = w.finish(session);
    // On stream a 3 ms, and on stream b 5 ms, which is the larger part.
    let expected = [(1, 5 * MS), (1, 20 * MS)];
    assert_eq!(exclusive(&profile, ["on_both", "first"]), expected);
    assert_eq!(durations(&profile, "on_both"), (25 * MS, 25 * MS));
}

fn a_reset_inside_a_call_leaves_other_threads_their_times() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    for _ in 0..20 {
        on_two_threads(
            |meet| {
                first(s, || {
                    // Time for gpuprof to see that the call has begun, and then that it has no end.
                    thread::sleep(Duration::from_millis(2));
                    gpuprof::reset();
                });
                meet();
                meet();
            },
            |meet| {
                meet();
                second(s, || w.gpu.kernel_on(s, 3 * MS));
                meet();
            },
        );
        s.synchronize().expect("synchronize");
    }
    let profile = w.finish(session);
    assert_eq!(exclusive(&profile, ["second"]), [(1, 3 * MS)]);
    assert_eq!(function(&profile, "first").untimed.crossed_reset, 1);
}
