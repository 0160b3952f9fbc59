//! Promise: totals, self times and the call tree are exact for every form of nesting.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        totals_and_self_times_of_nested_calls,
        a_child_on_another_stream_is_not_subtracted,
        a_grandchild_on_the_grandparents_stream_is_subtracted_there,
        a_cpu_function_between_changes_nothing_and_shows_what_is_inside,
        a_function_without_stream_shows_the_sum_of_the_spans_inside,
        a_child_on_one_of_several_streams_is_subtracted,
        what_a_call_on_several_streams_holds_counts_once_above_it,
        a_call_on_more_streams_than_the_one_around_it_counts_once,
        the_same_stream_twice_has_children_as_one_stream_has,
        a_grandchild_under_a_call_on_several_streams_is_taken_from_its_parent_alone,
        siblings_and_their_children_are_subtracted_once,
    ]],
);

#[gpu_profile]
fn outer(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(1_000);
    w.gpu.kernel(5_000);
    inner(w, stream);
    inner(w, stream);
    w.cpu(500);
}

#[gpu_profile]
fn inner(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(200);
    w.gpu.kernel_on(stream, 7_000);
}

#[gpu_profile]
fn driver(w: &World) {
    outer(w, &w.gpu.stream);
    inner(w, &w.gpu.stream);
}

fn totals_and_self_times_of_nested_calls() {
    let w = world();
    let session = w.session();
    driver(&w);
    driver(&w);
    let profile = w.finish(session);

    assert_eq!(cpu_times(&profile, "driver"), (2, 2 * 2_100, 0));
    assert_eq!(cpu_times(&profile, "outer"), (2, 2 * 1_900, 2 * 1_500));
    assert_eq!(cpu_times(&profile, "inner"), (6, 6 * 200, 6 * 200));

    // On an idle stream, the CPU time before the first kernel is between the two events, too.
    let inner = gpu(&profile, "inner");
    assert_eq!(inner.timed_calls, 6);
    assert_eq!(function(&profile, "driver").gpu, None);
    assert_eq!(
        function(&profile, "driver").gpu_nested_ns,
        gpu(&profile, "outer").times.total_ns + 2 * 7_000
    );
    let (_, outer_total, outer_self) = gpu_times(&profile, "outer");
    // First round: 5,000 for its own kernel, which starts 1,000 after the start event, and 14,000
    // in nested spans. Second round: the stream is busy until the start event, so the 1,000 before
    // the kernel are not between the events.
    assert_eq!((outer_total, outer_self), (20_000 + 19_000, 6_000 + 5_000));

    // The same times by call path: `inner` under `outer` and `inner` under `driver` are two nodes.
    assert_eq!(profile.tree.len(), 4);
    let places: [(&[&str], u64, u64, u64); 4] = [
        (&["driver"], 2, 4_200, 0),
        (&["driver", "outer"], 2, 3_800, 3_000),
        (&["driver", "outer", "inner"], 4, 800, 800),
        (&["driver", "inner"], 2, 400, 400),
    ];
    for (chain, calls, cpu_total, cpu_self) in places {
        let node = node(&profile, chain);
        assert_eq!(
            (node.calls, node.cpu_total_ns, node.cpu_self_ns),
            (calls, cpu_total, cpu_self),
            "{chain:?}"
        );
    }
    let gpu_of = |chain: &[&str]| {
        let node = node(&profile, chain);
        (node.gpu_total_ns, node.gpu_self_ns, node.gpu_nested_ns)
    };
    assert_eq!(gpu_of(&["driver"]), (None, None, 39_000 + 14_000));
    assert_eq!(
        gpu_of(&["driver", "outer"]),
        (Some(39_000), Some(11_000), 28_000)
    );
    assert_eq!(
        gpu_of(&["driver", "outer", "inner"]),
        (Some(28_000), Some(28_000), 0)
    );
    assert_eq!(
        gpu_of(&["driver", "inner"]),
        (Some(14_000), Some(14_000), 0)
    );
}

/// Launches a kernel, then runs `inside`.
#[gpu_profile]
fn first_kernel(w: &World, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.gpu.kernel_on(stream, 1_000);
    inside();
}

#[gpu_profile]
fn second_kernel(w: &World, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.gpu.kernel_on(stream, 10_000);
    inside();
}

#[gpu_profile]
fn third_kernel(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 100_000);
}

#[gpu_profile(cpu)]
fn cpu_between(w: &World, inside: impl FnOnce()) {
    w.cpu(70);
    inside();
}

#[gpu_profile]
fn without_stream(w: &World, inside: impl FnOnce()) {
    w.cpu(7);
    inside();
}

#[gpu_profile(stream = [a, b])]
fn on_both(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.gpu.kernel_on(a, 3_000);
    w.gpu.kernel_on(b, 5_000);
    inside();
}

fn a_child_on_another_stream_is_not_subtracted() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    first_kernel(&w, &a, || second_kernel(&w, &b, || ()));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "first_kernel"), (1, 1_000, 1_000));
    assert_eq!(gpu_times(&profile, "second_kernel"), (1, 10_000, 10_000));
    assert_eq!(function(&profile, "first_kernel").gpu_nested_ns, 10_000);
}

