//! Promise: a span asks for the current context only where the driver needs that, and leaves it as
//! it is.

use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaStream, result};
use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{World, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_stream_that_names_its_context_is_not_made_current,
        a_default_stream_is_made_current,
        a_driver_that_needs_the_context_gets_it,
    ]],
);

#[gpu_profile]
fn on(w: &World, stream: &Arc<CudaStream>) {
    let _ = stream;
    w.gpu.kernel_on(stream, 1_000);
}

const CALLS: [&str; 2] = ["cuCtxGetCurrent", "cuCtxPushCurrent_v2"];

/// The calls of [`CALLS`] that five spans make on a thread without a current context, and what the
/// thread has afterwards.
fn calls_of_spans(w: &World, stream: &Arc<CudaStream>) -> [u64; 2] {
    let ended = thread::scope(|scope| {
        let spans = || {
            let calls = || CALLS.map(|symbol| w.sim.calls_here(symbol));
            touched(stream);
            let before = calls();
            (0..5).for_each(|_| touched(stream));
            let after = calls();
            assert_eq!(result::ctx::get_current(), Ok(None));
            [after[0] - before[0], after[1] - before[1]]
        };
        scope.spawn(spans).join()
    });
    ended.expect("no panic")
}

#[gpu_profile]
fn touched(_stream: &Arc<CudaStream>) {}

fn a_stream_that_names_its_context_is_not_made_current() {
    let w = world();
    w.warm_up(|| on(&w, &w.gpu.stream));
    let session = w.session();
    assert_eq!(calls_of_spans(&w, &w.gpu.stream), [0, 0]);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "touched").0, 6);
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_default_stream_is_made_current() {
    let w = world();
    w.warm_up(|| on(&w, &w.gpu.stream));
    let session = w.session();
    assert_eq!(
        calls_of_spans(&w, &w.gpu.context.default_stream()),
        [10, 10]
    );
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "touched").0, 6);
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_driver_that_needs_the_context_gets_it() {
    let w = world();
    w.warm_up(|| on(&w, &w.gpu.stream));
    w.sim.require_context_for_records(true);
    let session = w.session();
    assert_eq!(calls_of_spans(&w, &w.gpu.stream), [10, 10]);
    let profile = w.finish(session);
    w.sim.require_context_for_records(false);
    // Also the first one, whose start event was recorded at the second try.
    assert_eq!(gpu_times(&profile, "touched").0, 6);
    let errors = profile.diagnostics.errors.iter();
    let errors: Vec<_> = errors
        .map(|error| (error.call.as_str(), error.count))
        .collect();
    assert_eq!(errors, [("cuEventRecord", 1)]);
}
