//! The host's clock: modelled durations, and waits that take as long.

mod common;

use std::time::{Duration, Instant};

use common::{context_and_stream, elapsed, event, function, record, saxpy};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use simcuda::{Sim, install};

/// A synchronize takes as long as the modelled work, a launch does not. The event pair measures 20
/// ms and little more, in steps of 0.5 µs.
#[test]
fn synchronizing_waits_for_modelled_time() {
    let sim: Sim = install().unwrap();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(64).unwrap(),
        stream.alloc_zeros(64).unwrap(),
    );
    stream.synchronize().unwrap();
    sim.set_kernel_ns("", 20_000_000);
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    let begun = Instant::now();
    record(start, &stream).unwrap();
    saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    record(end, &stream).unwrap();
    let queued = begun.elapsed();
    stream.synchronize().unwrap();
    let waited = begun.elapsed();
    assert!(
        queued < Duration::from_millis(15),
        "queueing took {queued:?}"
    );
    assert!(
        waited >= Duration::from_millis(20),
        "waiting took {waited:?}"
    );
    let ms = elapsed(start, end).unwrap();
    // The host's time between the calls is part of the measurement, as on a real device.
    let max_ms = 20.002 + queued.as_secs_f32() * 1e3;
    assert!(
        (20.001_f32..max_ms).contains(&ms),
        "{ms} ms, queued in {queued:?}"
    );
    let steps = f64::from(ms) / 0.0005;
    assert!(
        (steps - steps.round()).abs() < 0.01,
        "{ms} ms is no multiple of 0.5 µs"
    );
}

/// With 1,021 operations behind the running one, a call waits until that one ends, as on an H200
/// (driver 580.159).
#[test]
fn a_full_queue_blocks_the_caller() {
    let sim: Sim = install().unwrap();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "spin");
    let spin = |ns: u64| {
        let mut launch = stream.launch_builder(&kernel);
        // SAFETY: this is the kernel's one parameter.
        unsafe { launch.arg(&ns).launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    };
    stream.synchronize().unwrap();
    // Long enough for the calls behind it on a busy machine.
    const BUSY_NS: u64 = 1_000_000_000;
    let begun = sim.now();
    spin(BUSY_NS);
    for _ in 0..1_021 {
        spin(0);
    }
    assert!(sim.now() - begun < BUSY_NS, "there was room");
    spin(0);
    assert!(sim.now() - begun >= BUSY_NS, "there was none");
    stream.synchronize().unwrap();
}

/// The simulator copies the source at the call, which takes no modelled time: an event pair around
/// 64 MiB measures the modelled copy and little more.
#[test]
fn saving_the_source_of_a_copy_takes_no_modelled_time() {
    let sim: Sim = install().unwrap();
    let (_context, stream) = context_and_stream();
    sim.set_kernel_ns("memcpy", 1_000_000);
    let host = vec![1_u8; 64 << 20];
    let mut device = stream.alloc_zeros::<u8>(host.len()).unwrap();
    stream.synchronize().unwrap();
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    let begun = Instant::now();
    record(start, &stream).unwrap();
    stream.memcpy_htod(&host, &mut device).unwrap();
    record(end, &stream).unwrap();
    let took = begun.elapsed().as_secs_f32() * 1e3;
    stream.synchronize().unwrap();
    let ms = elapsed(start, end).unwrap();
    assert!(ms < 1.0 + took / 2.0, "{ms} ms, the calls took {took} ms");
}
