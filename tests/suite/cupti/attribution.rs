//! Promise: a kernel is attributed to the innermost profiled function around its launch, on any
//! stream and any thread. Activity outside all profiled functions is reported as unattributed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{gpu_profile, scope};
use promises::assert_kept;
use promises::attribution::{self, Margins};
use support::cupti_world::{Tier, all_kernels, busy, cupti, kernels, tier, work};
use support::function;
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        kernels_belong_to_the_innermost_function,
        a_kernel_has_the_times_and_the_shape_of_its_launches,
        a_kernel_shows_the_resources_of_the_launches_with_the_most_time,
        of_a_recursion_the_outermost_call_is_busy_once,
        functions_without_a_stream_have_kernels_too,
        each_thread_is_in_calls_of_its_own,
        forty_threads_at_once_lose_nothing,
        what_ran_outside_is_told_as_such,
        spans_that_end_out_of_turn_leave_nothing_behind,
    ]],
)
.with_subscriber_calls();

#[gpu_profile]
fn outer(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 100);
    inner(t, stream);
    t.gpu.kernel_on(stream, 10);
    inner(t, stream);
}

#[gpu_profile]
fn inner(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn recursive(t: &Tier, stream: &Arc<CudaStream>, depth: u32) {
    t.gpu.kernel_on(stream, 1_000);
    if depth > 1 {
        recursive(t, stream, depth - 1);
    }
}

#[gpu_profile(cpu)]
fn on_the_cpu(t: &Tier) {
    t.gpu.kernel(7);
}

#[gpu_profile]
fn without_a_stream(t: &Tier) {
    t.gpu.kernel(70);
    on_the_cpu(t);
}

fn kernels_belong_to_the_innermost_function() {
    let t = tier();
    // SAFETY: the promise uses its buffer on one stream.
    unsafe { t.gpu.context.disable_event_tracking() };
    let stream = t.gpu.another_stream();
    let session = t.session();
    attribution::work(&t.gpu, &stream).expect("launches");
    let profile = t.finish(session);
    assert_kept(Ok(attribution::observe(&profile, Margins::EXACT)));
    // One stream without gaps: the busy time equals the span.
    for name in ["outer", "inner", "long"] {
        let function = promises::function(&profile, name).expect("it ran");
        let span_ns = function.gpu.as_ref().map(|gpu| gpu.times.total_ns);
        assert_eq!(function.activity.busy_ns, span_ns, "{name}");
        assert_eq!(function.activity.idle_ns, Some(0), "{name}");
    }
}

fn a_kernel_has_the_times_and_the_shape_of_its_launches() {
    let t = tier();
    let session = t.session();
    outer(&t, &t.gpu.stream);
    let profile = t.finish(session);
    let kernel = &profile.kernels[0];
    assert_eq!((kernel.times.min_ns, kernel.times.max_ns), (10, 1_000));
    assert_eq!((kernel.times.p50_ns, kernel.times.mean_ns), (101, 528));
    assert_eq!(
        (kernel.grid, kernel.block, kernel.shapes),
        ([1, 1, 1], [1_024, 1, 1], 1)
    );
    assert_eq!((kernel.streams, kernel.graph_calls), (1, 0));
}

fn a_kernel_shows_the_resources_of_the_launches_with_the_most_time() {
    let t = tier();
    let session = t.session();
    inner(&t, &t.gpu.stream);
    for (registers, local) in [(255, 96), (64, 8)] {
        t.synchronize();
        t.sim.set_kernel_resources("saxpy", registers, 0, local);
        t.gpu.kernel(u64::from(registers) * 100);
    }
    t.synchronize();
    t.sim.set_kernel_resources("saxpy", 32, 0, 0);
    let profile = t.finish(session);
    let kernel = &profile.kernels[0];
    assert_eq!(kernel.shapes, 3);
    assert_eq!((kernel.registers, kernel.local_bytes_per_thread), (255, 96));
    let kernel = &work(&profile, "inner").kernels[0];
    assert_eq!((kernel.registers, kernel.local_bytes_per_thread), (32, 0));
}

fn of_a_recursion_the_outermost_call_is_busy_once() {
    let t = tier();
    let session = t.session();
    recursive(&t, &t.gpu.stream, 3);
    recursive(&t, &t.gpu.stream, 1);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "recursive"), [("saxpy", 4, 4_000)]);
    assert_eq!(busy(&profile, "recursive"), (4_000, 2, 4, 4));
    assert_eq!(work(&profile, "recursive").idle_ns, Some(0));
}

