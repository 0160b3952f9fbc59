//! Promise: correlation ids have 32 bits and are given anew after 2³² CUDA calls; no activity is
//! then attributed to a call that had its id before.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::cupti_world::{Tier, busy, cupti, kernels, tier};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        attribution_is_exact_through_the_wrap,
        an_id_that_returns_is_not_that_of_the_call_before,
    ]],
)
.with_subscriber_calls();

#[gpu_profile]
fn short(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 10);
}

#[gpu_profile]
fn long(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
    short(t, stream);
}

fn attribution_is_exact_through_the_wrap() {
    const TIMES: u64 = 500;
    let t = tier();
    let streams: Vec<_> = (0..4).map(|_| t.gpu.another_stream()).collect();
    let session = t.session();
    // Every launch is one of several CUDA calls.
    t.cupti.set_correlation(u32::MAX - 2_000);
    std::thread::scope(|scope| {
        for stream in &streams {
            let t = &t;
            scope.spawn(move || (0..TIMES).for_each(|_| long(t, stream)));
        }
    });
    let profile = t.finish(session);
    let calls = 4 * TIMES;
    assert_eq!(kernels(&profile, "short"), [("saxpy", calls, 10 * calls)]);
    assert_eq!(kernels(&profile, "long"), [("saxpy", calls, 1_000 * calls)]);
    assert_eq!(busy(&profile, "short"), (10 * calls, calls, calls, calls));
    let (busy_ns, busy_calls, activities, launches) = busy(&profile, "long");
    assert_eq!((busy_ns, busy_calls), (1_010 * calls, calls));
    assert_eq!((activities, launches), (2 * calls, 2 * calls));
    assert_eq!(cupti(&profile).unattributed, 0);
}

/// When the ids of launches in `long` return, they are those of launches in `short`.
fn an_id_that_returns_is_not_that_of_the_call_before() {
    const STEPS: u32 = 64;
    // Other CUDA calls, some of another thread, lie between the launches. So not every id of a
    // launch returns as one of a launch.
    const LAUNCHES: u64 = 300;
    let t = tier();
    let stream = &t.gpu.stream;
    let session = t.session();
    t.cupti.set_correlation(5_000);
    (0..LAUNCHES).for_each(|_| long(&t, stream));
    for step in 1..STEPS {
        let skipped = step * (u32::MAX / STEPS + 1);
        t.cupti.set_correlation(skipped.wrapping_add(5_000));
        short(&t, stream);
        // Its record is read before thousands of millions of other calls are made.
        t.synchronize();
        drop(gpuprof::collect());
    }
    t.cupti.set_correlation(5_000);
    (0..LAUNCHES).for_each(|_| short(&t, stream));
    let profile = t.finish(session);
    let calls = 2 * LAUNCHES + u64::from(STEPS) - 1;
    assert_eq!(
        kernels(&profile, "long"),
        [("saxpy", LAUNCHES, 1_000 * LAUNCHES)]
    );
    assert_eq!(kernels(&profile, "short"), [("saxpy", calls, 10 * calls)]);
    assert_eq!(busy(&profile, "long").0, 1_010 * LAUNCHES);
    assert_eq!(cupti(&profile).unattributed, 0);
}
