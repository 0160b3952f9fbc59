//! Promise: gpuprof holds a stream only while a call that owns the stream is open, and no call
//! uses a stream that may be gone.

use std::pin::Pin;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{gpu_profile, scope, with_stream};
use support::executor::{pause, poll, run};
use support::suite::Module;
use support::tests;
use support::{function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_stream_given_by_reference_is_held_neither_during_the_call_nor_after_it,
        a_stream_that_the_call_owns_is_held_until_its_end_and_no_longer,
        what_a_pattern_borrows_from_an_argument_is_held,
        an_async_call_owns_the_stream_that_it_inherits,
        a_scope_that_outlives_its_caller_does_not_touch_the_callers_stream,
        a_leaked_scope_passes_no_stream_on,
    ]],
);

/// CPU time of a call, ns.
const NS: u64 = 1_000;

#[gpu_profile]
fn owners(stream: &Arc<CudaStream>) -> usize {
    inherits(|| Arc::strong_count(stream))
}

#[gpu_profile]
async fn owners_in_a_future(stream: &Arc<CudaStream>) -> usize {
    pause().await;
    Arc::strong_count(stream)
}

#[gpu_profile]
fn inherits<R>(f: impl FnOnce() -> R) -> R {
    f()
}

fn a_stream_given_by_reference_is_held_neither_during_the_call_nor_after_it() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    assert_eq!(owners(&stream), 1);
    assert_eq!(run(&w, owners_in_a_future(&stream), NS), 1);
    assert_eq!(
        with_stream(&stream, || inherits(|| Arc::strong_count(&stream))),
        1
    );
    assert!(Arc::try_unwrap(stream).is_ok());
    let profile = w.finish(session);
    for (name, calls) in [("owners", 1), ("owners_in_a_future", 1), ("inherits", 2)] {
        assert_eq!(gpu_times(&profile, name).0, calls, "{name}");
    }
}

#[gpu_profile]
fn owns(stream: Arc<CudaStream>) -> (usize, Arc<CudaStream>) {
    (Arc::strong_count(&stream), stream)
}

fn a_stream_that_the_call_owns_is_held_until_its_end_and_no_longer() {
    let w = world();
    let session = w.session();
    let (owners, stream) = owns(w.gpu.another_stream());
    assert_eq!(owners, 2);
    assert!(Arc::try_unwrap(stream).is_ok());
    assert_eq!(gpu_times(&w.finish(session), "owns").0, 1);
}

#[gpu_profile]
async fn by_pattern((ref stream, _): (Arc<CudaStream>, u32)) -> usize {
    Arc::strong_count(stream)
}

#[gpu_profile(stream = stream)]
async fn by_pattern_stated((ref stream, _): (Arc<CudaStream>, u32)) -> usize {
    Arc::strong_count(stream)
}

/// The arguments of a future are gone when its span ends.
fn what_a_pattern_borrows_from_an_argument_is_held() {
    let w = world();
    let session = w.session();
    assert!(run(&w, by_pattern((w.gpu.another_stream(), 0)), NS) > 1);
    let stated = by_pattern_stated((w.gpu.another_stream(), 0));
    assert!(run(&w, stated, NS) > 1);
    let profile = w.finish(session);
    for name in ["by_pattern", "by_pattern_stated"] {
        assert_eq!(gpu_times(&profile, name).0, 1, "{name}");
    }
    assert_eq!(profile.diagnostics.errors, []);
}

#[gpu_profile]
async fn inherits_for_long() {
    pause().await;
}

#[gpu_profile]
fn polls<F: Future + ?Sized>(_stream: &Arc<CudaStream>, future: Pin<&mut F>) {
    let _ = poll(future);
}

/// On a stream that nothing can keep.
#[gpu_profile]
fn polls_on_bare<F: Future + ?Sized>(_stream: &CudaStream, future: Pin<&mut F>) {
    let _ = poll(future);
}

fn an_async_call_owns_the_stream_that_it_inherits() {
    let w = world();
    let session = w.session();
    let stream = w.gpu.another_stream();
    let mut future = Box::pin(inherits_for_long());
    polls(&stream, future.as_mut());
    assert_eq!(Arc::strong_count(&stream), 2);
    drop(stream);
    assert!(poll(future.as_mut()).is_ready());
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "inherits_for_long").0, 1);
    assert_eq!(profile.diagnostics.errors, []);
}

/// A future whose scope lasts for two polls.
fn a_scope_for_two_polls() -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async {
        scope!("for two polls");
        pause().await;
    })
}

fn a_scope_that_outlives_its_caller_does_not_touch_the_callers_stream() {
    let w = world();
    let session = w.session();
    for is_bare in [false, true] {
        let mut future = a_scope_for_two_polls();
        let stream = w.gpu.another_stream();
        if !is_bare {
            polls(&stream, future.as_mut())
        } else {
            polls_on_bare(&stream, future.as_mut())
        }
        assert!(Arc::try_unwrap(stream).is_ok());
        assert!(poll(future.as_mut()).is_ready());
    }
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.errors, []);
    let scope = function(&profile, "for two polls");
    assert_eq!((scope.calls, scope.untimed.stream_unsafe), (2, 2));
}

fn a_leaked_scope_passes_no_stream_on() {
    let w = world();
    let session = w.session();
    let mut future = a_scope_for_two_polls();
    let stream = w.gpu.another_stream();
    polls_on_bare(&stream, future.as_mut());
    std::mem::forget(future);
    drop(stream);
    inherits(|| w.cpu(NS));
    run(&w, inherits_for_long(), NS);
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.errors, []);
    for name in ["inherits", "inherits_for_long"] {
        assert_eq!(function(&profile, name).untimed.stream_unsafe, 1, "{name}");
    }
}
