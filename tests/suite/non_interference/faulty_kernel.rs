//! Promise: after a kernel fault the program gets its own errors, gpuprof stops using that context
//! at once, and other contexts are still timed. The test is alone in its process because such an
//! error persists.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
use gpuprof::gpu_profile;
use support::foreign_context::{ForeignContext, RawStream};
use support::suite::Module;
use support::tests;
use support::{Gpu, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![a_faulty_kernel_breaks_its_own_context_alone,]],
);

#[gpu_profile]
fn around(_lent: &RawStream, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn on(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

fn a_faulty_kernel_breaks_its_own_context_alone() {
    let w = world();
    let other = ForeignContext::new(w.sim).expect("a context");
    let lent = other.raw_stream(other.stream, true);
    w.warm_up(|| around(&lent, || ()));
    let session = w.session();
    let broken = Err(CUDA_ERROR_ILLEGAL_ADDRESS);
    around(&lent, || other.fault(other.stream).expect("launch"));
    let answer = other.synchronize().map_err(|error| error.0);
    assert_eq!(answer, broken, "the program sees it first");
    (0..10).for_each(|_| around(&lent, || ()));
    let launched = other.kernel(other.stream, 1).map_err(|error| error.0);
    assert_eq!(launched, broken);
    on(&w.gpu, &w.gpu.stream, 2_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "on"), (1, 2_000, 2_000));
    let around = function(&profile, "around");
    assert_eq!((around.calls, around.untimed_calls), (11, 11));
    let errors = &profile.diagnostics.errors;
    assert!(
        !errors.is_empty() && errors.iter().all(|error| error.code == 700),
        "{errors:?}"
    );
    // gpuprof stops using the context after the first errors, so there is not one error per call.
    let met: u64 = errors.iter().map(|error| error.count).sum();
    assert!(met <= 3, "{errors:?}");
}