fn a_grandchild_on_the_grandparents_stream_is_subtracted_there() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    first_kernel(&w, &a, || {
        second_kernel(&w, &b, || third_kernel(&w, &a));
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "first_kernel"), (1, 101_000, 1_000));
    assert_eq!(gpu_times(&profile, "second_kernel"), (1, 10_000, 10_000));
    assert_eq!(gpu_times(&profile, "third_kernel"), (1, 100_000, 100_000));
    // Below the first kernel's span, the outermost span on b is the second and on a the third.
    assert_eq!(function(&profile, "first_kernel").gpu_nested_ns, 110_000);
    let chain = ["first_kernel", "second_kernel", "third_kernel"];
    assert_eq!(node(&profile, &chain).gpu_total_ns, Some(100_000));
}

fn a_cpu_function_between_changes_nothing_and_shows_what_is_inside() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    first_kernel(&w, s, || {
        cpu_between(&w, || second_kernel(&w, s, || third_kernel(&w, s)));
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "first_kernel"), (1, 111_000, 1_000));
    assert_eq!(gpu_times(&profile, "second_kernel"), (1, 110_000, 10_000));
    assert_eq!(cpu_times(&profile, "cpu_between"), (1, 70, 70));
    let between = function(&profile, "cpu_between");
    assert!(between.cpu_only && !between.has_stream && between.gpu.is_none());
    // The third kernel's span is nested in the second's on the same stream, so it counts once.
    assert_eq!(between.gpu_nested_ns, 110_000);
    assert_eq!(function(&profile, "first_kernel").gpu_nested_ns, 110_000);
}

fn a_function_without_stream_shows_the_sum_of_the_spans_inside() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    without_stream(&w, || {
        without_stream(&w, || first_kernel(&w, &a, || third_kernel(&w, &a)));
        second_kernel(&w, &b, || ());
    });
    let profile = w.finish(session);
    // 101,000 on a and 10,000 on b. The inner call of the same function is part of the outer call
    // and adds nothing.
    let both = function(&profile, "without_stream");
    assert_eq!((both.calls, both.gpu_nested_ns), (2, 111_000));
    assert_eq!(cpu_times(&profile, "without_stream"), (2, 14, 14));
    let inner = node(&profile, &["without_stream", "without_stream"]);
    assert_eq!((inner.gpu_total_ns, inner.gpu_nested_ns), (None, 101_000));
}

fn a_child_on_one_of_several_streams_is_subtracted() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    on_both(&w, &a, &b, || third_kernel(&w, &b));
    let profile = w.finish(session);
    // From the start on, stream b is busy for 5,000 and 100,000, stream a for 3,000.
    assert_eq!(gpu_times(&profile, "on_both"), (1, 105_000, 5_000));
    assert_eq!(gpu_times(&profile, "third_kernel"), (1, 100_000, 100_000));
}

#[gpu_profile(stream = [b, a])]
fn on_both_too(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>) {
    w.gpu.kernel_on(a, 40);
    w.gpu.kernel_on(b, 60);
}

fn what_a_call_on_several_streams_holds_counts_once_above_it() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    without_stream(&w, || {
        on_both(&w, &a, &b, || {
            third_kernel(&w, &b);
            on_both_too(&w, &a, &b);
        });
    });
    let profile = w.finish(session);
    // Stream b: 5,000, 100,000 and 60. Stream a: 3,000 and 40; it is idle until b reaches that
    // point.
    assert_eq!(gpu_times(&profile, "on_both"), (1, 105_060, 4_960));
    assert_eq!(gpu_times(&profile, "third_kernel"), (1, 100_000, 100_000));
    // From the start event on a to the end event on b; its share of stream b is 60.
    assert_eq!(gpu_times(&profile, "on_both_too"), (1, 102_060, 60));
    assert_eq!(function(&profile, "without_stream").gpu_nested_ns, 105_020);
    let table = profile.to_string();
    assert!(!table.contains('≤'), "{table}");
}

fn a_call_on_more_streams_than_the_one_around_it_counts_once() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    without_stream(&w, || {
        first_kernel(&w, &a, || on_both(&w, &a, &b, || ()));
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "first_kernel"), (1, 4_000, 1_000));
    assert_eq!(gpu_times(&profile, "on_both"), (1, 5_000, 5_000));
    assert_eq!(function(&profile, "without_stream").gpu_nested_ns, 6_000);
    let table = profile.to_string();
    assert!(!table.contains('≤'), "{table}");
}

fn the_same_stream_twice_has_children_as_one_stream_has() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_both(&w, s, s, || third_kernel(&w, s));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on_both"), (1, 108_000, 8_000));
}

fn a_grandchild_under_a_call_on_several_streams_is_taken_from_its_parent_alone() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    on_both(&w, &a, &b, || {
        first_kernel(&w, &b, || third_kernel(&w, &b));
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on_both"), (1, 106_000, 5_000));
    assert_eq!(gpu_times(&profile, "first_kernel"), (1, 101_000, 1_000));
    // The spans nested in the first kernel's span are part of that span's time.
    assert_eq!(function(&profile, "on_both").gpu_nested_ns, 101_000);
}

fn siblings_and_their_children_are_subtracted_once() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    first_kernel(&w, s, || {
        second_kernel(&w, s, || {
            third_kernel(&w, s);
            third_kernel(&w, s);
        });
        third_kernel(&w, s);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "first_kernel"), (1, 311_000, 1_000));
    assert_eq!(gpu_times(&profile, "second_kernel"), (1, 210_000, 10_000));
    assert_eq!(gpu_times(&profile, "third_kernel"), (3, 300_000, 300_000));
}
