//! Promise: without CUPTI a device is busy while at least one GPU span is open on it, however many
//! streams the spans are on.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::GpuBusy;
use gpuprof::{Profile, Session, gpu_profile};
use support::executor::{join, pause, poll, run};
use support::suite::Module;
use support::tests;
use support::{Gpu, World, gpu, one_in, until, world, world_with};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_program_without_a_gpu_span_has_no_busy_device,
        nested_spans_on_one_stream_count_once,
        spans_of_two_streams_count_once,
        a_second_stream_that_comes_later_adds_its_time,
        a_span_around_thousands_on_another_stream_counts_once,
        a_call_on_two_streams_is_open_from_its_first_start_to_its_last_end,
        each_device_has_its_own_time,
        a_call_on_two_devices_inside_a_span_of_one_counts_once,
        joined_futures_on_one_stream_count_once,
        a_future_that_outlasts_the_call_around_it_counts_once,
        spans_that_overlap_when_a_second_stream_comes_count_once,
        a_span_that_has_not_ended_counts_with_what_is_nested_in_it,
        a_reset_begins_at_zero,
        sampled_spans_of_one_stream_have_an_interval,
        sampled_spans_of_two_streams_give_an_upper_bound,
        sampled_futures_that_overlap_give_an_upper_bound,
        one_stream_costs_no_driver_call_and_two_one_for_each_outermost_span,
    ]],
);

const MS: u64 = 1_000_000;

#[gpu_profile]
fn kernel(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(stream = [a, b])]
fn on_both(a: &Arc<CudaStream>, b: &Arc<CudaStream>, inside: impl FnOnce()) {
    let _ = (a, b);
    inside();
}

/// Begins in its first poll, launches in the second and ends in the third.
#[gpu_profile]
async fn request(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    pause().await;
    w.gpu.kernel_on(stream, ns);
    pause().await;
}

/// `(device, busy time, is an upper bound)` of each device; all are without an interval.
fn exact(profile: &Profile) -> Vec<(u32, u64, bool)> {
    let row = |busy: &GpuBusy| {
        assert_eq!((busy.busy_ci95_ns, busy.records), (None, None));
        (busy.device, busy.busy_ns, busy.is_upper_bound)
    };
    profile.gpu_busy.iter().map(row).collect()
}

/// Longer than all spans of a test, so that the wall time bounds no sum of them.
fn idle(w: &World) {
    w.synchronize();
    w.cpu(100 * MS);
}

fn a_program_without_a_gpu_span_has_no_busy_device() {
    #[gpu_profile(cpu)]
    fn computes(w: &World) {
        w.cpu(MS);
    }
    let w = world();
    let session = w.session();
    computes(&w);
    assert_eq!(exact(&w.finish(session)), []);
}

fn nested_spans_on_one_stream_count_once() {
    let w = world();
    let stream = &w.gpu.stream;
    let session = w.session();
    idle(&w);
    around(stream, || {
        kernel(&w.gpu, stream, 4 * MS);
        kernel(&w.gpu, stream, 2 * MS);
        w.gpu.kernel(MS);
    });
    w.synchronize();
    // Nothing runs.
    w.cpu(5 * MS);
    kernel(&w.gpu, stream, 3 * MS);
    let profile = w.finish(session);
    assert_eq!(exact(&profile), [(0, 10 * MS, false)]);
    assert_eq!(profile.wall_ns, 115 * MS);
}

fn spans_of_two_streams_count_once() {
    let w = world();
    let other = w.gpu.another_stream();
    let session = w.session();
    idle(&w);
    kernel(&w.gpu, &w.gpu.stream, 10 * MS);
    kernel(&w.gpu, &other, 4 * MS);
    w.settle();
    w.cpu(MS);
    // From 0 to 3 and from 1 to 6 ms.
    kernel(&w.gpu, &other, 3 * MS);
    w.cpu(MS);
    kernel(&w.gpu, &w.gpu.stream, 5 * MS);
    let profile = w.finish(session);
    assert_eq!(exact(&profile), [(0, 16 * MS, false)]);
    assert_eq!(profile.wall_ns, 117 * MS);
    assert_eq!(gpu(&profile, "kernel").times.total_ns, 22 * MS);
}

fn a_second_stream_that_comes_later_adds_its_time() {
    let w = world();
    let session = w.session();
    idle(&w);
    kernel(&w.gpu, &w.gpu.stream, 2 * MS);
    w.settle();
    let other = w.gpu.another_stream();
    around(&other, || {
        kernel(&w.gpu, &w.gpu.stream, 3 * MS);
        w.gpu.kernel_on(&other, 4 * MS);
    });
    assert_eq!(exact(&w.finish(session)), [(0, 6 * MS, false)]);
}

