//! The host's clock: waits are real, durations are modelled.

mod common;

use std::time::{Duration, Instant};

use common::{context_and_stream, elapsed, event, function, record, saxpy};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use simcuda::{Sim, install};

/// A synchronize takes as long as the modelled work, a launch does not; the pair reads 20 ms and little more,
/// in steps of 0.5 µs.
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
    // What the host took between the calls is part of the pair, as on a real device.
    let most = 20.002 + queued.as_secs_f32() * 1e3;
    assert!(
        (20.001_f32..most).contains(&ms),
        "{ms} ms, queued in {queued:?}"
    );
    let steps = f64::from(ms) / 0.0005;
    assert!(
        (steps - steps.round()).abs() < 0.01,
        "{ms} ms is no multiple of 0.5 µs"
    );
}
