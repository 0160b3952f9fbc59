//! Promise: the profile has the time of each step of the program in its window, and a step changes
//! nothing else.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        steps_change_nothing_else,
        a_step_never_waits_for_the_gpu,
        the_profile_has_the_time_of_each_step,
        step_times_begin_anew_with_the_window,
    ]],
);

#[gpu_profile]
fn train(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

fn steps_change_nothing_else() {
    let w = world();
    let session = w.session();
    for number in 1..=3 {
        train(&w, &w.gpu.stream, 100 * number);
        w.gpu.context.synchronize().expect("synchronize");
        gpuprof::step();
    }
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "train"), (3, 600, 600));
    // The GPU span starts with the function, before the launch.
    assert_eq!(gpu_times(&profile, "train"), (3, 6_600, 6_600));
}

fn a_step_never_waits_for_the_gpu() {
    let w = world();
    let session = w.session();
    train(&w, &w.gpu.stream, 100);
    let before = w.sim.now();
    w.sim.reset_calls();
    gpuprof::step();
    assert_eq!(w.sim.now(), before);
    for symbol in [
        "cuStreamSynchronize",
        "cuCtxSynchronize",
        "cuEventSynchronize",
    ] {
        assert_eq!(w.sim.calls(symbol), 0, "{symbol}");
    }
    let profile = session.snapshot();
    let train = function(&profile, "train");
    assert_eq!((train.calls, train.untimed.unfinished), (1, 1));
    w.finish(session);
}

/// The times of the profile's steps, and the number and time of its slowest.
fn step_times(profile: &Profile) -> (Vec<u64>, Vec<(u64, u64)>) {
    let times = profile.steps.as_ref().expect("there were steps");
    assert_eq!(times.count, times.series_ns.len() as u64);
    let slowest = times.slowest.iter().map(|slow| (slow.step, slow.ns));
    (times.series_ns.clone(), slowest.collect())
}

fn the_profile_has_the_time_of_each_step() {
    let w = world();
    let session = w.session();
    assert_eq!(session.snapshot().steps, None);
    for ns in [300, 100, 200, 400, 100] {
        w.cpu(ns);
        gpuprof::step();
    }
    // Of a step that does not end.
    w.cpu(5_000);
    let profile = w.finish(session);
    let (series, slowest) = step_times(&profile);
    assert_eq!(series, [300, 100, 200, 400, 100]);
    assert_eq!(slowest, [(4, 400), (1, 300), (3, 200), (2, 100), (5, 100)]);
    let steps = profile.steps.expect("there were steps");
    assert_eq!(
        (steps.count, steps.total_ns, steps.mean_ns),
        (5, 1_100, 220)
    );
    assert_eq!((steps.min_ns, steps.max_ns), (100, 400));
}

fn step_times_begin_anew_with_the_window() {
    let w = world();
    let session = w.session();
    w.cpu(100);
    gpuprof::step();
    w.cpu(70);
    gpuprof::reset();
    assert_eq!(session.snapshot().steps, None);
    w.cpu(30);
    gpuprof::step();
    assert_eq!(step_times(&w.finish(session)), (vec![30], vec![(1, 30)]));
    // Between two sessions nothing is measured.
    w.cpu(1_000);
    gpuprof::step();
    assert_eq!(gpuprof::snapshot().steps, None);
    let session = w.session();
    w.cpu(20);
    gpuprof::step();
    assert_eq!(step_times(&w.finish(session)), (vec![20], vec![(1, 20)]));
}
