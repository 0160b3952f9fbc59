//! Promise: `GPUPROF_MEMORY=on` without CUPTI reads the counters of the stream-ordered pool around
//! outermost timed calls, disturbs nothing, and says what it cannot see.

use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::profile::{MemoryKind, MemorySource, MemoryUse, PoolMemory};
use gpuprof::{Profile, Sampling, Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, function, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_have_what_they_change_in_the_pool,
        nested_calls_are_part_of_the_outermost_one,
        the_pool_is_asked_for_timed_calls_alone,
        nothing_is_asked_unless_memory_is_asked_for,
        no_capture_is_disturbed_and_no_captured_call_asks,
        totals_are_those_of_the_window,
        a_driver_without_pools_is_one_line,
    ]],
);

const READS: &str = "cuMemPoolGetAttribute";

#[gpu_profile]
fn grow(stream: &Arc<CudaStream>, bytes: usize) -> CudaSlice<u8> {
    alloc(stream, bytes)
}

#[gpu_profile]
fn release(_stream: &Arc<CudaStream>, slice: CudaSlice<u8>) {
    drop(slice);
}

#[gpu_profile]
fn outer(stream: &Arc<CudaStream>) -> CudaSlice<u8> {
    drop(grow(stream, 700));
    grow(stream, 300)
}

#[gpu_profile]
fn inside(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 100);
}

/// Of the world itself, allocated before any session.
const OTHER_BYTES: u64 = 32;

fn alloc(stream: &Arc<CudaStream>, bytes: usize) -> CudaSlice<u8> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.alloc::<u8>(bytes) }.expect("an allocation")
}

fn session(sampling: Sampling) -> Session {
    let builder = Session::builder().memory(true).sampling(sampling);
    builder.start().expect("no other session")
}

fn pool(profile: &Profile, name: &str) -> PoolMemory {
    let pool = function(profile, name).pool_memory;
    pool.unwrap_or_else(|| panic!("{name} was not asked"))
}

fn changes(calls: u64, grown: u64, shrunk: u64, peak_growth: u64) -> PoolMemory {
    let mut pool = PoolMemory::default();
    (pool.calls, pool.grown_bytes, pool.shrunk_bytes) = (calls, grown, shrunk);
    pool.peak_growth_bytes = peak_growth;
    pool
}

fn of_device(profile: &Profile) -> &MemoryUse {
    let memory = profile.memory.as_ref().expect("memory was asked for");
    assert_eq!(memory.source, MemorySource::PoolCounters);
    let [of_device] = memory.uses.as_slice() else {
        panic!("one device: {memory:?}");
    };
    assert_eq!(
        (of_device.kind, of_device.device),
        (MemoryKind::Device, Some(0))
    );
    of_device
}

fn calls_have_what_they_change_in_the_pool() {
    let w = world();
    let stream = &w.gpu.stream;
    let session = session(Sampling::EveryCall);
    let first = grow(stream, 1_000);
    let second = grow(stream, 500);
    release(stream, first);
    let third = grow(stream, 200);
    let profile = w.finish(session);
    assert_eq!(pool(&profile, "grow"), changes(3, 1_700, 0, 1_500));
    assert_eq!(pool(&profile, "release"), changes(1, 0, 1_000, 0));
    let device = of_device(&profile);
    let (live, peak) = (OTHER_BYTES + 700, OTHER_BYTES + 1_500);
    assert_eq!((device.live_bytes, device.peak_bytes), (live, peak));
    assert_eq!(
        (device.reserved_bytes, device.peak_reserved_bytes),
        (Some(live), Some(peak))
    );
    assert_eq!(device.peak_function.as_deref(), Some("pool_memory::grow"));
    let table = profile.to_string();
    let limit = "Memory: peak 1.53 kB of 17.2 GB in pool_memory::grow, live 732 B, reserved 732 B";
    assert!(table.contains(limit), "{table}");
    assert!(
        table.contains("GPUPROF_CUPTI=on records each allocation"),
        "{table}"
    );
    // Its peak belongs to the program.
    assert_eq!(w.sim.calls("cuMemPoolSetAttribute"), 0);
    drop((second, third));
}

