//! Promise: a call of a function that returns a boxed future begins at the future's first poll. A
//! future that is never polled is no call. It may be made, begun and polled on different threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::executor::{pause, poll, run};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_boxed_future_is_a_call_from_its_first_poll_on,
        one_that_is_first_polled_on_another_thread_is_timed,
        a_call_in_a_poll_on_another_thread_is_nested,
    ]],
);

/// A plain function that makes its future at the call; the future does not own the stream.
#[gpu_profile]
fn made_at_the_call<'a>(
    w: &'a World,
    _stream: &Arc<CudaStream>,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        w.cpu(100);
        w.gpu.kernel(1_000);
        pause().await;
    })
}

fn a_boxed_future_is_a_call_from_its_first_poll_on() {
    let w = world();
    let session = w.session();
    // A future that is never polled is no call.
    drop(made_at_the_call(&w, &w.gpu.stream));
    let future = made_at_the_call(&w, &w.gpu.stream);
    w.cpu(700);
    run(&w, future, 5);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "made_at_the_call"), (1, 100, 100));
    let wall = function(&profile, "made_at_the_call").wall.as_ref();
    assert_eq!(wall.map(|wall| wall.total_ns), Some(105));
    // The stream is idle for 100, then the kernel runs for 1,000.
    assert_eq!(gpu_times(&profile, "made_at_the_call"), (1, 1_100, 1_100));
}

fn one_that_is_first_polled_on_another_thread_is_timed() {
    let w = world();
    let session = w.session();
    let future = made_at_the_call(&w, &w.gpu.stream);
    w.cpu(700);
    thread::scope(|scope| {
        scope.spawn(|| run(&w, future, 5));
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "made_at_the_call"), (1, 100, 100));
    assert_eq!(gpu_times(&profile, "made_at_the_call"), (1, 1_100, 1_100));
}

/// Launches nothing itself.
#[gpu_profile]
async fn begun_elsewhere(w: &World, stream: &Arc<CudaStream>) {
    pause().await;
    nested(w, stream);
}

#[gpu_profile]
fn nested(w: &World, _stream: &Arc<CudaStream>) {
    w.gpu.kernel(1_000);
}

#[gpu_profile]
fn before(_stream: &Arc<CudaStream>) {}

fn a_call_in_a_poll_on_another_thread_is_nested() {
    let w = world();
    let stream = &w.gpu.stream;
    let session = w.session();
    let barrier = Barrier::new(2);
    let future = Mutex::new(Box::pin(begun_elsewhere(&w, stream)));
    let poll_here = || poll(future.lock().expect("no panic").as_mut());
    thread::scope(|scope| {
        scope.spawn(|| {
            // The thread that polls has used the stream first, and no time passes between the
            // start of the future and that of the call in it.
            before(stream);
            barrier.wait();
            barrier.wait();
            assert!(poll_here().is_ready());
        });
        barrier.wait();
        assert!(poll_here().is_pending());
        barrier.wait();
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "nested"), (1, 1_000, 1_000));
    assert_eq!(gpu_times(&profile, "begun_elsewhere"), (1, 1_000, 0));
}
