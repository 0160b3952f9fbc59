//! Promise: with sampling, counts are exact, nested spans are timed together with the spans around
//! them, and estimates are marked.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use gpuprof::{Sampling, Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu, node, one_in, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        counts_and_cpu_times_stay_exact_and_every_call_has_its_fate,
        about_one_call_in_n_is_timed,
        parents_and_children_are_timed_together,
        of_constant_durations_the_estimate_is_exact_and_marked,
        the_confidence_interval_is_that_of_a_random_sample,
        without_sampling_nothing_is_an_estimate,
        a_parents_self_time_is_right_although_its_child_is_sampled,
        sampling_of_a_span_between_weighs_what_is_inside_it,
        what_is_captured_inside_a_call_that_is_left_out_is_counted_as_captured,
        both_samplings_multiply,
        a_call_that_stands_alone_tells_nothing_of_the_spread,
        a_function_called_once_from_each_of_many_places_is_estimated_over_all_of_them,
        a_loop_whose_period_is_the_samplings_does_not_mislead_it,
        a_sum_of_what_is_inside_says_that_it_is_estimated,
    ]],
);

#[gpu_profile]
fn parent(w: &World, stream: &Arc<CudaStream>, children: u32) {
    w.cpu(7);
    w.gpu.kernel_on(stream, 500);
    for _ in 0..children {
        child(w, stream);
    }
}

#[gpu_profile]
fn child(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(3);
    w.gpu.kernel_on(stream, 100);
}

#[gpu_profile(sample = 5)]
fn rarely(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 100);
}

#[gpu_profile(sample = 4)]
fn rarely_around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(sample = 1)]
fn always(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 10);
}

#[gpu_profile]
fn varies(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn without_stream(inside: impl FnOnce()) {
    inside();
}

fn session(sample: u32) -> Session {
    Session::builder()
        .sampling(one_in(sample))
        .start()
        .expect("start")
}

/// Keeps the stream busy, so that no CPU time is between two events.
fn keep_busy(w: &World) {
    w.gpu.kernel(1_000_000);
}

fn counts_and_cpu_times_stay_exact_and_every_call_has_its_fate() {
    let w = world();
    let session = session(4);
    (0..1_000).for_each(|_| parent(&w, &w.gpu.stream, 2));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "parent"), (1_000, 13_000, 7_000));
    assert_eq!(cpu_times(&profile, "child"), (2_000, 6_000, 6_000));
    for (name, calls) in [("parent", 1_000), ("child", 2_000)] {
        let function = function(&profile, name);
        let timed = gpu(&profile, name).timed_calls;
        assert_eq!(timed + function.untimed.sampled_out, calls);
        assert_eq!(function.untimed_calls, function.untimed.sampled_out);
    }
    assert_eq!(profile.diagnostics.sampling, one_in(4));
}

fn about_one_call_in_n_is_timed() {
    let w = world();
    let session = session(10);
    (0..4_000).for_each(|_| child(&w, &w.gpu.stream));
    let profile = w.finish(session);
    let timed = gpu(&profile, "child").timed_calls;
    // Binomial distribution: 400 ± 19. A run is beyond eight standard deviations once in 10¹⁵.
    assert!(timed.abs_diff(400) < 8 * 19, "{timed} of 4000");
}

fn parents_and_children_are_timed_together() {
    let w = world();
    let session = session(3);
    keep_busy(&w);
    (0..600).for_each(|_| parent(&w, &w.gpu.stream, 3));
    let profile = w.finish(session);
    assert_eq!(
        gpu(&profile, "child").timed_calls,
        3 * gpu(&profile, "parent").timed_calls
    );
    // So a parent's self time is exactly its own kernel.
    let times = &gpu(&profile, "parent").times;
    assert_eq!((times.total_ns, times.self_ns), (600 * 800, 600 * 500));
    assert_eq!((times.min_ns, times.max_ns), (800, 800));
    let node = node(&profile, &["parent", "child"]);
    assert_eq!((node.calls, node.gpu_total_ns), (1_800, Some(180_000)));
}

fn of_constant_durations_the_estimate_is_exact_and_marked() {
    let w = world();
    let session = session(7);
    keep_busy(&w);
    (0..1_000).for_each(|_| child(&w, &w.gpu.stream));
    let profile = w.finish(session);
    let gpu = gpu(&profile, "child");
    assert_eq!((gpu.times.total_ns, gpu.times.self_ns), (100_000, 100_000));
    assert_eq!(gpu.estimate.as_ref().and_then(|e| e.total_ci95_ns), Some(0));
    // Measured times are not scaled.
    assert_eq!(gpu.timed_ns, 100 * gpu.timed_calls);
    assert_eq!((gpu.times.mean_ns, gpu.times.stddev_ns), (100, 0));
}

