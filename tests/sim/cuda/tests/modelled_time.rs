//! The time model under the virtual clock, where times are as exact as a float32 of milliseconds.

mod common;

use common::{context_and_stream, elapsed, event, function, query, record, saxpy, virtual_clock};
use cudarc::driver::sys::CUevent_flags::{CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING};
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaStream, LaunchConfig, PushKernelArg, result};

/// cuEventElapsedTime returns the time between two records, here around a launch of 12.5 µs.
#[test]
fn an_event_pair_around_a_launch_measures_its_duration() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(256).unwrap(),
        stream.alloc_zeros(256).unwrap(),
    );
    sim.set_kernel_ns("saxpy", 12_500);
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    let before = sim.now();
    record(start, &stream).unwrap();
    saxpy(&stream, &kernel, 2.0, &x, &mut y).unwrap();
    record(end, &stream).unwrap();
    assert_eq!(
        sim.now(),
        before,
        "launches and records take no host time by default"
    );
    assert_eq!(query(start), Ok(()));
    assert_eq!(query(end), Err(CUresult::CUDA_ERROR_NOT_READY));
    assert_eq!(elapsed(start, end), Err(CUresult::CUDA_ERROR_NOT_READY));
    sim.advance(12_499);
    assert_eq!(query(end), Err(CUresult::CUDA_ERROR_NOT_READY));
    sim.advance(1);
    assert_eq!(query(end), Ok(()));
    assert_eq!(elapsed(start, end), Ok(0.0125));
    stream.synchronize().unwrap();
    assert_eq!(sim.now(), before + 12_500, "all work had ended");
}

/// A spin kernel takes the time in its argument, not the default duration.
#[test]
fn a_spin_kernel_takes_the_time_in_its_argument() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "spin");
    let before = sim.now();
    for ns in [12_345_u64, 1] {
        let mut launch = stream.launch_builder(&kernel);
        // SAFETY: this is the kernel's one parameter.
        unsafe { launch.arg(&ns).launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(sim.now() - before, 12_346);
}

/// Streams overlap, and a synchronize waits for its own stream only.
#[test]
fn two_streams_overlap() {
    let (sim, _turn) = virtual_clock();
    let (context, first) = context_and_stream();
    let second = context.new_stream().unwrap();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        first.alloc_zeros(64).unwrap(),
        first.alloc_zeros(64).unwrap(),
    );
    let before = sim.now();
    sim.set_kernel_ns("saxpy", 30_000);
    saxpy(&first, &kernel, 1.0, &x, &mut y).unwrap();
    sim.set_kernel_ns("saxpy", 50_000);
    saxpy(&second, &kernel, 1.0, &x, &mut y).unwrap();
    let next_start = |stream: &CudaStream| sim.next_start(stream.cu_stream() as u64);
    assert_eq!(next_start(&first), before + 30_000);
    first.synchronize().unwrap();
    assert_eq!(sim.now(), before + 30_000);
    assert_eq!(next_start(&second), before + 50_000);
    sim.advance(5);
    assert_eq!(next_start(&first), before + 30_005);
    context.synchronize().unwrap();
    assert_eq!(sim.now(), before + 50_000);
}

/// cuStreamWaitEvent: later work starts when the event is complete.
#[test]
fn a_stream_waits_for_an_event_of_another() {
    let (sim, _turn) = virtual_clock();
    let (context, first) = context_and_stream();
    let second = context.new_stream().unwrap();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        first.alloc_zeros(64).unwrap(),
        first.alloc_zeros(64).unwrap(),
    );
    let before = sim.now();
    sim.set_kernel_ns("saxpy", 30_000);
    saxpy(&first, &kernel, 1.0, &x, &mut y).unwrap();
    second.join(&first).unwrap();
    saxpy(&second, &kernel, 1.0, &x, &mut y).unwrap();
    second.synchronize().unwrap();
    assert_eq!(sim.now(), before + 60_000);
}

/// Work on an idle stream starts at the call, not when the previous work ended.
#[test]
fn an_idle_gap_is_part_of_the_pair() {
    let (sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    record(start, &stream).unwrap();
    sim.advance(7_000);
    record(end, &stream).unwrap();
    assert_eq!(elapsed(start, end), Ok(0.007));
    assert_eq!(elapsed(end, start), Ok(-0.007), "the difference is signed");
}

/// An event record can take longer while another stream of the device has work.
#[test]
fn event_records_take_longer_under_load() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let busy = context.new_stream().unwrap();
    let pair = || {
        let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
        record(start, &stream).unwrap();
        record(end, &stream).unwrap();
        stream.synchronize().unwrap();
        elapsed(start, end)
    };
    sim.set_event_ns(1_000);
    sim.set_event_ns_under_load(12_000);
    assert_eq!(pair(), Ok(0.001));
    (0..10).for_each(|_| record(event(CU_EVENT_DEFAULT), &busy).unwrap());
    assert_eq!(pair(), Ok(0.012));
    busy.synchronize().unwrap();
    sim.set_event_ns(0);
    sim.set_event_ns_under_load(0);
}

