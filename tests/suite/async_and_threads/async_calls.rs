//! Promise: a call of an async function is one span. Its CPU time is the sum of its polls, and its
//! wall time is reported separately, however and on whatever thread it is polled.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Mode, Profile, Session, gpu_profile};
use support::executor::{pause, poll, run};
use support::profile_lookups::local_name;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        polls_add_up,
        a_cancelled_call_counts_once,
        a_call_that_changes_threads_stays_where_it_began,
        a_call_inside_a_call,
        interleaved_calls_do_not_mix,
        every_form_is_watched_through_its_future,
        a_per_thread_stream_is_another_one_on_another_thread,
        what_runs_on_another_threads_stream_is_not_taken_from_the_time_here,
        a_panic_in_a_poll_ends_the_call,
        what_could_be_sent_still_can,
    ]],
);

/// The wall time of all calls of the function of this name.
fn wall(profile: &Profile, name: &str) -> u64 {
    let wall = function(profile, name).wall.as_ref();
    wall.expect("an async function has a wall time").total_ns
}

/// `(name, parent's name, calls)` of each node of the call tree, sorted.
fn tree(profile: &Profile) -> Vec<(&str, Option<&str>, u64)> {
    let name = |id| {
        profile
            .tree
            .iter()
            .find(|node| node.id == id)
            .map(|node| local_name(&node.name))
    };
    let mut nodes: Vec<_> = profile
        .tree
        .iter()
        .map(|node| {
            (
                local_name(&node.name),
                node.parent.and_then(name),
                node.calls,
            )
        })
        .collect();
    nodes.sort();
    nodes
}

#[gpu_profile]
async fn steps(w: &World, stream: &Arc<CudaStream>, count: u32) -> u32 {
    for _ in 0..count {
        w.cpu(100);
        w.gpu.kernel_on(stream, 1_000);
        pause().await;
    }
    w.cpu(50);
    count
}

fn polls_add_up() {
    let w = world();
    w.warm_up(|| assert_eq!(run(&w, steps(&w, &w.gpu.stream, 1), 1_000), 1));
    let records = || {
        let before = w.sim.calls_here("cuEventRecord");
        assert_eq!(run(&w, steps(&w, &w.gpu.stream, 5), 1_000), 5);
        w.sim.calls_here("cuEventRecord") - before
    };
    let off = Session::builder()
        .mode(Mode::Off)
        .start()
        .expect("no other session is open");
    let cudarcs_own = records();
    drop(off);
    w.gpu.stream.synchronize().expect("synchronize");
    let session = w.session();
    assert_eq!(
        records() - cudarcs_own,
        2,
        "one at the start and one at the end"
    );
    let profile = w.finish(session);

    assert!(function(&profile, "steps").is_async);
    assert_eq!(
        cpu_times(&profile, "steps"),
        (1, 5 * 100 + 50, 5 * 100 + 50)
    );
    assert_eq!(wall(&profile, "steps"), 5 * (100 + 1_000) + 50);
    // From the start of the first poll to the end of the last: the stream is idle between polls.
    assert_eq!(
        gpu_times(&profile, "steps"),
        (1, 5 * (100 + 1_000) + 50, 5 * (100 + 1_000) + 50)
    );
}

fn a_cancelled_call_counts_once() {
    let w = world();
    let session = w.session();
    {
        let mut future = Box::pin(steps(&w, &w.gpu.stream, 5));
        assert_eq!(poll(future.as_mut()), Poll::Pending);
        w.cpu(700);
        assert_eq!(poll(future.as_mut()), Poll::Pending);
        w.cpu(300);
    }
    // Never polled, so its body never began.
    drop(steps(&w, &w.gpu.stream, 5));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "steps"), (1, 200, 200));
    assert_eq!(wall(&profile, "steps"), 100 + 700 + 100 + 300);
    // The second kernel waits for the first, which began at 100.
    assert_eq!(gpu_times(&profile, "steps"), (1, 2_100, 2_100));
    assert_eq!(profile.diagnostics.calls, 1);
}

#[gpu_profile(cpu)]
fn caller(w: &World, poll: impl FnOnce()) {
    w.cpu(10);
    poll();
}

