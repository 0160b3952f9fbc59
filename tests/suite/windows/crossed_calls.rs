//! Promise: the time of a stream divides among the calls that are open on it, whatever windows they
//! began in; a call that crosses into another window has its share and is booked in neither.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_after_a_reset_are_nested_in_the_call_that_it_falls_into,
        a_call_after_a_reset_shares_its_stream_with_one_from_before,
        the_device_is_busy_for_a_nested_call_that_shares_with_a_crossed_one,
        a_call_that_is_nested_in_none_yet_counts_in_the_busy_time_as_a_whole,
    ]],
);

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn beside(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

/// Time for gpuprof to book what the GPU has done, while a call is open that will have no time.
const LOOKS: Duration = Duration::from_millis(40);

fn settle(w: &World) {
    w.gpu.context.synchronize().expect("synchronize");
    thread::sleep(LOOKS);
}

fn assert_crossed(profile: &Profile, name: &str) {
    let function = function(profile, name);
    assert_eq!(function.untimed.crossed_reset, 1);
    assert_eq!(function.gpu, None);
}

/// Executes `inside` while a call of `beside` is open on another thread.
fn with_call_beside(w: &World, inside: impl FnOnce()) {
    let ((entered, is_in), (go, go_on)) = (channel(), channel());
    // The ends of both channels are dropped if `inside` panics, so that the other thread ends.
    thread::scope(move |scope| {
        scope.spawn(move || {
            beside(&w.gpu.stream, || {
                entered.send(()).expect("the test waits");
                go_on.recv().ok();
            });
        });
        is_in.recv().expect("the thread answers");
        inside();
        go.send(()).expect("the thread waits");
    });
}

fn calls_after_a_reset_are_nested_in_the_call_that_it_falls_into() {
    let w = world();
    let session = w.session();
    around(&w.gpu.stream, || {
        gpuprof::reset();
        step(&w, &w.gpu.stream, 100);
        step(&w, &w.gpu.stream, 100);
        settle(&w);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "step"), (2, 2_100, 2_100));
    assert_eq!(function(&profile, "step").gpu_divided_calls, 0);
    assert_crossed(&profile, "around");
}

fn a_call_after_a_reset_shares_its_stream_with_one_from_before() {
    let w = world();
    let session = w.session();
    with_call_beside(&w, || {
        gpuprof::reset();
        step(&w, &w.gpu.stream, 100);
        settle(&w);
    });
    step(&w, &w.gpu.stream, 100);
    let profile = w.finish(session);
    // The first has half of its time, and the second, after the crossed call, all of it.
    assert_eq!(gpu_times(&profile, "step"), (2, 2_200, 1_650));
    assert_eq!(function(&profile, "step").gpu_divided_calls, 1);
    assert_crossed(&profile, "beside");
}

fn the_device_is_busy_for_a_nested_call_that_shares_with_a_crossed_one() {
    let w = world();
    let session = w.session();
    with_call_beside(&w, || {
        around(&w.gpu.stream, || {
            gpuprof::reset();
            step(&w, &w.gpu.stream, 100);
            settle(&w);
        });
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "step"), (1, 1_100, 550));
    assert_eq!(profile.gpu_busy[0].busy_ns, 1_100);
    assert_crossed(&profile, "around");
    assert_crossed(&profile, "beside");
}

fn a_call_that_is_nested_in_none_yet_counts_in_the_busy_time_as_a_whole() {
    let w = world();
    let session = w.session();
    with_call_beside(&w, || {
        around(&w.gpu.stream, || {
            step(&w, &w.gpu.stream, 100);
            settle(&w);
            let busy = |profile: &Profile| Some(profile.gpu_busy.first()?.busy_ns);
            until(|| busy(&session.snapshot()) == Some(1_100));
            gpuprof::reset();
        });
    });
    let profile = w.finish(session);
    assert_crossed(&profile, "around");
    assert_crossed(&profile, "beside");
}
