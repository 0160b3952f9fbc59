//! Promise: contexts that are not cudarc's are timed with events of their own, and the null stream's order stays as it is
//! without gpuprof.

mod common;
mod other_context;

use std::ptr;
use std::sync::Arc;

use common::{Gpu, World, gpu, gpu_times, until, world_with};
use cudarc::driver::CudaStream;
use gpuprof::{HasStream, gpu_profile};
use other_context::{Lent, Other};

/// With a second device that nobody else uses: its context ends when a test lets go of it.
fn world() -> World {
    world_with(2)
}

#[gpu_profile]
fn around(_lent: &Lent, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn on(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

#[test]
fn two_contexts_of_one_device_have_events_of_their_own() {
    let w = world();
    let other = Other::new(w.sim).expect("a context");
    let session = w.session();
    for tells_context in [true, false] {
        around(&other.lend(other.stream, tells_context), || {
            other.kernel(other.stream, 3_000).expect("launch");
            on(&w.gpu, &w.gpu.stream, 50_000);
        });
        other.synchronize(other.stream).expect("synchronize");
    }
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (2, 6_000, 6_000));
    assert_eq!(gpu_times(&profile, "on"), (2, 100_000, 100_000));
    // An event of the one recorded in the other would be INVALID_HANDLE.
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn what_is_made_at_the_address_of_something_gone_is_new() {
    let w = world();
    w.sim.reuse_handles(true);
    let session = w.session();
    for ns in 1..=20 {
        let before = w.sim.live_contexts();
        {
            let second = Gpu::new(w.sim, 1);
            on(&second, &second.stream, 1_000 * ns);
            on(&second, &second.another_stream(), 100_000 * ns);
            second.context.synchronize().expect("synchronize");
        }
        drop(gpuprof::report());
        until(|| w.sim.live_contexts() == before);
    }
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    let total = 210 * 101_000;
    assert_eq!(gpu_times(&profile, "on"), (40, total, total));
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn a_stream_at_the_address_of_one_whose_work_still_runs_is_another() {
    let w = world();
    w.sim.reuse_handles(true);
    let (long, short) = (w.gpu.another_stream(), w.gpu.another_stream());
    drop(short);
    let handle = long.cu_stream();
    let session = w.session();
    on(&w.gpu, &long, 1_000_000);
    drop(long);
    let short = w.gpu.another_stream();
    assert_eq!(short.cu_stream(), handle, "the test needs the same address");
    on(&w.gpu, &short, 1_000);
    // The newer one's events are complete, the older one's are not.
    w.cpu(2_000);
    w.sim.reset_calls();
    until(|| w.sim.calls("cuEventElapsedTime_v2") > 0);
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    assert_eq!(gpu_times(&profile, "on"), (2, 1_001_000, 1_001_000));
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn the_null_stream_waits_for_blocking_streams_as_ever() {
    let w = world();
    let other = Other::new(w.sim).expect("a context");
    let null = ptr::null_mut();
    let session = w.session();
    let began = w.sim.now();
    other.kernel(other.blocking, 40_000).expect("launch");
    // Null means the current context's.
    other.inside(|| {
        around(&other.lend(null, true), || {
            other.kernel(null, 1_000).expect("launch");
        });
    });
    other.synchronize(other.stream).expect("synchronize");
    assert_eq!(w.sim.now(), began, "a non-blocking stream takes no part");
    other.synchronize(null).expect("synchronize");
    assert_eq!(w.sim.now() - began, 41_000);
    let profile = w.finish(session);
    // The pair's own start waits as the kernel does.
    assert_eq!(gpu_times(&profile, "around"), (1, 1_000, 1_000));
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn gpuprofs_own_stream_takes_no_part_in_the_null_streams_order() {
    let w = world();
    let other = Other::new(w.sim).expect("a context");
    let session = w.session();
    other.kernel(ptr::null_mut(), 1_000_000).expect("launch");
    w.sim.reset_calls();
    around(&other.lend(other.stream, true), || ());
    // The event floor is read and its stream put away while the null stream is busy and no time passes.
    until(|| w.sim.calls("cuStreamDestroy_v2") > 0);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (1, 0, 0));
    assert_eq!(profile.trust.errors, []);
}

#[test]
fn a_lent_stream_is_what_it_says() {
    let w = world();
    let other = Other::new(w.sim).expect("a context");
    let session = w.session();
    around(&other.lend(other.stream, false), || {
        let lent = other.lend(other.stream, true);
        let _same = lent.stream_ref();
        around(&lent, || other.kernel(other.stream, 700).expect("launch"));
    });
    other.synchronize(other.stream).expect("synchronize");
    let profile = w.finish(session);
    // One stream however it is lent: the inner call's time is part of the outer one's.
    let around = gpu(&profile, "around");
    assert_eq!((around.timed_calls, around.times.self_ns), (2, 700));
    assert_eq!(profile.trust.errors, []);
}