#[gpu_profile]
async fn moves(w: &World, stream: &Arc<CudaStream>) {
    leaf(w);
    pause().await;
    w.cpu(40);
    leaf(w);
    w.gpu.kernel_on(stream, 2_000);
}

#[gpu_profile]
fn leaf(w: &World) {
    w.cpu(5);
}

fn a_call_that_changes_threads_stays_where_it_began() {
    let w = world();
    let session = w.session();
    let mut future = Box::pin(moves(&w, &w.gpu.stream));
    caller(&w, || assert!(poll(future.as_mut()).is_pending()));
    thread::scope(|scope| {
        scope.spawn(|| assert!(poll(future.as_mut()).is_ready()));
    });
    let profile = w.finish(session);

    let expected = [
        ("caller", None, 1),
        ("leaf", Some("moves"), 2),
        ("moves", Some("caller"), 1),
    ];
    assert_eq!(tree(&profile), expected);
    assert_eq!(
        (
            function(&profile, "moves").threads,
            function(&profile, "leaf").threads
        ),
        (1, 2)
    );
    // The first poll is nested in the caller; the second is not.
    assert_eq!(cpu_times(&profile, "caller"), (1, 15, 10));
    assert_eq!(cpu_times(&profile, "moves"), (1, 50, 40));
    assert_eq!(cpu_times(&profile, "leaf"), (2, 10, 10));
    assert_eq!(gpu(&profile, "moves").timed_calls, 1);
    // Nested spans inherit the call's stream, on both threads.
    assert_eq!(gpu(&profile, "leaf").timed_calls, 2);
}

#[gpu_profile]
async fn outside(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(30);
    steps(w, stream, 2).await;
    w.cpu(7);
}

fn a_call_inside_a_call() {
    let w = world();
    let session = w.session();
    run(&w, outside(&w, &w.gpu.stream), 5_000);
    let profile = w.finish(session);
    assert_eq!(
        tree(&profile),
        [("outside", None, 1), ("steps", Some("outside"), 1)]
    );
    assert_eq!(cpu_times(&profile, "outside"), (1, 30 + 250 + 7, 30 + 7));
    assert_eq!(cpu_times(&profile, "steps"), (1, 250, 250));
    assert_eq!(wall(&profile, "outside"), 10_000 + 30 + 250 + 7);
    assert_eq!(wall(&profile, "steps"), 10_000 + 250);
    let (inner, outer) = (gpu_times(&profile, "steps"), gpu_times(&profile, "outside"));
    assert_eq!((inner, outer), ((1, 10_250, 10_250), (1, 10_287, 37)));
}

#[gpu_profile(cpu)]
async fn ticks(w: &World, ns: u64) {
    for _ in 0..3 {
        w.cpu(ns);
        pause().await;
    }
}

#[gpu_profile(cpu)]
async fn tocks(w: &World, ns: u64) {
    for _ in 0..3 {
        w.cpu(ns);
        pause().await;
    }
}

