//! Promise: a primary context that the program resets takes nothing with it but the times that
//! were pending in it.

use std::sync::Arc;

use cudarc::driver::{CudaStream, sys};
use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{Gpu, function, gpu_times, world_with};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_primary_context_that_is_reset_loses_the_times_that_are_pending,
    ]],
);

#[gpu_profile]
fn long(gpu: &Gpu, stream: &Arc<CudaStream>) {
    gpu.kernel_on(stream, 1_000_000);
}

/// No owner keeps a primary context from `cuDevicePrimaryCtxReset`. The next one has its address.
fn a_primary_context_that_is_reset_loses_the_times_that_are_pending() {
    let w = world_with(2);
    let session = w.session();
    for _ in 0..20 {
        let ended = Gpu::new(w.sim, 1);
        long(&ended, &ended.stream);
        // SAFETY: what was made in the context is used no more.
        unsafe { sys::cuDevicePrimaryCtxReset_v2(1) }
            .result()
            .expect("a reset");
        // Its handles are those of nothing.
        std::mem::forget(ended);
        let next = Gpu::new(w.sim, 1);
        long(&next, &next.stream);
        next.stream.synchronize().expect("synchronize");
        let _ = gpuprof::collect();
    }
    let profile = w.finish(session);
    let long = function(&profile, "long");
    let timed = long.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    assert!((20..=40).contains(&timed), "{timed}");
    assert_eq!((long.calls, long.untimed.cuda_error), (40, 40 - timed));
    let (_, total_ns, _) = gpu_times(&profile, "long");
    assert_eq!(total_ns, timed * 1_000_000);
}