fn a_span_around_thousands_on_another_stream_counts_once() {
    let w = world();
    let other = w.gpu.another_stream();
    let session = w.session();
    around(&other, || {
        for _ in 0..600 {
            kernel(&w.gpu, &w.gpu.stream, MS);
            w.settle();
            w.cpu(MS);
        }
        w.gpu.kernel_on(&other, MS);
    });
    assert_eq!(exact(&w.finish(session)), [(0, 1_201 * MS, false)]);
}

fn a_call_on_two_streams_is_open_from_its_first_start_to_its_last_end() {
    let w = world();
    let (a, b) = (w.gpu.stream.clone(), w.gpu.another_stream());
    let session = w.session();
    idle(&w);
    around(&a, || {
        on_both(&a, &b, || {
            w.gpu.kernel_on(&a, 2 * MS);
            w.gpu.kernel_on(&b, 7 * MS);
        });
        w.gpu.kernel_on(&a, MS);
    });
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "on_both").times.total_ns, 7 * MS);
    assert_eq!(exact(&profile), [(0, 7 * MS, false)]);
}

fn two_devices() -> (World, Gpu) {
    let w = world_with(2);
    let second = Gpu::new(w.sim, 1);
    (w, second)
}

fn finish_both(w: &World, second: &Gpu, session: Session) -> Profile {
    second.context.synchronize().expect("synchronize");
    w.finish(session)
}

fn each_device_has_its_own_time() {
    let (w, second) = two_devices();
    let other = second.another_stream();
    let session = w.session();
    idle(&w);
    kernel(&w.gpu, &w.gpu.stream, 3 * MS);
    kernel(&second, &second.stream, 5 * MS);
    kernel(&second, &other, 8 * MS);
    let profile = finish_both(&w, &second, session);
    assert_eq!(exact(&profile), [(0, 3 * MS, false), (1, 8 * MS, false)]);
}

fn a_call_on_two_devices_inside_a_span_of_one_counts_once() {
    let (w, second) = two_devices();
    let session = w.session();
    idle(&w);
    around(&w.gpu.stream, || {
        on_both(&w.gpu.stream, &second.stream, || {
            w.gpu.kernel(2 * MS);
            second.kernel(6 * MS);
        });
        w.gpu.kernel(MS);
    });
    let profile = finish_both(&w, &second, session);
    assert_eq!(exact(&profile), [(0, 3 * MS, false), (1, 6 * MS, false)]);
}

fn joined_futures_on_one_stream_count_once() {
    let w = world();
    let session = w.session();
    idle(&w);
    let stream = &w.gpu.stream;
    let all = (0..4).map(|_| request(&w, stream, 2 * MS)).collect();
    run(&w, join(all), 0);
    let profile = w.finish(session);
    // Each is open for all four kernels.
    assert_eq!(gpu(&profile, "request").times.total_ns, 32 * MS);
    assert_eq!(exact(&profile), [(0, 8 * MS, false)]);
}

fn a_future_that_outlasts_the_call_around_it_counts_once() {
    let w = world();
    let session = w.session();
    idle(&w);
    let stream = &w.gpu.stream;
    let mut future = Box::pin(request(&w, stream, 4 * MS));
    around(stream, || {
        assert!(poll(future.as_mut()).is_pending());
        w.gpu.kernel(MS);
    });
    assert!(poll(future.as_mut()).is_pending());
    assert!(poll(future.as_mut()).is_ready());
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "request").times.total_ns, 5 * MS);
    assert_eq!(exact(&profile), [(0, 5 * MS, false)]);
}

fn spans_that_overlap_when_a_second_stream_comes_count_once() {
    let w = world();
    let session = w.session();
    let stream = &w.gpu.stream;
    let mut futures = [3, 4].map(|ms| Box::pin(request(&w, stream, ms * MS)));
    for future in &mut futures {
        assert!(poll(future.as_mut()).is_pending());
    }
    let [first, second] = &mut futures;
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(first.as_mut()).is_ready());
    w.settle();
    kernel(&w.gpu, &w.gpu.another_stream(), MS);
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_ready());
    idle(&w);
    assert_eq!(exact(&w.finish(session)), [(0, 7 * MS, false)]);
}

