//! Promise: a span without a stream of its own inherits that of the innermost enclosing span or
//! `with_stream`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{gpu_profile, scope, with_stream};
use promises::{Tolerance, assert_kept, streams};
use support::suite::Module;
use support::tests;
use support::{cpu_times, function, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_function_without_stream_inherits_the_enclosing_spans,
        of_several_streams_the_first_is_inherited,
        with_stream_gives_its_stream_to_the_spans_inside_and_to_no_other,
        with_stream_inside_a_span_is_no_node_and_takes_no_time,
        with_stream_ends_when_its_body_panics,
        a_scope_with_a_stream_gives_it_on,
    ]],
);

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn inherits(launch: impl FnOnce()) {
    launch();
}

#[gpu_profile]
fn inherits_too(launch: impl FnOnce()) {
    launch();
}

#[gpu_profile]
fn has_none(launch: impl FnOnce()) {
    launch();
}

fn a_function_without_stream_inherits_the_enclosing_spans() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    around(&a, || {
        inherits(|| {
            w.gpu.kernel_on(&a, 1_000);
            w.gpu.kernel_on(&b, 30_000);
            // A span that inherited its stream passes it on.
            inherits_too(|| w.gpu.kernel_on(&a, 200));
        });
    });
    has_none(|| w.gpu.kernel_on(&a, 5_000));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "inherits"), (1, 1_200, 1_000));
    assert_eq!(gpu_times(&profile, "inherits_too"), (1, 200, 200));
    assert_eq!(gpu_times(&profile, "around"), (1, 1_200, 0));
    assert!(!function(&profile, "has_none").has_stream);
}

fn of_several_streams_the_first_is_inherited() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    {
        #[gpu_profile(stream = [a, b])]
        fn on_both_around(a: &Arc<CudaStream>, b: &Arc<CudaStream>, inside: impl FnOnce()) {
            inside();
        }
        on_both_around(&a, &b, || {
            inherits(|| {
                w.gpu.kernel_on(&a, 1_000);
                w.gpu.kernel_on(&b, 30_000);
            });
        });
    }
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "inherits"), (1, 1_000, 1_000));
}

fn with_stream_gives_its_stream_to_the_spans_inside_and_to_no_other() {
    assert_kept(streams::given_by_with_stream(
        &world().gpu,
        Tolerance::EXACT,
    ));
}

fn with_stream_inside_a_span_is_no_node_and_takes_no_time() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    around(&a, || {
        w.cpu(10);
        with_stream(&b, || {
            w.cpu(20);
            inherits(|| {
                w.cpu(40);
                w.gpu.kernel_on(&a, 1_000);
                w.gpu.kernel_on(&b, 5_000);
            });
        });
        with_stream(&a, || inherits_too(|| w.gpu.kernel_on(&a, 100)));
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "around"), (1, 70, 30));
    // The stream is idle for 70 before its first kernel; only nested spans on a are subtracted.
    assert_eq!(gpu_times(&profile, "around"), (1, 1_170, 1_070));
    assert_eq!(gpu_times(&profile, "inherits"), (1, 5_040, 5_040));
    assert_eq!(gpu_times(&profile, "inherits_too"), (1, 100, 100));
    assert_eq!(node(&profile, &["around", "inherits"]).calls, 1);
    assert_eq!(profile.tree.len(), 3);
}

fn with_stream_ends_when_its_body_panics() {
    let w = world();
    let session = w.session();
    let panicking = AssertUnwindSafe(|| {
        with_stream(&w.gpu.stream, || {
            inherits(|| w.gpu.kernel(1_000));
            panic!("on purpose");
        });
    });
    catch_unwind(panicking).expect_err("it panics");
    has_none(|| ());
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "inherits"), (1, 1_000, 1_000));
    assert!(!function(&profile, "has_none").has_stream);
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn a_scope_with_a_stream_gives_it_on() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    around(&a, || {
        scope!("scope on b", &b);
        inherits(|| w.gpu.kernel_on(&b, 600));
        scope!("scope on b too");
        w.gpu.kernel_on(&b, 50);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "scope on b"), (1, 650, 0));
    assert_eq!(gpu_times(&profile, "scope on b too"), (1, 50, 50));
    assert_eq!(gpu_times(&profile, "inherits"), (1, 600, 600));
    assert_eq!(gpu_times(&profile, "around").2, 0);
}
