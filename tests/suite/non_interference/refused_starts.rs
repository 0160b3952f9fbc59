//! Promise: a call whose start event cannot be recorded keeps nothing alive.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaStream, sys};
use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{Gpu, function, until, world_with};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![a_call_that_cannot_start_keeps_no_context]],
);

#[gpu_profile(stream = [a, b])]
fn on_both(a: &Arc<CudaStream>, b: &Arc<CudaStream>) {}

thread_local! {
    /// The record of gpuprof's on this thread that fails; 0 for none.
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

extern "C" fn record(event: sys::CUevent, stream: sys::CUstream) -> c_int {
    let nth = REFUSED.get();
    REFUSED.set(nth.saturating_sub(1));
    match nth {
        1 => sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as c_int,
        // SAFETY: passed on from gpuprof, to the driver's function of this name.
        _ => unsafe { sys::cuEventRecord(event, stream) as c_int },
    }
}

fn a_call_that_cannot_start_keeps_no_context() {
    // A second device that nothing else uses: its context ends when the test drops it.
    let w = world_with(2);
    let before = w.sim.live_contexts();
    let by = |name: &str| match name {
        "cuEventRecord" => record as *const c_void,
        _ => std::ptr::null(),
    };
    // SAFETY: the function has the signature of the driver's of that name.
    assert!(unsafe { gpuprof::__private::replace_driver_functions(by) });
    let session = w.session();
    for (refused, is_held) in [(1, false), (2, false), (1, true), (2, true)] {
        let second = Gpu::new(w.sim, 1);
        let another = second.another_stream();
        on_both(&second.stream, &another);
        if !is_held {
            drop(gpuprof::collect());
        }
        REFUSED.set(refused);
        on_both(&second.stream, &another);
        drop((second, another));
        until(|| w.sim.live_contexts() == before);
    }
    let profile = w.finish(session);
    let function = function(&profile, "on_both");
    assert_eq!((function.calls, function.untimed.cuda_error), (8, 4));
}
