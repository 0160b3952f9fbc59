//! Promise: contexts that are not cudarc's are timed with their own events, and the order of work
//! on the null stream is the same as without gpuprof.

use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream};
use gpuprof::{HasStream, gpu_profile};
use support::executor::{pause, poll};
use support::foreign_context::{ForeignContext, RawStream};
use support::suite::Module;
use support::tests;
use support::{Gpu, World, function, gpu, gpu_times, until, world_with};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        two_contexts_of_one_device_have_events_of_their_own,
        what_is_made_at_the_address_of_something_gone_is_new,
        a_stream_at_the_address_of_one_whose_work_still_runs_is_another,
        a_context_made_again_and_again_piles_up_no_events,
        the_resolver_fills_the_pool_of_a_context_that_returned,
        a_raw_context_at_the_address_of_one_that_is_gone_is_another,
        a_raw_context_that_ends_before_its_times_are_read_loses_them_and_no_more,
        a_future_that_ends_on_another_thread_loses_its_time_with_its_raw_context,
        raw_contexts_that_have_ended_pile_up_nothing,
        the_null_stream_waits_for_blocking_streams_as_ever,
        gpuprofs_own_stream_takes_no_part_in_the_null_streams_order,
        a_lent_stream_is_what_it_says,
    ]],
);

/// A world with a second device that nothing else uses: its context ends when a test drops it.
fn world() -> World {
    world_with(2)
}

