//! Promise: totals, self times and the call tree are exact, however functions nest.

mod common;

use std::sync::Arc;

use common::{cpu_times, function, gpu, gpu_times, world, World};
use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;

#[gpu_profile]
fn outer(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(1_000);
    w.gpu.kernel(5_000);
    inner(w, stream);
    inner(w, stream);
    w.cpu(500);
}

#[gpu_profile]
fn inner(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(200);
    w.gpu.kernel_on(stream, 7_000);
}

#[gpu_profile]
fn driver(w: &World) {
    outer(w, &w.gpu.stream);
    inner(w, &w.gpu.stream);
}

#[test]
fn totals_and_self_times_of_nested_calls() {
    let w = world();
    let session = w.session();
    driver(&w);
    driver(&w);
    let profile = w.finish(session);

    assert_eq!(cpu_times(&profile, "driver"), (2, 2 * 2_100, 0));
    assert_eq!(cpu_times(&profile, "outer"), (2, 2 * 1_900, 2 * 1_500));
    assert_eq!(cpu_times(&profile, "inner"), (6, 6 * 200, 6 * 200));

    // The CPU time before the first kernel of an idle stream is in the pair too: event to event.
    let inner = gpu(&profile, "inner");
    assert_eq!(inner.timed_calls, 6);
    assert_eq!(function(&profile, "driver").gpu, None);
    assert_eq!(function(&profile, "driver").gpu_children_ns, gpu(&profile, "outer").times.total_ns + 2 * 7_000);
    let (_, outer_total, outer_self) = gpu_times(&profile, "outer");
    // First round: 5 000 from its own kernel, begun 1 000 after the start event, and 14 000 from inside. Second round: the
    // stream is busy until its start event, so the 1 000 before the kernel are not in the pair.
    assert_eq!((outer_total, outer_self), (20_000 + 19_000, 6_000 + 5_000));
}
