//! Promise: a thread may have any number of calls open and use any number of streams. Calls beyond
//! what it has room for are not timed, and are counted.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::executor::{pause, poll};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_keep_their_order_while_their_queue_grows,
        a_queue_that_is_full_leaves_calls_untimed,
        each_of_many_streams_of_a_thread_has_its_times,
        each_call_on_two_of_many_streams_is_one_call,
        calls_open_on_many_streams_at_once_have_their_times,
        a_future_has_its_time_though_its_thread_used_many_streams_since,
        a_future_that_a_reset_leaves_untimed_ends_on_another_thread,
        futures_that_ended_on_other_threads_take_no_room,
        a_future_that_outlasts_its_thread_has_its_time,
        a_future_dropped_while_its_thread_ends_shares_no_time_later,
    ]],
);

/// More than a thread keeps when it meets another one.
const STREAMS: usize = 200;

/// Kernel time, ns.
const NS: u64 = 1_000;

#[gpu_profile]
fn even(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    w.gpu.kernel_on(stream, NS);
    if depth > 0 {
        odd(w, stream, depth - 1);
    }
}

#[gpu_profile]
fn odd(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    w.gpu.kernel_on(stream, 2 * NS);
    if depth > 0 {
        even(w, stream, depth - 1);
    }
}

#[gpu_profile]
fn on(w: &World, stream: &Arc<CudaStream>, ns: u64, inside: impl FnOnce()) {
    w.gpu.kernel_on(stream, ns);
    inside();
}

#[gpu_profile]
fn inherits(launch: impl FnOnce()) {
    launch();
}

#[gpu_profile(stream = [a, b])]
fn on_both(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>) {
    w.gpu.kernel_on(a, NS);
    w.gpu.kernel_on(b, 3 * NS);
}

#[gpu_profile]
async fn later(w: &World, stream: Arc<CudaStream>) {
    w.gpu.kernel_on(&stream, NS);
    pause().await;
    w.gpu.kernel_on(&stream, 2 * NS);
}

/// `(calls, timed calls, exclusive time)` of the function.
fn exclusive(profile: &Profile, name: &str) -> (u64, u64, u64) {
    let gpu = gpu(profile, name);
    let calls = function(profile, name).calls;
    (calls, gpu.timed_calls, gpu.times.self_ns)
}

fn streams(w: &World) -> Vec<Arc<CudaStream>> {
    (0..STREAMS).map(|_| w.gpu.another_stream()).collect()
}

/// The queue to the resolver has room for 128 messages at first.
fn calls_keep_their_order_while_their_queue_grows() {
    const OPEN: u32 = 1_000;
    let w = world();
    let session = w.session();
    even(&w, &w.gpu.stream, OPEN - 1);
    even(&w, &w.gpu.stream, OPEN - 1);
    let profile = w.finish(session);
    let calls = u64::from(OPEN);
    assert_eq!(exclusive(&profile, "even"), (calls, calls, calls * NS));
    assert_eq!(exclusive(&profile, "odd"), (calls, calls, calls * 2 * NS));
    assert_eq!(gpu(&profile, "even").times.max_ns, calls / 2 * 3 * NS);
}

/// The queue has room for 16,384 messages, and a call that begins needs room for the ends of all
/// open ones.
fn a_queue_that_is_full_leaves_calls_untimed() {
    const OPEN: u32 = 16_500;
    let w = world();
    let session = w.session();
    let recursion = || {
        even(&w, &w.gpu.stream, OPEN - 1);
        on(&w, &w.gpu.stream, 5 * NS, || ());
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(1 << 30);
        let thread = thread.spawn_scoped(scope, recursion);
        thread.expect("a thread").join().expect("no panic");
    });
    let profile = w.finish(session);
    let [even, odd] = ["even", "odd"].map(|name| exclusive(&profile, name));
    assert_eq!((even.0, odd.0), (8_250, 8_250));
    // As many as the queue has room for, if the resolver takes each start at once, or half as many.
    let timed = even.1 + odd.1;
    assert!((8_000..16_384).contains(&timed), "{timed}");
    let untimed = &profile.diagnostics.untimed;
    assert_eq!(untimed.queue_full, u64::from(OPEN) - timed);
    // The innermost timed call has the time of those inside it.
    assert_eq!(even.2 + odd.2, 8_250 * 3 * NS);
    // There is room again.
    assert_eq!(gpu_times(&profile, "on"), (1, 5 * NS, 5 * NS));
}

fn each_of_many_streams_of_a_thread_has_its_times() {
    let w = world();
    let streams = streams(&w);
    let session = w.session();
    for _ in 0..3 {
        for stream in &streams {
            on(&w, stream, NS, || {
                inherits(|| w.gpu.kernel_on(stream, 2 * NS));
            });
        }
    }
    let profile = w.finish(session);
    let calls = 3 * STREAMS as u64;
    let times = gpu_times(&profile, "on");
    assert_eq!(times, (calls, calls * 3 * NS, calls * NS));
    let times = gpu_times(&profile, "inherits");
    assert_eq!(times, (calls, calls * 2 * NS, calls * 2 * NS));
    assert_eq!(function(&profile, "inherits").untimed_calls, 0);
}

/// The streams of a call are kept while others of the thread are not.
fn each_call_on_two_of_many_streams_is_one_call() {
    let w = world();
    let streams = streams(&w);
    let session = w.session();
    // So that what is kept is full between the two streams of a call.
    on(&w, &w.gpu.stream, NS, || ());
    for _ in 0..3 {
        for pair in streams.chunks(2) {
            on_both(&w, &pair[0], &pair[1]);
        }
        w.gpu.context.synchronize().expect("synchronize");
    }
    let profile = w.finish(session);
    let calls = 3 * STREAMS as u64 / 2;
    assert_eq!(function(&profile, "on_both").calls, calls);
    let times = gpu_times(&profile, "on_both");
    assert_eq!(times, (calls, calls * 3 * NS, calls * 3 * NS));
}