/// Polls both in turn until both are done, as `join!` does.
#[gpu_profile(cpu)]
async fn both(w: &World) {
    let (mut a, mut b) = (Box::pin(ticks(w, 10)), Box::pin(tocks(w, 1_000)));
    let (mut a_done, mut b_done) = (false, false);
    poll_fn(|cx| {
        a_done = a_done || a.as_mut().poll(cx).is_ready();
        b_done = b_done || b.as_mut().poll(cx).is_ready();
        if a_done && b_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

fn interleaved_calls_do_not_mix() {
    let w = world();
    let session = w.session();
    run(&w, both(&w), 5);
    let profile = w.finish(session);
    assert_eq!(
        tree(&profile),
        [
            ("both", None, 1),
            ("ticks", Some("both"), 1),
            ("tocks", Some("both"), 1)
        ]
    );
    assert_eq!(cpu_times(&profile, "ticks"), (1, 30, 30));
    assert_eq!(cpu_times(&profile, "tocks"), (1, 3_000, 3_000));
    assert_eq!(cpu_times(&profile, "both"), (1, 3_030, 0));
    assert_eq!(wall(&profile, "both"), 3_030 + 3 * 5);
    assert_eq!(profile.diagnostics.misnested, 0);
}

#[async_trait::async_trait]
trait Layer {
    async fn forward(&self, w: &World) -> u32;
}

struct Conv;

#[async_trait::async_trait]
#[gpu_profile(cpu)]
impl Layer for Conv {
    async fn forward(&self, w: &World) -> u32 {
        w.cpu(100);
        pause().await;
        w.cpu(100);
        1
    }
}

#[gpu_profile(cpu)]
fn boxed(w: &World) -> Pin<Box<dyn Future<Output = u32> + Send + '_>> {
    Box::pin(async move {
        w.cpu(100);
        pause().await;
        w.cpu(100);
        2
    })
}

#[gpu_profile(cpu)]
fn opaque(w: &World) -> impl Future<Output = u32> + Send {
    async move {
        w.cpu(100);
        pause().await;
        w.cpu(100);
        3
    }
}

fn every_form_is_watched_through_its_future() {
    let w = world();
    let session = w.session();
    assert_eq!(run(&w, Conv.forward(&w), 1_000), 1);
    assert_eq!(run(&w, boxed(&w), 1_000), 2);
    assert_eq!(run(&w, opaque(&w), 1_000), 3);
    let profile = w.finish(session);
    for name in [
        "<async_calls::Conv as async_calls::Layer>::forward",
        "boxed",
        "opaque",
    ] {
        assert_eq!(cpu_times(&profile, name), (1, 200, 200), "{name}");
        assert_eq!(wall(&profile, name), 1_200, "{name}");
        assert!(function(&profile, name).is_async, "{name}");
    }
}

fn a_per_thread_stream_is_another_one_on_another_thread() {
    let w = world();
    let stream = w.gpu.context.per_thread_stream();
    let session = w.session();
    run(&w, moves(&w, &stream), 0);
    let mut future = Box::pin(moves(&w, &stream));
    assert!(poll(future.as_mut()).is_pending());
    thread::scope(|scope| {
        scope.spawn(|| assert!(poll(future.as_mut()).is_ready()));
    });
    drop(future);
    let profile = w.finish(session);
    let moves = function(&profile, "moves");
    assert_eq!((moves.calls, gpu(&profile, "moves").timed_calls), (2, 1));
    assert_eq!((moves.untimed_calls, moves.untimed.stream_unsafe), (1, 1));
}

#[gpu_profile]
async fn around_launches(w: &World, stream: &Arc<CudaStream>, ns: [u64; 3]) {
    for ns in ns {
        launches(w, stream, ns);
        pause().await;
    }
    w.gpu.kernel_on(stream, 50_000);
}

#[gpu_profile]
fn launches(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

fn what_runs_on_another_threads_stream_is_not_taken_from_the_time_here() {
    let w = world();
    let stream = w.gpu.context.per_thread_stream();
    let session = w.session();
    // The clock stands still, so only kernels are between two events.
    let mut future = Box::pin(around_launches(&w, &stream, [1_000, 20_000, 300]));
    assert!(poll(future.as_mut()).is_pending());
    thread::scope(|scope| {
        scope.spawn(|| assert!(poll(future.as_mut()).is_pending()));
    });
    assert!(poll(future.as_mut()).is_pending());
    assert!(poll(future.as_mut()).is_ready());
    drop(future);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "launches"), (3, 21_300, 21_300));
    // On the call's own stream: 1,300 in nested spans and 50,000 of its own. The other 20,000 are
    // on another stream.
    assert_eq!(gpu_times(&profile, "around_launches"), (1, 51_300, 50_000));
}

#[gpu_profile(cpu)]
async fn fails(w: &World) {
    w.cpu(20);
    pause().await;
    w.cpu(20);
    panic!("as planned");
}

fn a_panic_in_a_poll_ends_the_call() {
    let w = world();
    let session = w.session();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&w, fails(&w), 0)));
    assert!(panicked.is_err());
    leaf(&w);
    let profile = w.finish(session);
    assert_eq!(tree(&profile), [("fails", None, 1), ("leaf", None, 1)]);
    assert_eq!(cpu_times(&profile, "fails"), (1, 40, 40));
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn what_could_be_sent_still_can() {
    fn send(_future: impl Send) {}
    let w = world();
    let session = w.session();
    send(steps(&w, &w.gpu.stream, 1));
    send(moves(&w, &w.gpu.stream));
    send(outside(&w, &w.gpu.stream));
    send(both(&w));
    send(Conv.forward(&w));
    send(opaque(&w));
    drop(w.finish(session));
}