fn a_span_that_has_not_ended_counts_with_what_is_nested_in_it() {
    let w = world();
    let session = w.session();
    let stream = &w.gpu.stream;
    // Another one of its path.
    around(stream, || kernel(&w.gpu, stream, MS));
    w.settle();
    around(stream, || {
        for _ in 0..3 {
            around(stream, || kernel(&w.gpu, stream, 2 * MS));
            w.synchronize();
            w.cpu(MS);
        }
        let busy = |profile: Profile| exact(&profile).first().map(|busy| busy.1);
        // Of the open call nothing is known but that of the calls inside it.
        until(|| busy(session.snapshot()) == Some(7 * MS));
    });
    assert_eq!(exact(&w.finish(session)), [(0, 10 * MS, false)]);
}

fn a_reset_begins_at_zero() {
    let w = world();
    let other = w.gpu.another_stream();
    let session = w.session();
    kernel(&w.gpu, &w.gpu.stream, 3 * MS);
    kernel(&w.gpu, &other, 3 * MS);
    w.settle();
    gpuprof::reset();
    assert_eq!(exact(&gpuprof::collect()), []);
    kernel(&w.gpu, &other, 2 * MS);
    kernel(&w.gpu, &w.gpu.stream, MS);
    let profile = w.finish(session);
    assert_eq!(
        (exact(&profile), profile.wall_ns),
        (vec![(0, 2 * MS, false)], 2 * MS)
    );
}

fn sampled_spans_of_one_stream_have_an_interval() {
    let w = world();
    let session = Session::builder()
        .sampling(one_in(2))
        .start()
        .expect("start");
    for call in 0..100 {
        around(&w.gpu.stream, || {
            kernel(&w.gpu, &w.gpu.stream, MS + call * 1_000);
        });
    }
    idle(&w);
    let profile = w.finish(session);
    let outermost = gpu(&profile, "around");
    let half = outermost
        .estimate
        .as_ref()
        .and_then(|one| one.total_ci95_ns);
    let busy = profile.gpu_busy[0];
    assert_eq!(
        (busy.busy_ns, busy.busy_ci95_ns, busy.is_upper_bound),
        (outermost.times.total_ns, half, false)
    );
    assert!(half > Some(MS / 10), "{half:?}");
}

fn sampled_spans_of_two_streams_give_an_upper_bound() {
    let w = world();
    let other = w.gpu.another_stream();
    let session = Session::builder()
        .sampling(one_in(2))
        .start()
        .expect("start");
    for _ in 0..100 {
        kernel(&w.gpu, &w.gpu.stream, MS);
        kernel(&w.gpu, &other, MS);
        w.synchronize();
        w.cpu(MS / 2);
    }
    let profile = w.finish(session);
    let [busy] = profile.gpu_busy[..] else {
        panic!("{:?}", profile.gpu_busy)
    };
    // The sum over both streams would be 200 ms.
    assert_eq!((busy.busy_ns, profile.wall_ns), (150 * MS, 150 * MS));
    assert!(
        busy.is_upper_bound && busy.busy_ci95_ns.is_some(),
        "{busy:?}"
    );
}

fn sampled_futures_that_overlap_give_an_upper_bound() {
    let w = world();
    let session = Session::builder()
        .sampling(one_in(2))
        .start()
        .expect("start");
    for _ in 0..50 {
        let all = (0..4).map(|_| request(&w, &w.gpu.stream, MS)).collect();
        run(&w, join(all), 0);
        idle(&w);
    }
    let profile = w.finish(session);
    let busy = profile.gpu_busy[0];
    assert!(busy.is_upper_bound && busy.busy_ns >= 200 * MS, "{busy:?}");
}

fn one_stream_costs_no_driver_call_and_two_one_for_each_outermost_span() {
    let w = world();
    w.warm_up(|| kernel(&w.gpu, &w.gpu.stream, MS));
    let elapsed_times = |streams: [&Arc<CudaStream>; 2]| {
        let session = w.session();
        let before = w.sim.calls("cuEventElapsedTime_v2");
        for stream in streams {
            around(stream, || kernel(&w.gpu, stream, MS));
        }
        w.finish(session);
        w.sim.calls("cuEventElapsedTime_v2") - before
    };
    let (one, other) = (&w.gpu.stream, &w.gpu.another_stream());
    assert_eq!(elapsed_times([one, one]), 4);
    // One of the two outermost spans begins the clock.
    assert_eq!(elapsed_times([one, other]), 5);
    assert_eq!(elapsed_times([one, other]), 6);
}