/// An event record takes modelled time of the stream, a call takes that of the host.
#[test]
fn event_records_and_calls_take_modelled_time() {
    let (sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    sim.set_event_ns(1_500);
    record(start, &stream).unwrap();
    record(end, &stream).unwrap();
    stream.synchronize().unwrap();
    sim.set_event_ns(0);
    assert_eq!(elapsed(start, end), Ok(0.0015));

    sim.set_call_ns("cuEventRecord", 400);
    let before = sim.now();
    record(start, &stream).unwrap();
    record(end, &stream).unwrap();
    sim.set_call_ns("cuEventRecord", 0);
    assert_eq!(sim.now(), before + 800);
    assert_eq!(elapsed(start, end), Ok(0.0004));
}

/// cuEventElapsedTime: INVALID_HANDLE for an event never recorded and for one without timing;
/// cuEventQuery: an event never recorded is complete.
#[test]
fn untimed_events_have_no_elapsed_time() {
    let (_sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (timed, never) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    let untimed = event(CU_EVENT_DISABLE_TIMING);
    record(timed, &stream).unwrap();
    record(untimed, &stream).unwrap();
    assert_eq!(
        elapsed(timed, never),
        Err(CUresult::CUDA_ERROR_INVALID_HANDLE)
    );
    assert_eq!(
        elapsed(untimed, timed),
        Err(CUresult::CUDA_ERROR_INVALID_HANDLE)
    );
    assert_eq!(query(never), Ok(()));
}

/// API synchronization behavior: a copy to pageable memory returns when it is complete, one to
/// page-locked memory at once.
#[test]
fn copies_to_the_host_wait_for_pageable_memory_only() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let source = stream.clone_htod(&[5_u8; 32]).unwrap();
    sim.set_kernel_ns("memcpy", 9_000);
    let before = sim.now();
    // SAFETY: written before it is read.
    let mut pinned = unsafe { context.alloc_pinned::<u8>(32) }.unwrap();
    let address = pinned.as_mut_ptr().unwrap();
    // SAFETY: `pinned` has 32 bytes and lives to the end of the test.
    let target = unsafe { std::slice::from_raw_parts_mut(address, 32) };
    // SAFETY: both have 32 bytes.
    unsafe {
        result::memcpy_dtoh_async(target, device_address(&source, &stream), stream.cu_stream())
    }
    .unwrap();
    assert_eq!(sim.now(), before);
    let mut pageable = [0_u8; 32];
    stream.memcpy_dtoh(&source, &mut pageable).unwrap();
    sim.set_kernel_ns("memcpy", 0);
    assert_eq!(sim.now(), before + 18_000);
    assert_eq!((pageable, &*target), ([5; 32], &[5; 32][..]));
}

fn device_address(
    slice: &cudarc::driver::CudaSlice<u8>,
    stream: &cudarc::driver::CudaStream,
) -> sys::CUdeviceptr {
    cudarc::driver::DevicePtr::device_ptr(slice, stream).0
}

/// A per-thread default stream (0x2) is another stream on each thread.
#[test]
fn the_per_thread_stream_is_one_per_thread() {
    let (_sim, _turn) = virtual_clock();
    let (context, _stream) = context_and_stream();
    let id = |context: &cudarc::driver::CudaContext| {
        context.bind_to_thread().unwrap();
        let mut id = 0;
        // SAFETY: 0x2 is CU_STREAM_PER_THREAD, `id` is writable.
        unsafe { sys::cuStreamGetId(2 as sys::CUstream, &mut id) }
            .result()
            .unwrap();
        id
    };
    let here = id(&context);
    assert_eq!(here, id(&context));
    let there = std::thread::spawn({
        let context = context.clone();
        move || id(&context)
    });
    assert_ne!(here, there.join().unwrap());
}

/// cuEventElapsedTime: elapsed time between two events (in milliseconds with a resolution of around
/// 0.5 microseconds). By default exact under the virtual clock.
#[test]
fn elapsed_times_are_rounded_on_request() {
    let (sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    for (step, ns, expected) in [
        (0, 1_249, 0.001_249),
        (500, 1_249, 0.001),
        (500, 1_250, 0.0015),
        (500, 100, 0.0),
    ] {
        sim.set_resolution_ns(step);
        record(start, &stream).unwrap();
        sim.advance(ns);
        record(end, &stream).unwrap();
        assert_eq!(elapsed(start, end), Ok(expected), "{step} {ns}");
    }
    sim.set_resolution_ns(0);
}

/// cuEventElapsedTime returns a `float`: 24 bits of milliseconds, so that at 10 s the step is
/// about 1 µs and at an hour 250 µs.
#[test]
fn milliseconds_are_float32() {
    let (sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    for (ns, expected) in [(10_000_000_300, 10_000.0), (3_600_000_100_000, 3_600_000.0)] {
        record(start, &stream).unwrap();
        sim.advance(ns);
        record(end, &stream).unwrap();
        assert_eq!(elapsed(start, end), Ok(expected));
    }
}

/// cuStreamDestroy: the function will return immediately and the resources [...] will be released
/// automatically once the device has completed all work; cuCtxSynchronize waits for all preceding
/// requested tasks, those among them.
#[test]
fn a_context_waits_for_the_work_of_a_destroyed_stream() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(64).unwrap(),
        stream.alloc_zeros(64).unwrap(),
    );
    let before = sim.now();
    sim.set_kernel_ns("saxpy", 8_000);
    let gone = context.new_stream().unwrap();
    saxpy(&gone, &kernel, 1.0, &x, &mut y).unwrap();
    drop(gone);
    assert_eq!(sim.now(), before);
    context.synchronize().unwrap();
    assert_eq!(sim.now(), before + 8_000);
}
