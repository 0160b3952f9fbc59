//! Promise: a GPU time is the distance of the two events, read after both have completed, and never
//! on the program's threads.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::foreign_context::{ForeignContext, RawStream};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, gpu_times, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_duration_does_not_coarsen_with_distance,
        steps_of_the_drivers_resolution_never_make_a_time_negative,
        no_time_is_asked_for_before_it_is_there,
        the_programs_thread_records_and_nothing_more,
        a_stall_of_the_host_is_in_both_times,
        the_event_floor_is_shown_and_not_subtracted,
        the_pairs_of_nested_calls_are_in_no_span_around_them,
        the_event_overhead_is_measured_before_the_first_call_has_work,
        the_event_overhead_is_the_least_of_several_moments,
    ]],
);

#[gpu_profile]
fn on(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn parent(w: &World, stream: &Arc<CudaStream>, children: &[u64]) {
    children.iter().for_each(|ns| on(w, stream, *ns));
}

#[gpu_profile]
fn touches_nothing(_stream: &Arc<CudaStream>) {}

fn a_duration_does_not_coarsen_with_distance() {
    let w = world();
    let session = w.session();
    // Ten hours in a float32 of milliseconds have a resolution of 2 ms: times must not be
    // differences of such values.
    for hours in [0, 1, 10] {
        w.cpu(hours * 3_600_000_000_000);
        on(&w, &w.gpu.stream, 1_234);
        w.gpu.stream.synchronize().expect("synchronize");
        drop(gpuprof::collect());
    }
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on"), (3, 3 * 1_234, 3 * 1_234));
}

fn steps_of_the_drivers_resolution_never_make_a_time_negative() {
    let w = world();
    w.sim.set_resolution_ns(500);
    let session = w.session();
    // Times are rounded to 500 ns: the parent's 1,200 reads as 1,000, its four children of 300 as
    // 500 each, which add up to more than the parent.
    w.gpu.kernel(10_000);
    parent(&w, &w.gpu.stream, &[300, 300, 300, 300]);
    parent(&w, &w.gpu.stream, &[100]);
    let profile = w.finish(session);
    w.sim.set_resolution_ns(0);
    assert_eq!(gpu_times(&profile, "on"), (5, 2_000, 2_000));
    assert_eq!(gpu_times(&profile, "parent"), (2, 1_000, 0));
}

fn no_time_is_asked_for_before_it_is_there() {
    let w = world();
    w.warm_up(|| touches_nothing(&w.gpu.stream));
    let session = w.session();
    w.sim.reset_calls();
    on(&w, &w.gpu.stream, 1_000_000);
    until(|| w.sim.calls("cuEventQuery") > 5);
    assert_eq!(w.sim.calls("cuEventElapsedTime_v2"), 0);
    let profile = w.finish(session);
    assert_eq!(w.sim.calls("cuEventElapsedTime_v2"), 1);
    assert_eq!(gpu_times(&profile, "on"), (1, 1_000_000, 1_000_000));
}

fn the_programs_thread_records_and_nothing_more() {
    let w = world();
    w.warm_up(|| touches_nothing(&w.gpu.stream));
    let session = w.session();
    w.gpu.context.bind_to_thread().expect("bind");
    w.sim.reset_calls();
    // Fewer calls than the pool has event pairs at first, so no event is created.
    (0..10).for_each(|_| touches_nothing(&w.gpu.stream));
    let named = w.sim.calls_by_symbol().into_iter();
    let here: Vec<(String, u64)> = named
        .map(|(name, _)| (name.clone(), w.sim.calls_here(&name)))
        .filter(|(_, calls)| *calls > 0)
        .collect();
    let expected = ["cuEventRecord", "cuStreamIsCapturing"];
    assert_eq!(here, expected.map(|name| (name.to_owned(), 20)));
    drop(w.finish(session));
}

fn a_stall_of_the_host_is_in_both_times() {
    let w = world();
    let session = w.session();
    // The launch blocks for 70,000 ns, as when the stream's queue is full.
    w.sim.set_call_ns("cuLaunchKernel", 70_000);
    on(&w, &w.gpu.stream, 1_000);
    w.sim.set_call_ns("cuLaunchKernel", 0);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "on"), (1, 70_000, 70_000));
    // The stream was idle: the gap before the kernel is between the two events.
    assert_eq!(gpu_times(&profile, "on"), (1, 71_000, 71_000));
}

