//! Promise: exclusive times add up to the time for which a stream was covered, also where a nested
//! call goes untimed at its end, and where one stream has two owners of its context.

use std::sync::{Arc, Barrier};
use std::thread;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::{CudaContext, CudaStream};
use gpuprof::gpu_profile;
use support::executor::{pause, poll};
use support::graph_capture::CAPTURE_MODE;
use support::suite::Module;
use support::tests;
use support::{function, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        the_time_of_a_nested_call_that_goes_untimed_is_shared_once,
        calls_nested_on_one_stream_of_two_owners_are_subtracted,
        what_a_poll_runs_is_nested_in_the_future_or_in_the_call_around_the_poll,
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

#[gpu_profile]
fn fourth(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
async fn begun_in_first(_stream: &Arc<CudaStream>, later: impl FnOnce()) {
    pause().await;
    later();
}

fn the_time_of_a_nested_call_that_goes_untimed_is_shared_once() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            second(s, || {
                barrier.wait();
                barrier.wait();
            });
        });
        barrier.wait();
        first(s, || {
            w.gpu.kernel_on(s, 2 * MS);
            third(s, || {
                w.gpu.kernel_on(s, 4 * MS);
                fourth(s, || w.gpu.kernel_on(s, 2 * MS));
                s.begin_capture(CAPTURE_MODE).expect("begin");
            });
            s.end_capture(Flags(0)).expect("the capture is valid");
            w.gpu.kernel_on(s, 8 * MS);
        });
        barrier.wait();
    });
    let profile = w.finish(session);
    // Half of each part is the second call's; the third call's part is the first call's.
    assert_eq!(gpu_times(&profile, "second"), (1, 16 * MS, 8 * MS));
    assert_eq!(gpu_times(&profile, "first"), (1, 16 * MS, 7 * MS));
    assert_eq!(gpu_times(&profile, "fourth"), (1, 2 * MS, MS));
    assert_eq!(function(&profile, "third").captured_calls, 1);
}

fn calls_nested_on_one_stream_of_two_owners_are_subtracted() {
    let w = world();
    let (one, two) = (&w.gpu.context, CudaContext::new(0).expect("context"));
    let default = (one.default_stream(), two.default_stream());
    let per_thread = (one.per_thread_stream(), two.per_thread_stream());
    for (a, b) in [per_thread, default] {
        let session = w.session();
        // No time passes from here to the start of the nested call.
        second(&b, || ());
        first(&a, || {
            second(&b, || w.gpu.kernel_on(&b, 5 * MS));
            w.gpu.kernel_on(&a, 3 * MS);
        });
        let profile = w.finish(session);
        assert_eq!(gpu_times(&profile, "second"), (2, 5 * MS, 5 * MS));
        assert_eq!(gpu_times(&profile, "first"), (1, 8 * MS, 3 * MS));
    }
}

/// The future is begun in one call and polled in another one.
fn what_a_poll_runs_is_nested_in_the_future_or_in_the_call_around_the_poll() {
    let w = world();
    let (a, b) = (&w.gpu.stream, &w.gpu.another_stream());
    let session = w.session();
    let mut future = Box::pin(begun_in_first(a, || {
        third(a, || w.gpu.kernel_on(a, 2 * MS));
        fourth(b, || w.gpu.kernel_on(b, 5 * MS));
    }));
    first(a, || {
        assert!(poll(future.as_mut()).is_pending());
        w.gpu.kernel_on(a, MS);
    });
    second(b, || {
        w.gpu.kernel_on(b, 3 * MS);
        assert!(poll(future.as_mut()).is_ready());
    });
    let profile = w.finish(session);
    // On stream a in the future, whose time before that is nested in the call that it began in.
    assert_eq!(gpu_times(&profile, "third"), (1, 2 * MS, 2 * MS));
    assert_eq!(gpu_times(&profile, "begun_in_first"), (1, 3 * MS, MS));
    assert_eq!(gpu_times(&profile, "first"), (1, MS, 0));
    // On stream b in the call around the poll.
    assert_eq!(gpu_times(&profile, "fourth"), (1, 5 * MS, 5 * MS));
    assert_eq!(gpu_times(&profile, "second"), (1, 8 * MS, 3 * MS));
    // In the call tree both are the future's, and the future is in the call that it began in.
    for name in ["third", "fourth"] {
        assert_eq!(node(&profile, &["first", "begun_in_first", name]).calls, 1);
    }
}