#[gpu_profile]
fn around(_lent: &RawStream, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn on(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

fn two_contexts_of_one_device_have_events_of_their_own() {
    let w = world();
    let other = ForeignContext::new(w.sim).expect("a context");
    let session = w.session();
    for tells_context in [true, false] {
        around(&other.raw_stream(other.stream, tells_context), || {
            other.kernel(other.stream, 3_000).expect("launch");
            on(&w.gpu, &w.gpu.stream, 50_000);
        });
        other.synchronize().expect("synchronize");
    }
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (2, 6_000, 6_000));
    assert_eq!(gpu_times(&profile, "on"), (2, 100_000, 100_000));
    // Recording an event of one context in the other would return INVALID_HANDLE.
    assert_eq!(profile.diagnostics.errors, []);
}

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
        drop(gpuprof::collect());
        until(|| w.sim.live_contexts() == before);
    }
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    let total = 210 * 101_000;
    assert_eq!(gpu_times(&profile, "on"), (40, total, total));
    assert_eq!(profile.diagnostics.errors, []);
}

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
    // The events of the newer stream are complete, those of the older are not.
    w.cpu(2_000);
    w.sim.reset_calls();
    until(|| w.sim.calls("cuEventElapsedTime_v2") > 0);
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    assert_eq!(gpu_times(&profile, "on"), (2, 1_001_000, 1_001_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_context_made_again_and_again_piles_up_no_events() {
    let w = world();
    // Keeps the second device's primary context alive; gpuprof does not know of this handle.
    let _keeper = CudaContext::new(1).expect("context");
    let session = w.session();
    let round = || {
        let second = Gpu::new(w.sim, 1);
        on(&second, &second.stream, 1_000);
        second.context.synchronize().expect("synchronize");
        drop(gpuprof::collect());
    };
    round();
    let before = w.sim.live_events();
    (0..50).for_each(|_| round());
    assert_eq!(w.sim.live_events(), before);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on"), (51, 51_000, 51_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn the_resolver_fills_the_pool_of_a_context_that_returned() {
    let w = world();
    let _keeper = CudaContext::new(1).expect("context");
    let session = w.session();
    for _ in 0..2 {
        let second = Gpu::new(w.sim, 1);
        w.sim.reset_calls();
        let make = "cuEventCreate";
        // No event completes, so the number of pairs in flight grows until the resolver creates
        // events, too.
        until(|| {
            on(&second, &second.stream, 10);
            thread::sleep(Duration::from_micros(50));
            w.sim.calls(make) > w.sim.calls_here(make)
        });
        second.context.synchronize().expect("synchronize");
        drop(second);
        drop(gpuprof::collect());
        // Gives the resolver time to notice that the context has no other owner.
        thread::sleep(Duration::from_millis(20));
    }
    let profile = w.finish(session);
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_raw_context_at_the_address_of_one_that_is_gone_is_another() {
    let w = world();
    w.sim.reuse_handles(true);
    let session = w.session();
    let mut addresses = Vec::new();
    for ns in [1_000, 20_000, 300_000] {
        let other = ForeignContext::new(w.sim).expect("a context");
        addresses.push(other.context as usize);
        for tells_context in [true, false] {
            around(&other.raw_stream(other.stream, tells_context), || {
                other.kernel(other.stream, ns).expect("launch");
            });
        }
        other.synchronize().expect("synchronize");
        drop(gpuprof::collect());
        other.destroy();
    }
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    addresses.dedup();
    assert_eq!(addresses.len(), 1, "the test needs the same address");
    assert_eq!(gpu_times(&profile, "around"), (6, 642_000, 642_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_raw_context_that_ends_before_its_times_are_read_loses_them_and_no_more() {
    let w = world();
    w.sim.reuse_handles(true);
    let other = ForeignContext::new(w.sim).expect("a context");
    let lent = other.raw_stream(other.stream, true);
    w.warm_up(|| around(&lent, || ()));
    let session = w.session();
    around(&lent, || {
        other.kernel(other.stream, 50_000).expect("launch")
    });
    other.destroy();
    // The new context has the old one's address: an event of the old one must not be used in it.
    let other = ForeignContext::new(w.sim).expect("a context");
    let lent = other.raw_stream(other.stream, true);
    w.sim.reset_calls();
    around(&lent, || other.kernel(other.stream, 700).expect("launch"));
    other.synchronize().expect("synchronize");
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    let function = function(&profile, "around");
    assert_eq!((function.calls, function.untimed.cuda_error), (2, 1));
    assert_eq!(gpu_times(&profile, "around"), (1, 700, 700));
    let errors = &profile.diagnostics.errors;
    assert!(
        errors.iter().all(|error| error.call == "cuCtxGetId") && !errors.is_empty(),
        "{errors:?}"
    );
    other.destroy();
}

#[gpu_profile]
async fn later(_lent: &RawStream) {
    pause().await;
}

fn a_future_that_ends_on_another_thread_loses_its_time_with_its_raw_context() {
    let w = world();
    w.sim.reuse_handles(true);
    let other = ForeignContext::new(w.sim).expect("a context");
    let lent = &other.raw_stream(other.stream, true);
    w.warm_up(|| around(lent, || ()));
    let session = w.session();
    let mut futures = [(); 2].map(|()| Box::pin(later(lent)));
    let [before, after] = &mut futures;
    assert!(poll(before.as_mut()).is_pending() && poll(after.as_mut()).is_pending());
    other.kernel(other.stream, 50_000).expect("launch");
    thread::scope(|scope| {
        scope.spawn(|| assert!(poll(before.as_mut()).is_ready()));
    });
    let address = other.context;
    other.destroy();
    thread::scope(|scope| {
        scope.spawn(|| assert!(poll(after.as_mut()).is_ready()));
    });
    // From now on a call on an event of the old context crashes.
    let another = ForeignContext::new(w.sim).expect("a context");
    assert_eq!(another.context, address, "the test needs the same address");
    w.cpu(50_000);
    let profile = w.finish(session);
    w.sim.reuse_handles(false);
    let later = function(&profile, "later");
    assert_eq!((later.calls, later.untimed.cuda_error), (2, 2));
}

fn raw_contexts_that_have_ended_pile_up_nothing() {
    let w = world();
    let session = w.session();
    let round = || {
        let other = ForeignContext::new(w.sim).expect("a context");
        around(&other.raw_stream(other.stream, true), || {
            other.kernel(other.stream, 1_000).expect("launch");
        });
        other.synchronize().expect("synchronize");
        drop(gpuprof::collect());
        other.destroy();
    };
    // A thread caches the last few contexts, so the first rounds allocate.
    (0..20).for_each(|_| round());
    let before = resident_bytes();
    (0..100).for_each(|_| round());
    let grown = resident_bytes().saturating_sub(before);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (120, 120_000, 120_000));
    assert_eq!(profile.diagnostics.errors, []);
    // Each context has a pool of 400 KB; a leak of all pools would be 40 MB.
    assert!(grown < 10 << 20, "{grown} bytes more for 100 contexts");
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split_whitespace().nth(1).expect("a second number");
    pages.parse::<usize>().expect("a number") * 4_096
}

fn the_null_stream_waits_for_blocking_streams_as_ever() {
    let w = world();
    let other = ForeignContext::new(w.sim).expect("a context");
    let null = ptr::null_mut();
    let session = w.session();
    let began = w.sim.now();
    other.kernel(other.blocking, 40_000).expect("launch");
    // A null stream is that of the current context.
    other.with_current(|| {
        around(&other.raw_stream(null, true), || {
            other.kernel(null, 1_000).expect("launch");
        });
    });
    other.synchronize().expect("synchronize");
    assert_eq!(w.sim.now(), began, "a non-blocking stream takes no part");
    other.synchronize_null_stream().expect("synchronize");
    assert_eq!(w.sim.now() - began, 41_000);
    let profile = w.finish(session);
    // The start event waits for the blocking stream just as the kernel does.
    assert_eq!(gpu_times(&profile, "around"), (1, 1_000, 1_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn gpuprofs_own_stream_takes_no_part_in_the_null_streams_order() {
    let w = world();
    let other = ForeignContext::new(w.sim).expect("a context");
    let session = w.session();
    other.kernel(ptr::null_mut(), 1_000_000).expect("launch");
    w.sim.reset_calls();
    around(&other.raw_stream(other.stream, true), || ());
    // gpuprof measures the event overhead and destroys the stream that it used for that, while the
    // null stream is busy and the clock stands still.
    until(|| w.sim.calls("cuStreamDestroy_v2") > 0);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "around"), (1, 0, 0));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_lent_stream_is_what_it_says() {
    let w = world();
    let other = ForeignContext::new(w.sim).expect("a context");
    let session = w.session();
    around(&other.raw_stream(other.stream, false), || {
        let lent = other.raw_stream(other.stream, true);
        let _same = lent.stream_ref();
        around(&lent, || other.kernel(other.stream, 700).expect("launch"));
    });
    other.synchronize().expect("synchronize");
    let profile = w.finish(session);
    // It is one stream, whichever type provides it: the inner call's time is part of the outer
    // call's.
    let around = gpu(&profile, "around");
    assert_eq!((around.timed_calls, around.times.self_ns), (2, 700));
    assert_eq!(profile.diagnostics.errors, []);
}
