//! Promise: a default stream that is set while nothing is measured applies when measuring begins.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Mode, Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_default_stream_set_before_a_session_applies_in_it,
        default_streams_set_while_nothing_is_measured_nest,
        a_default_stream_costs_no_driver_call_where_nothing_is_measured,
    ]],
);

#[gpu_profile(cpu)]
fn request(w: &World, inside: impl FnOnce()) {
    w.cpu(10);
    inside();
}

#[gpu_profile]
fn launch(w: &World) {
    w.gpu.kernel(5_000);
}

#[gpu_profile]
fn launch_on(w: &World, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.gpu.kernel_on(stream, 7_000);
    inside();
}

fn a_default_stream_set_before_a_session_applies_in_it() {
    let w = world();
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let session = gpuprof::with_stream(&w.gpu.stream, || {
        drop(off);
        let session = w.session();
        launch(&w);
        session
    });
    // Without the default stream.
    launch(&w);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "launch"), (1, 5_000, 5_000));
    assert_eq!(function(&profile, "launch").untimed.no_stream, 1);
}

fn default_streams_set_while_nothing_is_measured_nest() {
    let w = world();
    let other = w.gpu.another_stream();
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let session = gpuprof::with_stream(&other, || {
        let session = gpuprof::with_stream(&w.gpu.stream, || {
            drop(off);
            let session = w.session();
            // The span around it has a stream of its own, which comes first.
            launch_on(&w, &other, || launch(&w));
            launch(&w);
            session
        });
        // On the other stream, where nothing runs.
        launch(&w);
        session
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "launch_on").0, 1);
    let launch = gpu_times(&profile, "launch");
    assert_eq!((launch.0, launch.1), (3, 5_000));
}

fn a_default_stream_costs_no_driver_call_where_nothing_is_measured() {
    let w = world();
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let calls = || w.sim.calls_by_symbol();
    w.sim.reset_calls();
    // gpuprof has met neither the stream nor its context.
    gpuprof::with_stream(&w.gpu.stream, || request(&w, || ()));
    assert_eq!(calls(), []);
    drop(off);
    let session = w.session();
    gpuprof::with_stream(&w.gpu.stream, || ());
    assert_ne!(calls(), []);
    w.finish(session);
}