fn nested_calls_are_part_of_the_outermost_one() {
    let w = world();
    let session = session(Sampling::EveryCall);
    let kept = outer(&w.gpu.stream);
    let profile = w.finish(session);
    assert_eq!(pool(&profile, "outer"), changes(1, 300, 0, 700));
    assert_eq!(function(&profile, "grow").pool_memory, None);
    drop(kept);
}

fn the_pool_is_asked_for_timed_calls_alone() {
    let w = world();
    drop(w.finish(session(Sampling::EveryCall)));
    let session = session(Sampling::OneIn(4.try_into().expect("not 0")));
    let before = w.sim.calls(READS);
    for _ in 0..400 {
        drop(grow(&w.gpu.stream, 8));
    }
    let asked = w.sim.calls(READS) - before;
    let profile = w.finish(session);
    let timed = function(&profile, "grow")
        .gpu
        .as_ref()
        .expect("some were timed")
        .timed_calls;
    assert!((1..400).contains(&timed), "{timed}");
    // Two counters at each end.
    assert_eq!((asked, pool(&profile, "grow").calls), (4 * timed, timed));
}

fn nothing_is_asked_unless_memory_is_asked_for() {
    let w = world();
    let session = w.session();
    drop(outer(&w.gpu.stream));
    let profile = w.finish(session);
    assert_eq!(profile.memory, None);
    assert_eq!(function(&profile, "outer").pool_memory, None);
    assert_eq!(
        [READS, "cuDeviceGetDefaultMemPool"].map(|call| w.sim.calls(call)),
        [0; 2]
    );
}

fn no_capture_is_disturbed_and_no_captured_call_asks() {
    let w = world();
    let (captured, free) = (w.gpu.another_stream(), w.gpu.another_stream());
    let pool_calls = [READS, "cuDeviceGetDefaultMemPool"];
    for mode in [
        Mode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        Mode::CU_STREAM_CAPTURE_MODE_RELAXED,
    ] {
        let session = session(Sampling::EveryCall);
        (pool_calls.iter()).for_each(|call| w.sim.forbid_during_capture(call, true));
        captured.begin_capture(mode).expect("begin");
        let before = w.sim.calls(READS);
        inside(&w, &captured);
        assert_eq!(w.sim.calls(READS), before, "a captured call");
        // On this thread and on another one, beside the capture.
        inside(&w, &free);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                w.gpu.context.bind_to_thread().expect("bind");
                inside(&w, &free);
            });
        });
        drop(session.snapshot());
        let graph = captured
            .end_capture(Flags(0))
            .expect("the capture is whole");
        assert!(graph.is_some(), "{mode:?}");
        (pool_calls.iter()).for_each(|call| w.sim.forbid_during_capture(call, false));
        let profile = w.finish(session);
        assert_eq!(pool(&profile, "inside"), changes(2, 0, 0, 0));
        assert_eq!(profile.diagnostics.errors, [], "{mode:?}");
    }
}

fn totals_are_those_of_the_window() {
    let w = world();
    let session = session(Sampling::EveryCall);
    let kept = grow(&w.gpu.stream, 64);
    gpuprof::reset();
    drop(grow(&w.gpu.stream, 32));
    let profile = w.finish(session);
    assert_eq!(pool(&profile, "grow"), changes(1, 32, 0, 32));
    assert_eq!(of_device(&profile).live_bytes, OTHER_BYTES + 64);
    drop(kept);
    let profile = w.finish(w.session());
    assert_eq!(function(&profile, "grow").pool_memory, None);
}

fn a_driver_without_pools_is_one_line() {
    let w = world();
    // CUDA_ERROR_NOT_SUPPORTED.
    w.sim.fail("cuDeviceGetDefaultMemPool", 1, u64::MAX, 801);
    let session = session(Sampling::EveryCall);
    for _ in 0..5 {
        drop(grow(&w.gpu.stream, 64));
    }
    let profile = w.finish(session);
    assert_eq!(function(&profile, "grow").pool_memory, None);
    let [error] = profile.diagnostics.errors.as_slice() else {
        panic!("{:?}", profile.diagnostics.errors);
    };
    assert_eq!(
        (error.call.as_str(), error.code, error.count),
        ("cuDeviceGetDefaultMemPool", 801, 1)
    );
    assert!(profile.memory.expect("it was asked for").uses.is_empty());
}