fn functions_without_a_stream_have_kernels_too() {
    let t = tier();
    let session = t.session();
    without_a_stream(&t);
    {
        scope!("block");
        t.gpu.kernel(700);
        without_a_stream(&t);
    }
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "on_the_cpu"), [("saxpy", 2, 14)]);
    assert_eq!(kernels(&profile, "without_a_stream"), [("saxpy", 2, 140)]);
    assert_eq!(kernels(&profile, "block"), [("saxpy", 1, 700)]);
    assert_eq!(busy(&profile, "block"), (777, 1, 3, 3));
    assert_eq!(busy(&profile, "without_a_stream"), (154, 2, 4, 4));
    assert_eq!(work(&profile, "block").idle_ns, None);
}

fn each_thread_is_in_calls_of_its_own() {
    let t = tier();
    let streams: Vec<_> = (0..4).map(|_| t.gpu.another_stream()).collect();
    let session = t.session();
    std::thread::scope(|scope| {
        for (at, stream) in streams.iter().enumerate() {
            let t = &t;
            scope.spawn(move || {
                for _ in 0..100 {
                    t.gpu.context.bind_to_thread().expect("bind");
                    match at % 2 {
                        0 => outer(t, stream),
                        _ => inner(t, stream),
                    }
                }
            });
        }
    });
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "outer"), [("saxpy", 400, 22_000)]);
    assert_eq!(kernels(&profile, "inner"), [("saxpy", 600, 600_000)]);
    let (_, calls, activities, launches) = busy(&profile, "outer");
    assert_eq!((calls, activities, launches), (200, 800, 800));
    assert_eq!(function(&profile, "inner").threads, 4);
}

/// Each thread fills its own buffer, and CUPTI holds the buffer until its kernel has ended.
fn forty_threads_at_once_lose_nothing() {
    let t = tier();
    let streams: Vec<_> = (0..40).map(|_| t.gpu.another_stream()).collect();
    let session = t.session();
    std::thread::scope(|scope| {
        for stream in &streams {
            let t = &t;
            scope.spawn(move || {
                t.gpu.context.bind_to_thread().expect("bind");
                inner(t, stream);
            });
        }
    });
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "inner"), [("saxpy", 40, 40_000)]);
    assert_eq!(function(&profile, "inner").threads, 40);
}

fn what_ran_outside_is_told_as_such() {
    let t = tier();
    let session = t.session();
    t.gpu.kernel(5);
    inner(&t, &t.gpu.stream);
    t.gpu.kernel(50);
    let profile = t.finish(session);
    assert_eq!(
        (
            cupti(&profile).unattributed,
            cupti(&profile).unattributed_ns
        ),
        (2, 55)
    );
    assert_eq!(all_kernels(&profile), (3, 1_055));
    assert_eq!(kernels(&profile, "inner"), [("saxpy", 1, 1_000)]);
}

/// A panic ends spans, and a span that is never dropped ends with its enclosing span: later
/// launches are outside both.
fn spans_that_end_out_of_turn_leave_nothing_behind() {
    let t = tier();
    let session = t.session();
    let panicked = catch_unwind(AssertUnwindSafe(|| panics(&t, &t.gpu.stream)));
    assert!(panicked.is_err());
    leaks(&t, &t.gpu.stream);
    t.gpu.kernel(3);
    let profile = t.finish(session);
    assert_eq!(cupti(&profile).unattributed, 1);
    assert_eq!(kernels(&profile, "inner"), [("saxpy", 1, 1_000)]);
    assert_eq!(kernels(&profile, "leaked"), [("saxpy", 1, 30)]);
}

#[gpu_profile]
fn panics(t: &Tier, stream: &Arc<CudaStream>) {
    inner(t, stream);
    panic!("on purpose");
}

#[gpu_profile]
fn leaks(t: &Tier, stream: &Arc<CudaStream>) {
    let never_dropped = async {
        scope!("leaked");
        t.gpu.kernel_on(stream, 30);
        std::future::pending::<()>().await;
    };
    let mut future = Box::pin(never_dropped);
    let waker = std::task::Waker::noop();
    let _ = future
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    std::mem::forget(future);
}
