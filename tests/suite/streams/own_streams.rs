//! Promise: each call is timed on its own stream or streams, and on no others.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use promises::{Tolerance, assert_kept, streams};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        overlapping_streams_add_up_past_the_wall_time,
        several_streams_are_timed_from_the_first_start_to_the_last_end,
        the_same_stream_twice_is_one_stream,
        only_the_functions_own_stream_counts_when_the_body_uses_another,
        waiting_for_another_stream_counts,
        streams_of_every_kind_are_timed,
        the_null_stream_is_never_assumed,
        forked_and_borrowed_streams_are_streams_like_any_other,
        the_null_stream_has_two_names_and_is_one_stream,
        a_function_that_switches_streams_is_timed_on_the_one_it_was_given,
        the_per_thread_stream_is_each_threads_own,
        streams_made_and_dropped_one_after_another_are_told_apart,
        a_sum_of_what_is_inside_says_that_it_lacks_calls,
        the_time_inside_a_span_that_goes_untimed_at_its_end_is_in_the_sums_above,
    ]],
);

#[gpu_profile]
fn on(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn on_another(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile(stream = [a, b])]
fn on_both(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>, ns: (u64, u64)) {
    w.gpu.kernel_on(a, ns.0);
    w.gpu.kernel_on(b, ns.1);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn has_none(launch: impl FnOnce()) {
    launch();
}

fn overlapping_streams_add_up_past_the_wall_time() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    on(&w, &a, 10_000);
    on_another(&w, &b, 10_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on"), (1, 10_000, 10_000));
    assert_eq!(gpu_times(&profile, "on_another"), (1, 10_000, 10_000));
    // GPU self time is 200 % of the wall time.
    assert_eq!(profile.wall_ns, 10_000);
}

fn several_streams_are_timed_from_the_first_start_to_the_last_end() {
    let w = world();
    let observed = streams::from_the_first_start_to_the_last_end(&w.gpu, Tolerance::EXACT);
    assert_kept(observed);

    // The first start event is on a, at once; the last end event is on b, at 21,000. Until 20,000,
    // b does the work of before.
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    w.gpu.kernel_on(&b, 20_000);
    on_both(&w, &a, &b, (10, 1_000));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on_both"), (1, 21_000, 1_000));
}

fn the_same_stream_twice_is_one_stream() {
    let w = world();
    let session = w.session();
    let s = &w.gpu.stream;
    on_both(&w, s, s, (2_000, 7_000));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on_both"), (1, 9_000, 9_000));
}

fn only_the_functions_own_stream_counts_when_the_body_uses_another() {
    assert_kept(streams::beside_other_work(&world().gpu, Tolerance::EXACT));
}

fn waiting_for_another_stream_counts() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    around(&a, || {
        w.gpu.kernel_on(&b, 50_000);
        a.join(&b).expect("join");
        w.gpu.kernel_on(&a, 1_000);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (1, 51_000, 51_000));
}

fn streams_of_every_kind_are_timed() {
    let w = world();
    assert_kept(streams::of_every_kind(&w.gpu, 4, Tolerance::EXACT));
    assert_kept(streams::of_raw_handles(&w.gpu, 4, Tolerance::EXACT));
}

fn the_null_stream_is_never_assumed() {
    assert_kept(streams::never_assumed(&world().gpu));
}

fn forked_and_borrowed_streams_are_streams_like_any_other() {
    let w = world();
    let session = w.session();
    w.gpu.kernel(9_000);
    // The forked stream first waits for the stream that it was forked from; so does its start
    // event.
    let forked = w.gpu.stream.fork().expect("fork");
    // SAFETY: the handle is of this context, and `forked` outlives it.
    let borrowed = unsafe { w.gpu.context.wrap_borrowed_stream(forked.cu_stream()) };
    around(&forked, || {
        on(&w, &borrowed, 3_000);
        w.gpu.kernel_on(&forked, 200);
    });
    drop(borrowed);
    on_another(&w, &forked, 50);
    let profile = w.finish(session);
    // All three handles are of one stream.
    assert_eq!(gpu_times(&profile, "around"), (1, 3_200, 200));
    assert_eq!(gpu_times(&profile, "on"), (1, 3_000, 3_000));
    assert_eq!(gpu_times(&profile, "on_another"), (1, 50, 50));
    assert_eq!(profile.diagnostics.errors, []);
}

fn the_null_stream_has_two_names_and_is_one_stream() {
    let w = world();
    let null = w.gpu.context.default_stream();
    // SAFETY: CU_STREAM_LEGACY always exists and is never destroyed.
    let legacy = unsafe { w.gpu.context.wrap_borrowed_stream(1 as _) };
    let session = w.session();
    around(&null, || on(&w, &legacy, 5_000));
    around(&legacy, || on(&w, &null, 300));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (2, 5_300, 0));
    assert_eq!(gpu_times(&profile, "on"), (2, 5_300, 5_300));
    assert_eq!(profile.diagnostics.errors, []);
}

#[gpu_profile]
fn switches(w: &World, stream: &mut Arc<CudaStream>, to: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
    *stream = Arc::clone(to);
    w.gpu.kernel_on(stream, 70_000);
}

fn a_function_that_switches_streams_is_timed_on_the_one_it_was_given() {
    let w = world();
    let (mut stream, to) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    // The second call starts on the stream that the first call assigned.
    switches(&w, &mut stream, &to);
    switches(&w, &mut stream, &w.gpu.another_stream());
    let profile = w.finish(session);
    let times = &gpu(&profile, "switches").times;
    assert_eq!((times.min_ns, times.max_ns), (1_000, 1_000));
    assert_eq!(gpu_times(&profile, "switches"), (2, 2_000, 2_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn the_per_thread_stream_is_each_threads_own() {
    assert_kept(streams::of_each_thread(&world().gpu, 4, Tolerance::EXACT));
}

fn streams_made_and_dropped_one_after_another_are_told_apart() {
    let w = world();
    let session = w.session();
    for _ in 0..100 {
        let stream = w.gpu.another_stream();
        on(&w, &stream, 1_000);
        stream.synchronize().expect("synchronize");
    }
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on"), (100, 100_000, 100_000));
    assert_eq!(gpu(&profile, "on").times.stddev_ns, 0);
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_sum_of_what_is_inside_says_that_it_lacks_calls() {
    let w = world();
    let stream = &w.gpu.stream;
    w.warm_up(|| on(&w, stream, 1));
    w.gpu.kernel(100_000);
    let session = w.session();
    has_none(|| {
        on(&w, stream, 1_000);
        // The next start event fails.
        w.sim.fail("cuEventRecord", 1, 1, 2);
        on(&w, stream, 2_000);
    });
    let profile = w.finish(session);
    let sum = function(&profile, "has_none");
    assert_eq!((sum.gpu_nested_ns, sum.gpu_nested_partial), (1_000, true));
    let report = profile.to_string();
    assert!(report.contains("Σ≥1.00 "), "{report}");

    // An untimed span nested in a timed span of the same stream is part of that span's time, so the
    // sum lacks nothing.
    let session = w.session();
    w.gpu.kernel(100_000);
    has_none(|| {
        around(stream, || {
            on(&w, stream, 1_000);
            w.sim.fail("cuEventRecord", 1, 1, 2);
            on(&w, stream, 2_000);
        });
    });
    let profile = w.finish(session);
    assert!(!function(&profile, "has_none").gpu_nested_partial);
    assert_eq!(function(&profile, "on").untimed_calls, 1);
}

fn the_time_inside_a_span_that_goes_untimed_at_its_end_is_in_the_sums_above() {
    let w = world();
    let stream = &w.gpu.stream;
    w.warm_up(|| on(&w, stream, 1));
    w.gpu.kernel(100_000);
    let session = w.session();
    has_none(|| {
        around(stream, || {
            on(&w, stream, 1_000);
            // The next record is the end event of the enclosing span.
            w.sim.fail("cuEventRecord", 1, 1, 2);
        });
    });
    let profile = w.finish(session);
    assert_eq!(function(&profile, "around").untimed_calls, 1);
    let sum = function(&profile, "has_none");
    assert_eq!((sum.gpu_nested_ns, sum.gpu_nested_partial), (1_000, true));
}