#[gpu_profile]
fn lent(_lent: &RawStream, inside: impl FnOnce()) {
    inside();
}

fn the_event_floor_is_shown_and_not_subtracted() {
    let w = world();
    w.sim.set_event_ns(400);
    // A new context, because the event overhead is measured once per context.
    let other = ForeignContext::new(w.sim).expect("a context");
    let stream = other.raw_stream(other.stream, true);
    let session = w.session();
    lent(&stream, || ());
    until(|| {
        w.cpu(1_000);
        session.snapshot().diagnostics.event_overhead_ns == Some(400)
    });
    lent(&stream, || {
        other.kernel(other.stream, 5_000).expect("launch")
    });
    other.synchronize().expect("synchronize");
    let profile = w.finish(session);
    w.sim.set_event_ns(0);
    assert_eq!(profile.diagnostics.event_overhead_ns, Some(400));
    // Each of the two times contains the 400 ns of its start event.
    assert_eq!(gpu_times(&profile, "lent"), (2, 5_800, 5_800));
}

#[gpu_profile]
fn nested(_lent: &RawStream, inside: impl FnOnce()) {
    inside();
}

fn the_pairs_of_nested_calls_are_in_no_span_around_them() {
    let w = world();
    w.sim.set_event_ns(400);
    let other = ForeignContext::new(w.sim).expect("a context");
    let stream = other.raw_stream(other.stream, true);
    let session = w.session();
    until(|| {
        lent(&stream, || ());
        w.cpu(1_000);
        session.snapshot().diagnostics.event_overhead_ns == Some(400)
    });
    gpuprof::reset();
    let kernel = || other.kernel(other.stream, 5_000).expect("launch");
    lent(&stream, || {
        nested(&stream, kernel);
        nested(&stream, || nested(&stream, kernel));
    });
    other.synchronize().expect("synchronize");
    let profile = w.finish(session);
    w.sim.set_event_ns(0);
    // Each call has the 400 ns of its own start event, and no others: 10,400 ns, of which its own
    // are 400. The inner of the nested ones is in the time of the outer; of self time there is no
    // more than that.
    assert_eq!(gpu_times(&profile, "lent"), (1, 10_400, 400));
    assert_eq!(gpu_times(&profile, "nested"), (3, 10_800, 10_800));
}

fn with_loaded_events(w: &World) {
    w.sim.set_event_ns(1_250);
    w.sim.set_event_ns_under_load(12_700);
}

fn the_event_overhead_is_measured_before_the_first_call_has_work() {
    let w = world();
    with_loaded_events(&w);
    let session = w.session();
    // Its kernel begins at once and outlasts whatever is measured after it.
    on(&w, &w.gpu.stream, 1_000_000_000_000);
    let overhead_ns = || session.snapshot().diagnostics.event_overhead_ns;
    until(|| {
        w.cpu(1_000);
        overhead_ns().is_some()
    });
    assert_eq!(overhead_ns(), Some(1_250));
    drop(w.finish(session));
}

fn the_event_overhead_is_the_least_of_several_moments() {
    let w = world();
    with_loaded_events(&w);
    let session = w.session();
    let beside = w.gpu.another_stream();
    w.gpu.kernel_on(&beside, 1_000_000);
    on(&w, &w.gpu.stream, 10_000);
    let overhead_ns = || session.snapshot().diagnostics.event_overhead_ns;
    beside.synchronize().expect("synchronize");
    until(|| overhead_ns() == Some(12_700));
    // The device is idle now, and stays so.
    until(|| {
        w.cpu(1_000_000);
        overhead_ns() == Some(1_250)
    });
    drop(w.finish(session));
}
