//! Promise: whatever an async function launches in one of its polls, on any thread, is attributed
//! to it; launches of others between its polls are not.

use std::pin::pin;
use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::cupti_world::{Tier, busy, cupti, kernels, tier, work};
use support::executor::{pause, poll};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_future_that_moves_takes_its_kernels_along,
        a_future_that_is_dropped_is_a_call,
    ]],
)
.with_subscriber_calls();

#[gpu_profile]
async fn in_parts(t: &Tier, stream: &Arc<CudaStream>, parts: u32) {
    for _ in 0..parts {
        t.gpu.kernel_on(stream, 1_000);
        inside(t, stream).await;
    }
}

#[gpu_profile]
async fn inside(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 10);
    pause().await;
    t.gpu.kernel_on(stream, 20);
}

#[gpu_profile]
fn between(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 300);
}

fn a_future_that_moves_takes_its_kernels_along() {
    let t = tier();
    let session = t.session();
    let mut future = Box::pin(in_parts(&t, &t.gpu.stream, 2));
    assert!(poll(future.as_mut()).is_pending());
    between(&t, &t.gpu.stream);
    thread::scope(|scope| {
        let polled = scope.spawn(|| {
            t.gpu.context.bind_to_thread().expect("bind");
            let polled = poll(future.as_mut());
            between(&t, &t.gpu.stream);
            polled
        });
        assert!(polled.join().expect("no panic").is_pending());
    });
    t.gpu.kernel(7);
    assert!(poll(future.as_mut()).is_ready());
    t.gpu.kernel(7);
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "in_parts"), [("saxpy", 2, 2_000)]);
    assert_eq!(kernels(&profile, "inside"), [("saxpy", 4, 60)]);
    assert_eq!(kernels(&profile, "between"), [("saxpy", 2, 600)]);
    assert_eq!(busy(&profile, "in_parts"), (2_060, 1, 6, 6));
    assert_eq!(busy(&profile, "inside"), (60, 2, 4, 4));
    assert_eq!(
        (
            cupti(&profile).unattributed,
            cupti(&profile).unattributed_ns
        ),
        (2, 14)
    );
    // Between the polls the GPU ran other tasks' kernels, which are idle time of this call.
    assert_eq!(work(&profile, "in_parts").idle_ns, Some(607));
}

fn a_future_that_is_dropped_is_a_call() {
    let t = tier();
    let session = t.session();
    {
        let mut future = pin!(in_parts(&t, &t.gpu.stream, 5));
        assert!(poll(future.as_mut()).is_pending());
    }
    t.gpu.kernel(7);
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "in_parts"), (1_010, 1, 2, 2));
    assert_eq!(busy(&profile, "inside"), (10, 1, 1, 1));
    assert_eq!(cupti(&profile).unattributed, 1);
}