fn the_confidence_interval_is_that_of_a_random_sample() {
    let w = world();
    let session = session(4);
    keep_busy(&w);
    let truth: u64 = (0..2_000_u64)
        .map(|at| {
            let ns = 100 + at % 2 * 200;
            varies(&w, &w.gpu.stream, ns);
            ns
        })
        .sum();
    let profile = w.finish(session);
    let gpu = gpu(&profile, "varies");
    let half = gpu
        .estimate
        .as_ref()
        .and_then(|e| e.total_ci95_ns)
        .expect("an estimate");
    // Of n timed calls of 2,000: t · √(n (1 − 1/4) (4 s)²) · (2,000 − n) / 3 n with s = 100, about
    // 1.96 · √(500 · 0.75) · 400 = 15,200. For t, n is how many calls of equal e² spread as much.
    let (n, all) = (gpu.timed_calls as f64, 2_000.0);
    let mean = gpu.timed_ns as f64 / n;
    let (low, high) = ((mean - 100.0).powi(2), (300.0 - mean).powi(2));
    let share = (mean - 100.0) / 200.0;
    let variance = (1.0 - share) * low + share * high;
    let fourth = (1.0 - share) * low * low + share * high * high;
    let effective = n * variance * variance / fourth;
    let student = 1.959_964 + 2.372 / (effective - 1.0);
    let wanted = student * (n * 0.75 * 16.0 * variance).sqrt() * (all - n) / (3.0 * n);
    assert!(
        (half as f64 - wanted).abs() < wanted / 1_000.0,
        "{half}, not {wanted}"
    );
    // Eight standard deviations.
    assert!(gpu.times.total_ns.abs_diff(truth) < 4 * half);
}

fn without_sampling_nothing_is_an_estimate() {
    let w = world();
    for sampling in [Sampling::EveryCall, one_in(1)] {
        let session = Session::builder()
            .sampling(sampling)
            .start()
            .expect("start");
        (0..100).for_each(|_| parent(&w, &w.gpu.stream, 1));
        always(&w, &w.gpu.stream);
        let profile = w.finish(session);
        assert_eq!(profile.diagnostics.sampling, Sampling::EveryCall);
        for name in ["parent", "child", "always"] {
            assert_eq!(function(&profile, name).untimed_calls, 0);
            assert_eq!(gpu(&profile, name).estimate, None);
        }
    }
}

fn a_parents_self_time_is_right_although_its_child_is_sampled() {
    let w = world();
    let session = w.session();
    keep_busy(&w);
    // 100 × (3,000 + 20 · 100)
    for _ in 0..100 {
        around(&w.gpu.stream, || {
            w.gpu.kernel(3_000);
            (0..20).for_each(|_| rarely(&w, &w.gpu.stream));
        });
    }
    let profile = w.finish(session);
    let (outer, inner) = (gpu(&profile, "around"), gpu(&profile, "rarely"));
    assert_eq!(function(&profile, "around").untimed_calls, 0);
    assert_eq!((outer.timed_calls, outer.times.total_ns), (100, 500_000));
    assert_eq!(outer.estimate, None);
    // Each timed call stands for five.
    let taken = 5 * inner.timed_ns;
    assert_eq!(outer.times.self_ns, outer.times.total_ns - taken);
    // 400 ± 18 of 2,000 are timed; the margin is eight standard deviations.
    assert!(inner.timed_calls.abs_diff(400) < 8 * 18);
    assert_eq!(inner.times.total_ns, 200_000);
    assert!(inner.estimate.is_some());
}

fn sampling_of_a_span_between_weighs_what_is_inside_it() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    w.gpu.kernel_on(&a, 1_000_000);
    for _ in 0..400 {
        // The middle span is on another stream and sampled; the span nested in it is on the first
        // stream again.
        around(&a, || rarely_around(&b, || child(&w, &a)));
    }
    let profile = w.finish(session);
    let (outer, inner) = (gpu(&profile, "around"), gpu(&profile, "child"));
    assert_eq!(
        inner.timed_calls,
        gpu(&profile, "rarely_around").timed_calls
    );
    assert_eq!((outer.timed_calls, outer.times.total_ns), (400, 40_000));
    assert_eq!(
        outer.times.self_ns,
        40_000_u64.saturating_sub(4 * inner.timed_ns)
    );
}

fn what_is_captured_inside_a_call_that_is_left_out_is_counted_as_captured() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    for _ in 0..100 {
        rarely_around(&w.gpu.stream, || {
            stream
                .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
                .expect("begin");
            child(&w, &stream);
            drop(stream.end_capture(Flags(0)).expect("end"));
        });
    }
    let profile = w.finish(session);
    let inner = function(&profile, "child");
    assert_eq!((inner.calls, inner.captured_calls), (100, 100));
    assert_eq!(inner.untimed_calls, 0);
}

