//! Promise: calls of async functions that are pending leave event pairs for other calls.

use std::cell::Cell;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::executor::{pause, poll, run};
use support::suite::Module;
use support::tests;
use support::{World, gpu, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![pending_calls_leave_event_pairs_for_others]],
);

#[gpu_profile]
async fn waits(_stream: &Arc<CudaStream>, answers: &Cell<bool>) {
    while !answers.get() {
        pause().await;
    }
}

#[gpu_profile]
fn returns_at_once(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
}

fn pending_calls_leave_event_pairs_for_others() {
    const PENDING: u64 = 16_384;
    let w = world();
    let session = w.session();
    let answers = Cell::new(false);
    let stream = &w.gpu.stream;
    let mut futures: Vec<_> = (0..PENDING)
        .map(|_| Box::pin(waits(stream, &answers)))
        .collect();
    for future in &mut futures {
        assert!(poll(future.as_mut()).is_pending());
    }
    (0..100).for_each(|_| returns_at_once(&w, stream));
    stream.synchronize().expect("synchronize");
    let profile = gpuprof::collect();
    assert_eq!(gpu(&profile, "returns_at_once").timed_calls, 100);

    // Those beyond the share of async calls go untimed, and are counted.
    answers.set(true);
    for future in &mut futures {
        assert!(poll(future.as_mut()).is_ready());
    }
    let profile = w.finish(session);
    let untimed = &profile.diagnostics.untimed;
    assert_eq!(
        gpu(&profile, "waits").timed_calls + untimed.queue_full,
        PENDING / 2
    );
    assert_eq!(untimed.pool_exhausted, PENDING / 2);

    // What they occupied is free again.
    let session = w.session();
    run(&w, waits(stream, &answers), 0);
    let profile = w.finish(session);
    assert_eq!(gpu(&profile, "waits").timed_calls, 1);
}
