//! Promise: a call of a function that returns a boxed future begins at the future's first poll. A
//! future that is never polled is no call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::executor::{pause, run};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![a_boxed_future_is_a_call_from_its_first_poll_on,]],
);

/// A plain function that makes its future at the call; the future does not own the stream.
#[gpu_profile]
fn made_at_the_call<'a>(
    w: &'a World,
    _stream: &Arc<CudaStream>,
) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
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
