//! Promise: nobody waits for times that the driver will never give.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::{Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, function, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_context_that_cannot_be_made_current_is_not_waited_for,
    ]],
);

const INVALID_VALUE: i32 = 1;
/// Far longer than the report takes without a wait.
const WAIT: Duration = Duration::from_secs(30);

#[gpu_profile]
fn launch(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
}

fn a_context_that_cannot_be_made_current_is_not_waited_for() {
    let w = world();
    let stream = &w.gpu.stream;
    w.warm_up(|| launch(&w, stream));
    let session = Session::builder().exit_wait(WAIT).start().expect("start");
    // It is current on this thread, so that only gpuprof's own thread needs the call.
    w.sim
        .fail("cuCtxPushCurrent_v2", 1, u64::MAX, INVALID_VALUE);
    launch(&w, stream);
    let began = Instant::now();
    let profile = w.finish(session);
    assert!(began.elapsed() < WAIT / 3, "{:?}", began.elapsed());
    let launch = function(&profile, "launch");
    assert_eq!((launch.untimed_calls, launch.untimed.cuda_error), (1, 1));
    let errors = profile.diagnostics.errors.iter();
    let errors: Vec<_> = errors.map(|error| &*error.call).collect();
    assert_eq!(errors, ["cuCtxPushCurrent_v2"]);
}