fn both_samplings_multiply() {
    let w = world();
    let session = session(2);
    keep_busy(&w);
    for _ in 0..2_000 {
        around(&w.gpu.stream, || rarely(&w, &w.gpu.stream));
    }
    let profile = w.finish(session);
    let (outer, inner) = (gpu(&profile, "around"), gpu(&profile, "rarely"));
    // 1,000 ± 22 and 200 ± 13; the margin is eight standard deviations.
    assert!(outer.timed_calls.abs_diff(1_000) < 8 * 22);
    assert!(inner.timed_calls.abs_diff(200) < 8 * 13);
    assert_eq!(outer.times.total_ns, 200_000);
    assert_eq!(inner.times.total_ns, 200_000);
}

fn a_call_that_stands_alone_tells_nothing_of_the_spread() {
    let w = world();
    // Repeats until exactly one of the two calls is timed.
    loop {
        let session = session(2);
        keep_busy(&w);
        (0..2).for_each(|_| child(&w, &w.gpu.stream));
        let profile = w.finish(session);
        if profile.diagnostics.timed_calls != 1 {
            continue;
        }
        let gpu = gpu(&profile, "child");
        assert_eq!(gpu.times.total_ns, 200);
        assert_eq!(gpu.estimate.as_ref().and_then(|e| e.total_ci95_ns), None);
        return;
    }
}

#[gpu_profile(name = "from-everywhere")]
fn from_everywhere(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 100);
}

/// Calls `from_everywhere` on a call path of its own for every bit pattern.
fn through(w: &World, way: u32) {
    match way {
        0 | 1 => from_everywhere(w, &w.gpu.stream),
        _ if way.is_multiple_of(2) => {
            gpuprof::scope!("left");
            through(w, way / 2);
        }
        _ => {
            gpuprof::scope!("right");
            through(w, way / 2);
        }
    }
}

fn a_function_called_once_from_each_of_many_places_is_estimated_over_all_of_them() {
    let w = world();
    let session = session(5);
    w.gpu.kernel(1_000_000);
    for way in 512..1024 {
        through(&w, way);
    }
    let profile = w.finish(session);
    let sampled = gpu(&profile, "from-everywhere");
    // 102 ± 9 of 512 calls are timed, on most call paths none. All calls last the same time, so the
    // total has no error.
    assert!(sampled.timed_calls.abs_diff(102) < 8 * 9);
    assert_eq!(sampled.times.total_ns, 51_200);
    assert!(sampled.estimate.is_some());
}

fn a_loop_whose_period_is_the_samplings_does_not_mislead_it() {
    let w = world();
    let session = session(4);
    // Every fourth call takes 10,000 ns, the others 100: 10.3 ms in all. Timing every fourth call
    // would estimate 40 ms or 0.4 ms.
    for _ in 0..4 {
        keep_busy(&w);
        for call in 0..1_000 {
            let long = call % 4 == 0;
            varies(&w, &w.gpu.stream, if long { 10_000 } else { 100 });
        }
        w.gpu.stream.synchronize().expect("synchronize");
    }
    let profile = w.finish(session);
    let total = gpu(&profile, "varies").times.total_ns;
    // The estimate's standard deviation is 0.54 ms; the margin is five of them.
    assert!((7_500_000..=13_100_000).contains(&total), "{total}");
}

fn a_sum_of_what_is_inside_says_that_it_is_estimated() {
    let w = world();
    let session = session(4);
    keep_busy(&w);
    without_stream(|| (0..400).for_each(|_| child(&w, &w.gpu.stream)));
    let profile = w.finish(session);
    let sum = function(&profile, "without_stream");
    assert_eq!(
        (sum.gpu_nested_ns, sum.gpu_nested_estimated),
        (40_000, true)
    );
    assert!(!sum.gpu_nested_partial, "nothing is lacking");
    let report = profile.to_string();
    assert!(report.contains("Σ~40.0 "), "{report}");

    // Sampled spans nested in a span that is always timed add no estimate to the sum above: they
    // are part of that span's time.
    let session = w.session();
    keep_busy(&w);
    without_stream(|| {
        around(&w.gpu.stream, || {
            (0..400).for_each(|_| rarely(&w, &w.gpu.stream));
        });
    });
    let profile = w.finish(session);
    assert!(gpu(&profile, "rarely").estimate.is_some());
    let sum = function(&profile, "without_stream");
    assert_eq!(
        (sum.gpu_nested_ns, sum.gpu_nested_estimated),
        (40_000, false)
    );
}