fn calls_open_on_many_streams_at_once_have_their_times() {
    fn nest(w: &World, streams: &[Arc<CudaStream>]) {
        if let [first, others @ ..] = streams {
            on(w, first, NS, || {
                nest(w, others);
                inherits(|| w.gpu.kernel_on(first, 2 * NS));
            });
        }
    }
    let w = world();
    let streams = streams(&w);
    let session = w.session();
    nest(&w, &streams);
    nest(&w, &streams);
    let profile = w.finish(session);
    let calls = 2 * STREAMS as u64;
    assert_eq!(exclusive(&profile, "on"), (calls, calls, calls * NS));
    let nested = exclusive(&profile, "inherits");
    assert_eq!(nested, (calls, calls, calls * 2 * NS));
}

fn a_future_has_its_time_though_its_thread_used_many_streams_since() {
    let w = world();
    let streams = streams(&w);
    let session = w.session();
    let mut here = Box::pin(later(&w, w.gpu.another_stream()));
    let mut there = Box::pin(later(&w, w.gpu.another_stream()));
    assert!(poll(here.as_mut()).is_pending() && poll(there.as_mut()).is_pending());
    streams.iter().for_each(|stream| on(&w, stream, NS, || ()));
    assert!(poll(here.as_mut()).is_ready());
    let end = || assert!(poll(there.as_mut()).is_ready());
    thread::scope(|scope| scope.spawn(end).join()).expect("no panic");
    w.cpu(100 * NS);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "later"), (2, 6 * NS, 6 * NS));
}

/// Its span is closed at the resolver: calls that follow do not share the stream with it.
fn a_future_that_a_reset_leaves_untimed_ends_on_another_thread() {
    let w = world();
    let session = w.session();
    for _ in 0..300 {
        let mut future = Box::pin(later(&w, Arc::clone(&w.gpu.stream)));
        assert!(poll(future.as_mut()).is_pending());
        gpuprof::reset();
        let end = || assert!(poll(future.as_mut()).is_ready());
        thread::scope(|scope| scope.spawn(end).join()).expect("no panic");
        on(&w, &w.gpu.stream, NS, || ());
    }
    let profile = w.finish(session);
    assert_eq!(function(&profile, "later").untimed.crossed_reset, 1);
    assert_eq!(gpu_times(&profile, "on"), (1, NS, NS));
    assert_eq!(function(&profile, "on").gpu_divided_calls, 0);
}

/// More of them than the queue of the thread that they began on ever has room for.
fn futures_that_ended_on_other_threads_take_no_room() {
    let w = world();
    let session = w.session();
    let begin = |_| {
        let mut future = Box::pin(later(&w, Arc::clone(&w.gpu.stream)));
        assert!(poll(future.as_mut()).is_pending());
        future
    };
    for _ in 0..20 {
        let mut futures: Vec<_> = (0..1_000).map(begin).collect();
        let end = || {
            let mut futures = futures.iter_mut();
            assert!(futures.all(|future| poll(future.as_mut()).is_ready()));
        };
        thread::scope(|scope| scope.spawn(end).join()).expect("no panic");
        w.gpu.context.synchronize().expect("synchronize");
        drop(gpuprof::collect());
    }
    let profile = w.finish(session);
    let timed = gpu(&profile, "later").timed_calls;
    assert_eq!((function(&profile, "later").calls, timed), (20_000, 20_000));
}

/// Has the resolver look at what has come.
fn let_it_look(w: &World, stream: &Arc<CudaStream>) {
    for _ in 0..3 {
        on(w, stream, NS, || ());
        w.gpu.context.synchronize().expect("synchronize");
        drop(gpuprof::collect());
    }
}

fn a_future_that_outlasts_its_thread_has_its_time() {
    let w = world();
    let other = w.gpu.another_stream();
    let session = w.session();
    let mut future = Box::pin(later(&w, Arc::clone(&w.gpu.stream)));
    let begin = || assert!(poll(future.as_mut()).is_pending());
    thread::scope(|scope| scope.spawn(begin).join()).expect("no panic");
    // For 3 × NS, the first of which is the time of the future's first kernel.
    let_it_look(&w, &other);
    assert!(poll(future.as_mut()).is_ready());
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "later"), (1, 5 * NS, 5 * NS));
}

/// Where gpuprof has already let go of the thread.
fn a_future_dropped_while_its_thread_ends_shares_no_time_later() {
    thread_local! {
        static LAST: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>> =
            const { RefCell::new(None) };
    }
    let w: &'static World = Box::leak(Box::new(world()));
    let other = w.gpu.another_stream();
    let session = w.session();
    let begin = || {
        // Initialized before gpuprof's thread-local, so that it is dropped after it.
        LAST.with(|_| ());
        let mut future = Box::pin(later(w, Arc::clone(&w.gpu.stream)));
        assert!(poll(future.as_mut()).is_pending());
        LAST.set(Some(future));
    };
    thread::scope(|scope| scope.spawn(begin).join()).expect("no panic");
    let_it_look(w, &other);
    on(w, &w.gpu.stream, NS, || ());
    w.gpu.context.synchronize().expect("synchronize");
    let profile = gpuprof::collect();
    assert_eq!(gpu_times(&profile, "on"), (4, 4 * NS, 4 * NS));
    assert_eq!(function(&profile, "on").gpu_divided_calls, 0);
    assert_eq!(profile.diagnostics.dropped, 1);
    drop(session);
}
